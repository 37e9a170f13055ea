package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// moveSide is one of the two events of a move between buckets: the one that takes its
// units out of the donor, or the one that brings them to the receiver.
type moveSide struct {
	moveKey
	position, version int64
	stream, sku       string
}

// moveKey is what both sides of a move say alike, but for out.
type moveKey struct {
	donor, receiver, id string
	quantity            int64
	out                 bool
}

// moveSideOf reads a side of a move; ok is false for all other events. Of its own
// stream the record counts, of the other one what the event says.
func moveSideOf(r *eventstore.Record, ev domain.Event) (side moveSide, ok bool) {
	side = moveSide{position: r.Position, version: r.Version, stream: strings.Clone(r.Stream)}
	switch ev := ev.(type) {
	case *domain.StockMovedOut:
		side.sku = ev.SKU
		side.moveKey = moveKey{donor: side.stream, receiver: domain.StockStream(ev.SaleID, ev.SKU, ev.To), id: ev.MoveID, quantity: ev.Quantity, out: true}
	case *domain.StockMovedIn:
		side.sku = ev.SKU
		side.moveKey = moveKey{donor: domain.StockStream(ev.SaleID, ev.SKU, ev.From), receiver: side.stream, id: ev.MoveID, quantity: ev.Quantity}
	default:
		return moveSide{}, false
	}
	return side, true
}

// lacks says what the side's move lacks.
func (s *moveSide) lacks() string {
	if s.out {
		return fmt.Sprintf("move %s takes %d units out for %s, and nothing brings them there", s.id, s.quantity, s.receiver)
	}
	return fmt.Sprintf("move %s brings %d units of %s, and nothing takes them out there", s.id, s.quantity, s.donor)
}

// other is the side that would complete the move.
func (s moveSide) other() moveSide {
	s.out = !s.out
	return s
}

// halves are the sides of moves whose other side was not met. The log stores both in
// one group, so hardly any stand here for long.
type halves map[moveKey][]moveSide

// meet takes the other side of a move away, and tells whether it was there.
func (h halves) meet(s moveSide) bool {
	other := s.other().moveKey
	waiting := h[other]
	switch len(waiting) {
	case 0:
		return false
	case 1:
		delete(h, other)
	default:
		h[other] = waiting[1:]
	}
	return true
}

// add notes a side, unless it meets its other.
func (h halves) add(s moveSide) {
	if !h.meet(s) {
		h[s.moveKey] = append(h[s.moveKey], s)
	}
}

// left lists what met nothing, in order of position.
func (h halves) left() []moveSide {
	var all []moveSide
	for _, sides := range h {
		all = append(all, sides...)
	}
	slices.SortFunc(all, func(a, b moveSide) int { return cmp.Compare(a.position, b.position) })
	return all
}

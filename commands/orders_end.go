package commands

import (
	"fmt"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// ending is one change of an order as it is decided under the log lock: the
// order's event, and for each line whose hold ends its event, the guard and the
// claim, in one group.
type ending struct {
	env     *Env
	change  change
	life    life
	look    eventstore.Look
	group   *eventstore.Group
	decided domain.OrderChange
}

func (e *ending) decide() (*eventstore.Group, error) {
	if e.look.Stream(domain.OrderStream(e.life.ID)).Version != e.life.Version {
		return nil, errMoved
	}
	var err error
	e.decided, err = e.change.decide(e.life, e.look.Now())
	if err != nil || e.decided.None() {
		return nil, err
	}
	if err := e.add(domain.OrderStream(e.life.ID), e.change.id, e.decided.Event); err != nil {
		return nil, err
	}
	for _, line := range e.decided.Lines {
		if err := e.endHold(line); err != nil {
			return nil, err
		}
	}
	if len(e.decided.Lines) > 0 {
		e.endClaim()
	}
	return e.group, nil
}

// add appends where the stream stands under the lock, which costs the store no
// question. An event whose id is given is appended at any version instead (that of
// the order's stream was compared): so it is refused where its id stands in another
// stream.
func (e *ending) add(stream string, id uuid.UUID, ev domain.Event) error {
	actor := e.change.actor
	if actor.TraceID == "" {
		actor.TraceID = e.life.TraceID // nobody's request: it belongs to the purchase
	}
	stored, err := e.env.newEvent(ev, e.life.SaleID, e.life.ID, Meta{TraceID: actor.TraceID, By: actor.By})
	if err != nil {
		return err
	}
	expected := e.look.Stream(stream).Version
	if id != uuid.Nil {
		stored.ID, expected = id, eventstore.AnyVersion
	}
	e.group.Appends = append(e.group.Appends, eventstore.Append{
		Stream: stream, Expected: expected, Events: []eventstore.NewEvent{stored},
	})
	return nil
}

// endHold ends the hold of one line. Its guard follows its stream, also where no
// units come back.
func (e *ending) endHold(line domain.Event) error {
	change, err := ChangeOf(line)
	if err != nil {
		return fmt.Errorf("end order %s: %w", e.life.ID, err)
	}
	stream := change.Stock.Stream()
	guard := e.look.Guard(stream)
	guard.Stream = stream
	if change.Kind == UnitsReturned {
		guard.Returned += change.Quantity
	}
	e.group.Guards = append(e.group.Guards, guard)
	return e.add(stream, uuid.Nil, line)
}

// endClaim says that the order counts no more against its buyer's limit.
func (e *ending) endClaim() {
	key := eventstore.ClaimKey{SaleID: e.life.SaleID, BuyerID: e.life.BuyerID}
	for _, claim := range e.look.Claims(key) {
		if claim.OrderID == e.life.ID {
			claim.Live = false
			e.group.Claims = append(e.group.Claims, claim)
			return
		}
	}
}

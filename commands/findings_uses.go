package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/domain"
)

// judgeUses compares the orders that idempotency keys and tickets name in the gate
// with the log. A key that is gone or names another order would let its buyer buy
// twice, or tell him of another purchase; so would a ticket.
func (r *reconciliation) judgeUses(ctx context.Context) error {
	for _, s := range r.books.strays {
		r.report.found(useFinding(s.place, s.use, "names what is no order of this bucket"))
	}
	byPlace := map[domain.Place][]OrderOf{}
	for _, c := range r.books.cuts {
		byPlace[c.place] = nil
	}
	var suspects []string
	for id, o := range r.books.orders {
		if (o.useSuspect() || r.books.twice[id]) && r.books.unread[domain.OrderStream(id)] == nil {
			suspects = append(suspects, id)
		}
	}
	slices.Sort(suspects)
	for _, id := range r.few(suspects, "keys and tickets of orders") {
		o := r.books.orders[id]
		if some, looked := byPlace[r.placeOf(o)]; looked {
			byPlace[r.placeOf(o)] = append(some, OrderOf{Order: id, Buyer: o.buyer})
		}
	}
	for _, c := range r.books.cuts {
		if len(byPlace[c.place]) == 0 {
			continue
		}
		uses, err := usesOf(ctx, r.Gate, c.place, byPlace[c.place])
		if err != nil {
			return err
		}
		for page := range slices.Chunk(byPlace[c.place], suspectsPage) {
			if err := r.lookAtUses(ctx, c, page, uses); err != nil {
				return err
			}
		}
	}
	return nil
}

// usesOf scans for the keys and tickets that name some orders: the books keep no
// names.
func usesOf(ctx context.Context, gate Scanner, place domain.Place, of []OrderOf) (map[string][]ScannedUse, error) {
	wanted, uses := map[string]bool{}, map[string][]ScannedUse{}
	for _, o := range of {
		wanted[o.Order] = true
	}
	for from := ""; ; {
		page, err := gate.ScanOrders(ctx, place, from, scanPage)
		if err != nil {
			return nil, fmt.Errorf("scan the gate's keys and tickets: %w", err)
		}
		for _, u := range page.Uses {
			if wanted[u.Order] && !slices.Contains(uses[u.Order], u) {
				uses[u.Order] = append(uses[u.Order], u)
			}
		}
		if from = page.Next; from == "" {
			return uses, nil
		}
	}
}

// orderUse is what the log says of the key and the ticket of an order.
type orderUse struct {
	decided bool
	version int64 // of the reservation that tells them; 0 where none does
	sku     string
	uses    []ScannedUse
}

// names tells whether the log has the order reserved by a key or ticket, and with
// which body.
func (o *orderUse) names(u Use) (ScannedUse, bool) {
	at := slices.IndexFunc(o.uses, func(s ScannedUse) bool { return s.Use == u })
	if at < 0 {
		return ScannedUse{}, false
	}
	return o.uses[at], true
}

func (r *reconciliation) readOrderUse(ctx context.Context, order string) (orderUse, error) {
	facts, err := readOrderFacts(ctx, r.Log, order)
	if err != nil {
		return orderUse{}, err
	}
	use := orderUse{decided: facts.decided}
	for sku, stock := range facts.stock {
		for _, f := range stock {
			ev, ok := f.event.(*domain.StockReserved)
			if !ok || use.version != 0 {
				continue
			}
			use.version, use.sku = f.version, sku
			if ev.Key != "" {
				use.uses = append(use.uses, ScannedUse{Use: Use{Name: ev.Key}, Order: order, Body: ev.BodyHash})
			}
			if ev.Ticket != "" {
				use.uses = append(use.uses, ScannedUse{Use: Use{Ticket: true, Name: ev.Ticket}, Order: order})
			}
		}
	}
	return use, nil
}

// lookAtUses reads in one step what the gate has of the keys and tickets of orders, as
// the log and as the scan tell them, and judges each when every purchase of that
// moment is recorded.
func (r *reconciliation) lookAtUses(ctx context.Context, c cut, page []OrderOf, scanned map[string][]ScannedUse) error {
	var names []Use
	var whose []OrderOf
	for _, o := range page {
		log, err := r.readOrderUse(ctx, o.Order)
		var unread *UnreadableError
		if errors.As(err, &unread) {
			continue // found already
		}
		if err != nil {
			return err
		}
		mine := len(names)
		for _, u := range slices.Concat(log.uses, scanned[o.Order]) {
			if !slices.Contains(names[mine:], u.Use) {
				names, whose = append(names, u.Use), append(whose, o)
			}
		}
	}
	uses, err := r.usesNow(ctx, c, names)
	if errors.Is(err, errOverdue) {
		return nil // named; nothing exact can be said before it is recorded
	}
	if err != nil {
		return err
	}
	for i := range names {
		var unread *UnreadableError
		if err := r.judgeUse(ctx, c, whose[i], &uses, i); err != nil && !errors.As(err, &unread) {
			return err
		}
	}
	return nil
}

// usesNow reads keys and tickets of a moment whose every purchase is recorded.
func (r *reconciliation) usesNow(ctx context.Context, c cut, names []Use) (GateUses, error) {
	var uses GateUses
	err := r.recordedLook(ctx, c, func() (Peeked, error) {
		var err error
		if uses, err = r.Gate.Uses(ctx, c.place, c.skus, names); err != nil {
			return Peeked{}, fmt.Errorf("look at %d keys and tickets in the gate: %w", len(names), err)
		}
		return uses.Peeked, nil
	})
	return uses, err
}

func (r *reconciliation) judgeUse(ctx context.Context, c cut, of OrderOf, g *GateUses, i int) error {
	log, err := r.readOrderUse(ctx, of.Order)
	if err != nil {
		return err
	}
	is := g.Uses[i]
	wrong := ""
	switch want, named := log.names(is.Use); {
	case named && log.version > g.Stocks[slices.Index(c.skus, log.sku)].Applied.Number:
		return nil // not in the gate yet
	case named && is.ScannedUse == want:
		return nil
	case named && is.Order == of.Order:
		wrong = "came with another body in the gate than in the log"
	case named && is.Order == "":
		wrong = "is unknown to the gate, and the log has it used"
	case named:
		if wrong, err = r.otherOrder(ctx, is); err != nil {
			return err
		}
	case is.Order != of.Order:
		return nil // it stands there no more
	case log.version > 0:
		wrong = "names this order in the gate, and not in the log"
	case !log.decided && is.State == OrderUnknown:
		wrong = "names an order in the gate that neither gate nor log have"
	}
	if wrong != "" {
		f := useFinding(c.place, is.ScannedUse, wrong)
		f.OrderID, f.BuyerID = of.Order, of.Buyer
		r.report.found(f)
	}
	return nil
}

// otherOrder tells what is wrong with a key or ticket that names another order than
// the one at hand: nothing where the log has both by it.
func (r *reconciliation) otherOrder(ctx context.Context, is GateUse) (wrong string, err error) {
	const another = "names another order in the gate than in the log"
	if !PlainID(is.Order) {
		return another, nil
	}
	other, err := r.readOrderUse(ctx, is.Order)
	if err != nil {
		return "", err
	}
	if want, named := other.names(is.Use); named && want == is.ScannedUse {
		return "", nil
	}
	return another, nil
}

func useFinding(place domain.Place, u ScannedUse, wrong string) Finding {
	f := Finding{Kind: FindingKey, OrderID: u.Order, Detail: u.String() + " " + wrong, about: about{place: place}}
	if u.Ticket {
		f.Kind = FindingTicket
	}
	return f
}

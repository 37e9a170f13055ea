package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Why a purchase is judged again.
var (
	// errReadTickets: the buyer has orders whose tickets were not read.
	errReadTickets = errors.New("read the tickets that the buyer has used")
	// errLate: the purchase's deadline is over.
	errLate = errors.New("the purchase came too late to the log")
)

// question is one purchase on its way to be judged.
type question struct {
	d     *Direct
	r     *Reservation
	sale  *FoldedSale
	terms domain.Terms // of the sale, as purchases are judged by them
	// deadline is until when, by the store's clock, the purchase may be placed.
	deadline time.Time
	// tickets are those that orders of the buyer have used, by order.
	tickets map[string]string
	// head is where the sale's stream stood when it had moved.
	head eventstore.Mark
	late int
}

// again tells whether an error only says what to learn before the purchase is judged
// anew. A first errLate does: nothing was seen of the store's clock for long.
func (q *question) again(err error) bool {
	if errors.Is(err, errLate) {
		q.late++
		return q.late == 1
	}
	return errors.Is(err, errSaleMoved) || errors.Is(err, errReadTickets)
}

// learn learns what an error asks for.
func (q *question) learn(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errSaleMoved):
		sale, err := q.d.sales.upTo(ctx, q.sale.ID, q.head)
		q.sale, q.terms = &sale, sale.Judged()
		return err
	case errors.Is(err, errReadTickets):
		q.tickets, err = usedTickets(ctx, q.d.log, q.tickets, q.claimKey())
		return err
	}
	return nil
}

// usedTickets adds to known which tickets the orders of a buyer have used: their stock
// events say so.
func usedTickets(ctx context.Context, log DirectLog, known map[string]string, key eventstore.ClaimKey) (map[string]string, error) {
	seen, err := log.LookAt(ctx, eventstore.Needs{Claims: []eventstore.ClaimKey{key}})
	if err != nil {
		return known, err
	}
	tickets := map[string]string{}
	for _, claim := range seen.Claims(key) {
		if used, ok := known[claim.OrderID]; ok {
			tickets[claim.OrderID] = used
			continue
		}
		records, err := log.Find(ctx, eventstore.Filter{OrderID: claim.OrderID, Type: (&domain.StockReserved{}).EventType()}, 0, 1)
		if err != nil {
			return known, fmt.Errorf("read the ticket of order %s: %w", claim.OrderID, err)
		}
		tickets[claim.OrderID] = ""
		for i := range records {
			ev, err := decode(&records[i])
			if err != nil {
				return known, err
			}
			tickets[claim.OrderID] = ev.(*domain.StockReserved).Ticket
		}
	}
	return tickets, nil
}

func (q *question) claimKey() eventstore.ClaimKey {
	return eventstore.ClaimKey{SaleID: q.sale.ID, BuyerID: q.r.Buyer}
}

func (q *question) page() []accepted {
	r := q.r
	return []accepted{{
		Purchase: Purchase{
			Order: r.Order, Buyer: r.Buyer, Sale: r.Place.Sale, Bucket: r.Place.Bucket, Lines: r.Lines,
			Key: r.Key, Body: r.BodyHash, TraceID: r.TraceID, Node: r.Node, Ticket: r.Ticket,
		},
		terms: q.terms, by: "direct",
	}}
}

// submit judges the purchase under the log lock, and places it.
func (q *question) submit(ctx context.Context) (Verdict, error) {
	page := q.page()
	var v Verdict
	var placed *domain.OrderPlaced
	receipt, err := q.d.log.Submit(ctx, eventstore.Work{
		Needs: pageNeeds(page),
		Decide: func(look eventstore.Look) (group *eventstore.Group, err error) {
			if v, err = q.judge(look); err != nil || v.Outcome != domain.Reserved {
				return nil, err
			}
			if look.Now().After(q.deadline) {
				return nil, errLate
			}
			a := page[0]
			a.at = look.Now().UnixMicro()
			draft := newDraft(q.d.env, look)
			if err := draft.place(&a, draft.claimsOf(&a)); err != nil {
				return nil, err
			}
			placed = draft.placed
			return draft.done(), nil
		},
	})
	q.d.saw(v.Now)
	switch {
	case err != nil:
		return Verdict{}, &GateError{Unknown: errors.Is(err, eventstore.ErrUnknown), Err: err}
	case v.Outcome != domain.Reserved:
		return v, nil
	case len(receipt.Records) == 0:
		return Verdict{}, &GateError{Err: fmt.Errorf("place order %s: the log stored nothing", q.r.Order)}
	}
	v.Placed = &OrderAnswer{Order: domain.Order{}.FoldOrder(placed), PlacedAt: receipt.Records[0].RecordedAt, TraceID: q.r.TraceID}
	return v, nil
}

// judge gives the verdict as things stand in look.
func (q *question) judge(look eventstore.Look) (Verdict, error) {
	v := Verdict{Now: look.Now()}
	if head := markOf(look.Stream(domain.SaleStream(q.sale.ID))); head != q.sale.Mark {
		q.head = head
		return v, errSaleMoved
	}
	claims := look.Claims(q.claimKey())
	c := q.caseOf(look, claims)
	known := true
	c.TicketState, known = q.ticketState(claims)
	v.Outcome, v.Order = domain.Judge(c)
	switch v.Outcome {
	case domain.Reserved, domain.LimitExceeded, domain.SoldOut:
		if !known {
			return v, errReadTickets
		}
		if v.Outcome == domain.Reserved {
			v.Order = q.r.Order
		}
	case domain.TooEarly:
		v.OpensAt = c.OpensAt
	}
	return v, nil
}

// caseOf gathers what the judgement of a purchase looks at.
func (q *question) caseOf(look eventstore.Look, claims []eventstore.Claim) *domain.Case {
	sale, r := &q.sale.Sale, q.r
	c := &domain.Case{
		Ready: !sale.Cleaned, Known: map[string]bool{}, Left: map[string]int64{}, Now: look.Now(), Terms: q.terms,
		Paused: sale.Halted(), Closed: sale.Ended(), Waits: !sale.MayOpen(),
		OpensAt: sale.Terms.OpensAt.Truncate(time.Microsecond), ClosesAt: sale.Terms.ClosesAt.Truncate(time.Microsecond),
		Eligible: r.Eligible, BodyHash: r.BodyHash, Lines: r.Lines, Promised: r.Promised > 0,
	}
	c.Terms.LimitPerBuyer = max(c.Terms.LimitPerBuyer, r.Promised)
	for _, claim := range claims {
		o := domain.BuyerOrder{ID: claim.OrderID, Units: claim.Quantity, State: domain.Over}
		if claim.Live {
			o.State = domain.Live
		}
		c.Orders = append(c.Orders, o)
		if r.Key != "" && claim.Key == r.Key {
			c.SameOrder, c.KeyBody = claim.OrderID, claim.BodyHash
		}
	}
	if look.Stream(domain.OrderStream(r.Order)).Version > 0 {
		// Whose order the log has placed has a claim: any other was rejected.
		c.SameOrder, c.KeyBody = r.Order, ""
		c.Tombstone = !slices.ContainsFunc(claims, func(claim eventstore.Claim) bool { return claim.OrderID == r.Order })
	}
	for _, l := range r.Lines {
		stream := domain.StockStream(sale.ID, l.SKU, r.Place.Bucket)
		c.Known[l.SKU], c.Left[l.SKU] = look.Stream(stream).Version > 0, look.Guard(stream).Left()
	}
	return c
}

// ticketState says whether a purchase may go on as far as its ticket is concerned;
// known is false where the buyer has orders whose tickets were not read. A ticket is
// one buyer's, so no other's orders can have used it.
func (q *question) ticketState(claims []eventstore.Claim) (state domain.Outcome, known bool) {
	if q.r.TicketFault != 0 {
		return q.r.TicketFault, true
	}
	if q.r.Ticket == "" {
		return domain.Reserved, true
	}
	for _, claim := range claims {
		used, read := q.tickets[claim.OrderID]
		if !read {
			return domain.Reserved, false
		}
		if used == q.r.Ticket {
			return domain.TicketInvalid, true
		}
	}
	return domain.Reserved, true
}

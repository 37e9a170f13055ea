package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// life is an order as its stream says, and what later decisions ask of it.
type life struct {
	OrderAnswer
	payments map[string]bool    // ids of the payments that its events are about
	events   map[uuid.UUID]bool // ids of its events
}

// decision says what a change of an order adds to the log. now is the store's
// clock under the log lock. It is asked before, too, as if the order's time to pay
// were over: what then changes nothing asks for no lock.
type decision func(l life, now time.Time) (domain.OrderChange, error)

// change is one thing that is asked of an order.
type change struct {
	ref    domain.OrderRef
	buyer  string // whose order it is, "" where the caller need not know
	actor  Actor
	id     uuid.UUID // of the order's event; uuid.Nil: a new one
	decide decision
	// known: the order comes from the log. One that the log has no more is left alone.
	known bool
}

// settled is what became of a change: the order after it, and what was stored.
type settled struct {
	answer  OrderAnswer
	records []eventstore.Record
}

// changeBudget bounds recording a change once its caller cannot take it back.
const changeBudget = 10 * time.Second

// settle makes a change, and brings the units that it freed into the gate.
func (o *Orders) settle(ctx context.Context, c change) (settled, error) {
	done, err := o.record(ctx, c)
	if wrong := (*WrongStateError)(nil); errors.As(err, &wrong) {
		o.Finder.told.tell(wrong.Order)
	}
	if err == nil {
		o.Finder.told.tell(done.answer)
	}
	switch {
	case err == nil && len(done.records) > 0:
		o.Env.step("orders.after-commit")
		o.push(ctx, done.records)
		o.Env.step("orders.after-push")
	case err == nil:
		o.followEnd(ctx, done.answer)
	}
	return done, err
}

// followEnd brings the units of an order that had ended before into the gate: who
// ended it may have died before it did so, and this caller is told the same again.
func (o *Orders) followEnd(ctx context.Context, ended OrderAnswer) {
	if ended.Status != domain.OrderStatusCancelled && ended.Status != domain.OrderStatusExpired {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	if o.Follow.passes(ctx, ended.SaleID) {
		return
	}
	place := domain.Place{Store: o.Env.Store, Sale: ended.SaleID, Bucket: ended.Bucket}
	for _, line := range ended.Lines {
		if _, err := o.Follow.CatchUpStock(ctx, place, line.SKU); err != nil {
			o.Env.Log.Warn("units returned in the log; the gate follows later", "order_id", ended.ID, "sale_id", ended.SaleID, "error", err)
		}
	}
}

// errMoved: the order's stream grew after it was read.
var errMoved = errors.New("the order changed in the meantime")

// errUsedElsewhere: the event id stands in another stream.
var errUsedElsewhere = errors.New("the event id was used before")

// record reads the order, decides, and appends at the version that was read,
// again where somebody else was faster.
func (o *Orders) record(ctx context.Context, c change) (settled, error) {
	for range changeTries {
		l, err := o.read(ctx, c.ref.ID)
		if err != nil {
			return settled{}, err
		}
		if l.Version == 0 && c.known {
			return settled{}, nil
		}
		if l.Version == 0 {
			if err := o.undecided(ctx, c); err != nil {
				return settled{}, err
			}
			continue // the log has decided meanwhile
		}
		if c.id != uuid.Nil && l.events[c.id] {
			return settled{answer: l.OrderAnswer}, nil
		}
		if first, err := c.decide(l, l.PayBy); err != nil || first.None() {
			return settled{answer: l.OrderAnswer}, err
		}
		done, err := o.append(ctx, c, l)
		if errors.Is(err, errMoved) || errors.Is(err, eventstore.ErrUnknown) {
			continue
		}
		return done, err
	}
	return settled{}, &domain.Problem{Code: domain.CodeInProgress}
}

// append decides once more under the log lock and stores what comes of it.
func (o *Orders) append(ctx context.Context, c change, l life) (settled, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeBudget)
	defer cancel()
	o.Env.step("orders.before-commit")
	var ended *ending
	receipt, err := o.Log.Submit(ctx, eventstore.Work{
		Needs: lifeNeeds(l),
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			ended = &ending{env: o.Env, change: c, life: l, look: look, group: &eventstore.Group{}}
			return ended.decide()
		},
	})
	switch {
	case errors.Is(err, errMoved), errors.Is(err, eventstore.ErrUnknown):
		return settled{}, err
	case err != nil:
		var wrong *WrongStateError
		if errors.As(err, &wrong) {
			return settled{}, wrong
		}
		return settled{}, fmt.Errorf("record a change of order %s: %w", c.ref.ID, err)
	case receipt.Outcome == eventstore.Conflict:
		// The version was compared under the lock: only the event's id is left.
		return settled{}, errUsedElsewhere
	case receipt.Outcome != eventstore.Stored:
		return settled{answer: l.OrderAnswer}, nil
	}
	l.Order = l.FoldOrder(ended.decided.Event)
	return settled{answer: l.OrderAnswer, records: receipt.Records}, nil
}

// lifeNeeds names everything that ending an order looks at.
func lifeNeeds(l life) eventstore.Needs {
	needs := eventstore.Needs{
		Streams: []string{domain.OrderStream(l.ID)},
		Claims:  []eventstore.ClaimKey{{SaleID: l.SaleID, BuyerID: l.BuyerID}},
	}
	if l.Status == domain.OrderStatusPlaced || l.Status == domain.OrderStatusPaid {
		for _, line := range l.Lines {
			stream := domain.StockStream(l.SaleID, line.SKU, l.Bucket)
			needs.Streams, needs.Guards = append(needs.Streams, stream), append(needs.Guards, stream)
		}
	}
	return needs
}

// read folds the order's stream.
func (o *Orders) read(ctx context.Context, id string) (life, error) {
	l := life{payments: map[string]bool{}, events: map[uuid.UUID]bool{}}
	err := eachRecord(ctx, o.Log, domain.OrderStream(id), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		l.Order = l.FoldOrder(ev)
		l.events[r.ID] = true
		if p := domain.PaymentOf(ev); p != "" {
			l.payments[p] = true
		}
		if r.Version == 1 {
			l.PlacedAt, l.TraceID = r.RecordedAt, traceOf(r)
		}
		return nil
	})
	if err != nil {
		return life{}, fmt.Errorf("read order %s: %w", id, err)
	}
	return l, nil
}

// push brings freed units into the gate, within a time of its own. What stays
// behind the lane keeper brings up.
func (o *Orders) push(ctx context.Context, records []eventstore.Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	if err := o.Follow.Push(ctx, records); err != nil {
		o.Env.Log.Warn("units returned in the log; the gate follows later", "order_id", records[0].OrderID, "sale_id", records[0].SaleID, "error", err)
	}
}

// undecided tells what to do about an order that the log has not decided. No
// error means that it has, meanwhile. What nobody can say now is in progress: who
// asks may ask again.
func (o *Orders) undecided(ctx context.Context, c change) error {
	inProgress := &domain.Problem{Code: domain.CodeInProgress}
	if f := o.Finder; f.Holds != nil && f.Holds(c.ref.ID) {
		return inProgress
	}
	if c.buyer == "" {
		buyer, err := o.buyerOf(ctx, c.ref)
		if err != nil {
			return err
		}
		c.buyer = buyer
	}
	answer, err := o.Finder.Find(ctx, c.buyer, c.ref.ID)
	switch {
	case err != nil:
		return err
	case answer.Status == domain.OrderStatusQueued:
		return inProgress
	}
	return nil
}

// buyerOf asks the gate for the buyer of an order. The id alone does not tell
// whether it was issued by us: an order that neither the log nor a gate that is
// well knows, or whose sale there is none of, is not found.
func (o *Orders) buyerOf(ctx context.Context, ref domain.OrderRef) (string, error) {
	sale, err := o.Log.States(ctx, []string{domain.SaleStream(ref.Place.Sale)})
	if err != nil {
		return "", fmt.Errorf("look for the sale of order %s: %w", ref.ID, err)
	}
	cleaned := sale[0].Type == (&domain.SaleCleaned{}).EventType()
	known, err := o.Finder.Gate.Order(ctx, ref)
	never := err == nil && known.State == OrderUnknown && known.OpenFor >= settleTime
	if never { // unless a node keeps it until its sale goes on
		waits, err := o.Finder.heldUp(ctx, ref.Place.Sale)
		if err != nil {
			return "", err
		}
		never = !waits
	}
	switch {
	case sale[0].Version == 0, cleaned, never:
		return "", &domain.Problem{Code: domain.CodeOrderNotFound}
	case err != nil, known.Buyer == "":
		return "", &domain.Problem{Code: domain.CodeInProgress}
	}
	return known.Buyer, nil
}

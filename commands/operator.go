package commands

import (
	"context"
	"fmt"
	"io"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// OperatorStore is what an operator's commands write to and read from.
type OperatorStore interface {
	eventstore.Appender
	eventstore.Reader
	eventstore.Ledger
}

// OperatorGate is what an operator asks of the gate.
type OperatorGate interface {
	Holder
	Withdrawer
}

// Operator schedules and steers sales. A stopping action is set in the gate
// first and recorded after; a permitting one the other way round. While the log does
// not answer, one of a sale that this process knows stands in the gate all the same,
// and is an *UnrecordedError.
type Operator struct {
	Env   *Env
	Sales *Sales
	Log   OperatorStore
	Gate  OperatorGate
	// Follow brings what was recorded into the gate.
	Follow *Follower
	// Buckets brings units of several buckets together for a withdrawal. Nil: it takes
	// what one bucket has.
	Buckets *Leveller
	// Turns keeps requests to release under one key apart, over all processes. Nil: they
	// are worked on side by side, and may hear different answers.
	Turns Locks
	// Preheat makes a sale ready in the gate; what it leaves undone the lane
	// keeper finishes.
	Preheat func(ctx context.Context, sale string) error
	// Strengths tells how surely the gate's server keeps what it accepted. Nil: nobody
	// can tell, and a sale that asks for more than memory does not open.
	Strengths Strengths
	// Standing gives the switches that a new sale begins with: Switchboard.Standing.
	// Nil: none.
	Standing func(ctx context.Context, sale string) (flips []domain.Event, version int64, err error)
	// Taken tells whether a sale of this id lives on another database. Nil: there is none.
	Taken func(ctx context.Context, sale string) bool
}

// Actor is who does something, and under which trace. Routine: nobody asked for it,
// the process does it by itself.
type Actor struct {
	By      string
	TraceID string
	Note    string
	Routine bool
}

// Schedule stores a new sale with its stock, and makes the gate ready for it.
// Terms that cannot be served are a *domain.Problem with every field named. A
// gate that is away delays nothing: the sale is stored, and made ready later.
func (o *Operator) Schedule(ctx context.Context, terms domain.SaleTerms, actor Actor) (FoldedSale, error) {
	terms = terms.WithDefaults()
	bad := domain.ValidateTerms(terms)
	if !terms.ClosesAt.IsZero() && !terms.ClosesAt.After(o.Env.Now()) {
		bad = append(bad, domain.FieldError{Field: "closes_at", Reason: "must be later than now"})
	}
	if len(bad) > 0 {
		return FoldedSale{}, domain.Invalid(bad...)
	}
	for range 3 {
		id, err := o.newSaleID()
		if err != nil {
			return FoldedSale{}, err
		}
		if o.Taken != nil && o.Taken(ctx, id) {
			continue
		}
		stored, err := o.store(ctx, id, terms, actor)
		if err != nil {
			return FoldedSale{}, err
		}
		if !stored {
			continue // the number was taken already: draw another
		}
		if err := o.Preheat(ctx, id); err != nil {
			o.Env.Log.Warn("sale stored; its gate is made ready later", "sale_id", id, "error", err)
		}
		return o.Sales.Fold(ctx, id)
	}
	return FoldedSale{}, fmt.Errorf("schedule a sale: no free sale number found")
}

func (o *Operator) newSaleID() (string, error) {
	var b [5]byte
	if _, err := io.ReadFull(o.Env.Random, b[:]); err != nil {
		return "", fmt.Errorf("make a sale id: %w", err)
	}
	n := uint64(b[0])<<32 | uint64(b[1])<<24 | uint64(b[2])<<16 | uint64(b[3])<<8 | uint64(b[4])
	return domain.SaleNumber(n).ID(), nil
}

// store writes the sale and the first release of its stock as one group.
func (o *Operator) store(ctx context.Context, id string, terms domain.SaleTerms, actor Actor) (bool, error) {
	scheduled, released := domain.Schedule(id, terms, actor.By)
	meta := Meta{TraceID: actor.TraceID, By: actor.By}
	first, switches, err := o.begin(ctx, scheduled, meta, o.untilStrong(ctx, scheduled))
	if err != nil {
		return false, err
	}
	group := &eventstore.Group{Appends: []eventstore.Append{{Stream: domain.SaleStream(id), Events: first}}}
	for _, r := range released {
		stream := domain.StockStream(id, r.SKU, r.Bucket)
		ev, err := o.Env.newEvent(r, id, "", meta)
		if err != nil {
			return false, err
		}
		group.Appends = append(group.Appends, eventstore.Append{Stream: stream, Events: []eventstore.NewEvent{ev}})
		group.Guards = append(group.Guards, eventstore.Guard{Stream: stream, Released: r.Quantity})
	}
	needs := eventstore.Needs{Streams: []string{domain.SwitchStream}}
	for _, a := range group.Appends {
		needs.Streams = append(needs.Streams, a.Stream)
	}
	receipt, err := o.Log.Submit(ctx, eventstore.Work{
		Needs: needs,
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if o.Standing != nil && look.Stream(domain.SwitchStream).Version != switches {
				return nil, nil // flipped since: begin again
			}
			return group, nil
		},
	})
	if err != nil {
		return false, fmt.Errorf("store sale %s: %w", id, err)
	}
	return receipt.Outcome == eventstore.Stored || receipt.Outcome == eventstore.AlreadyThere, nil
}

// Pause stops a sale for a reason: at once in the gate, then in the log.
func (o *Operator) Pause(ctx context.Context, sale string, reason domain.PauseReason, actor Actor) (FoldedSale, error) {
	return o.stop(ctx, sale, domain.Paused, func(s domain.Sale) domain.Event { return s.Pause(reason, actor.Note, actor.By) }, actor)
}

// Close ends a sale for good: at once in the gate, then in the log.
func (o *Operator) Close(ctx context.Context, sale string, actor Actor) (FoldedSale, error) {
	return o.stop(ctx, sale, domain.Ended, func(s domain.Sale) domain.Event { return s.Close(actor.Note, actor.By) }, actor)
}

// Resume takes a reason away: first in the log, then in the gate. It also
// clears what a stopping action left in the gate without being recorded.
func (o *Operator) Resume(ctx context.Context, sale string, reason domain.PauseReason, actor Actor) (FoldedSale, error) {
	folded, err := o.change(ctx, sale, func(s domain.Sale) domain.Event { return s.Resume(reason, actor.Note, actor.By) }, actor)
	if err != nil {
		return FoldedSale{}, err
	}
	o.apply(ctx, folded)
	return folded, nil
}

func (o *Operator) stop(ctx context.Context, id string, outcome domain.Outcome, decide func(domain.Sale) domain.Event, actor Actor) (FoldedSale, error) {
	held := o.holdKnown(ctx, id, outcome, decide)
	asked, cancel := askWithin(ctx, held)
	sale, err := o.Sales.Fold(asked, id)
	cancel()
	if err != nil {
		return FoldedSale{}, unrecorded(held, err)
	}
	if decide(sale.Sale) == nil { // it stands so already: nothing is held that no event would take away
		if held { // by what was remembered of it
			o.letGo(ctx, id)
		}
		o.apply(ctx, sale)
		return sale, nil
	}
	if err := o.hold(ctx, sale.Sale, outcome); err != nil {
		return FoldedSale{}, fmt.Errorf("stop sale %s in the gate: %w", id, err)
	}
	o.Env.step("operator.after-hold")
	folded, err := o.change(ctx, id, decide, actor)
	if err != nil {
		return FoldedSale{}, unrecorded(!sale.Gateless(), err)
	}
	o.apply(ctx, folded)
	return folded, nil
}

// changeTries bounds how often a sale that somebody else changes is read again.
const changeTries = 5

// change decides on the newest fold and appends; a sale that moved is read
// again.
func (o *Operator) change(ctx context.Context, id string, decide func(domain.Sale) domain.Event, actor Actor) (FoldedSale, error) {
	for range changeTries {
		sale, err := o.Sales.Fold(ctx, id)
		if err != nil {
			return FoldedSale{}, err
		}
		ev := decide(sale.Sale)
		if ev == nil {
			return sale, nil
		}
		receipt, err := appendSale(ctx, o.Env, o.Log, sale, ev, actor)
		if err != nil {
			return FoldedSale{}, err
		}
		if receipt.Outcome != eventstore.Conflict {
			return o.Sales.Fold(ctx, id)
		}
	}
	return FoldedSale{}, &domain.Problem{Code: domain.CodeVersionConflict}
}

// appendSale appends one event to a sale's stream at the version that was folded.
func appendSale(ctx context.Context, env *Env, log eventstore.Appender, sale FoldedSale, ev domain.Event, actor Actor) (eventstore.Receipt, error) {
	stream := domain.SaleStream(sale.ID)
	stored, err := env.newEvent(ev, sale.ID, "", Meta{TraceID: actor.TraceID, By: actor.By})
	if err != nil {
		return eventstore.Receipt{}, err
	}
	group := &eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Expected: sale.Version, Events: []eventstore.NewEvent{stored}}}}
	receipt, err := log.Submit(ctx, eventstore.Work{
		Needs:  eventstore.Needs{Streams: []string{stream}},
		Decide: func(eventstore.Look) (*eventstore.Group, error) { return group, nil },
	})
	if err != nil {
		return eventstore.Receipt{}, fmt.Errorf("append %s to sale %s: %w", ev.EventType(), sale.ID, err)
	}
	return receipt, nil
}

// applyBudget bounds bringing an operator's action into the gate.
const applyBudget = 2 * time.Second

// apply brings the gate's records of a sale to the fold. What stays behind the
// lane keeper brings up.
func (o *Operator) apply(ctx context.Context, sale FoldedSale) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	for _, place := range Places(o.Env.Store, sale.Sale) {
		_, err := o.Follow.CatchUpSale(ctx, o.Sales, place)
		if err != nil {
			o.Env.Log.Warn("sale changed; its gate follows later", "sale_id", sale.ID, "error", err)
		}
	}
}

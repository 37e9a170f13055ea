package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// flipAll turns a switch everywhere: what stops stands in the gate of every sale,
// then the flip in the stream of switches, then in every sale.
func (b *Switchboard) flipAll(ctx context.Context, f Flip, actor Actor) (SwitchState, error) {
	outcome, stops := f.Name.Stops()
	stops = stops && f.On
	held := stops && !b.known.Load().states[f.Name].On && b.holdKnown(ctx, outcome)
	asked, cancel := askWithin(ctx, held)
	now, err := b.look(asked)
	cancel()
	if err != nil {
		return SwitchState{}, unrecorded(held, err)
	}
	if stops && !now.states[f.Name].On {
		if err := b.hold(ctx, outcome); err != nil {
			return SwitchState{}, unrecorded(held, err)
		}
		held = true
	}
	b.env.step("switches.after-hold")
	now, err = b.record(ctx, f, actor)
	if err != nil {
		return SwitchState{}, unrecorded(held, err)
	}
	b.env.step("switches.after-record")
	if f.Name.OfSales() {
		// What is recorded comes to every sale; a board brings up what is left here.
		if err := b.settle(ctx, now); err != nil {
			b.env.Log.Warn("switch not in force in every sale yet; tried again", "switch", string(f.Name), "error", err)
		}
	}
	return now.states[f.Name], nil
}

// adds tells whether a flip everywhere says something that is not known: how the
// switch stands, or who turns it on now and why.
func (f *flips) adds(flip Flip, actor Actor) bool {
	now := f.states[flip.Name]
	return now.On != flip.On || now.On && (now.By != actor.By || now.Reason != actor.Note)
}

// record appends the flip to the stream of switches, unless it adds nothing.
func (b *Switchboard) record(ctx context.Context, f Flip, actor Actor) (*flips, error) {
	for range changeTries {
		now, err := b.look(ctx)
		if err != nil {
			return nil, err
		}
		if !now.adds(f, actor) {
			return now, nil
		}
		ev := f.event(false, actor.Note, actor.By)
		stored, err := b.env.newEvent(&ev, "", "", Meta{TraceID: actor.TraceID, By: actor.By})
		if err != nil {
			return nil, err
		}
		group := &eventstore.Group{Appends: []eventstore.Append{
			{Stream: domain.SwitchStream, Expected: now.version, Events: []eventstore.NewEvent{stored}},
		}}
		receipt, err := b.log.Submit(ctx, eventstore.Work{
			Needs:  eventstore.Needs{Streams: []string{domain.SwitchStream}},
			Decide: func(eventstore.Look) (*eventstore.Group, error) { return group, nil },
		})
		if err != nil {
			return nil, fmt.Errorf("record that %s was flipped: %w", f.Name, err)
		}
		if receipt.Outcome != eventstore.Conflict {
			return b.look(ctx)
		}
	}
	return nil, &domain.Problem{Code: domain.CodeVersionConflict}
}

// switchGrace is for how long after its window by this clock a sale still follows:
// the gate has its own clock.
const switchGrace = time.Minute

// each does f for every sale that is not over, several at a time.
func (b *Switchboard) each(ctx context.Context, f func(FoldedSale) error) error {
	sales, err := b.sales.List(ctx)
	if err != nil {
		return err
	}
	return b.eachOf(sales, f)
}

// eachOf is each of these sales.
func (b *Switchboard) eachOf(sales []FoldedSale, f func(FoldedSale) error) error {
	var working sync.WaitGroup
	var mu sync.Mutex
	var faults []error
	places := make(chan struct{}, switchWorkers)
	for _, sale := range sales {
		if sale.Over(b.env.Now().Add(-switchGrace)) {
			continue
		}
		places <- struct{}{}
		working.Go(func() {
			defer func() { <-places }()
			if err := f(sale); err != nil {
				mu.Lock()
				defer mu.Unlock()
				faults = append(faults, fmt.Errorf("sale %s: %w", sale.ID, err))
			}
		})
	}
	working.Wait()
	return errors.Join(faults...)
}

// hold stops every sale in the gate.
func (b *Switchboard) hold(ctx context.Context, outcome domain.Outcome) error {
	return b.each(ctx, func(sale FoldedSale) error {
		if err := b.operator.hold(ctx, sale.Sale, outcome); err != nil {
			return fmt.Errorf("stop it in the gate: %w", err)
		}
		return nil
	})
}

// settle brings every sale that is not over to what is on everywhere, in the log
// and in the gate.
func (b *Switchboard) settle(ctx context.Context, now *flips) error {
	sales, err := b.sales.List(ctx)
	if err != nil {
		return err
	}
	b.settling.Lock()
	done := b.settled.version == now.version && sameList(b.settled.of, sales)
	b.settling.Unlock()
	if done { // nothing changed since
		return nil
	}
	over := b.env.Now().Add(-switchGrace)
	behind := slices.DeleteFunc(slices.Clone(sales), func(sale FoldedSale) bool { return sale.Over(over) || len(now.missing(sale.Sale)) == 0 })
	if len(behind) == 0 {
		b.settling.Lock()
		b.settled.version, b.settled.of = now.version, sales
		b.settling.Unlock()
		return nil
	}
	return b.eachOf(behind, func(sale FoldedSale) error {
		changed := false
		for range changeTries {
			flips := now.missing(sale.Sale)
			if len(flips) == 0 {
				break
			}
			outdated, err := b.follow(ctx, sale, now.version, flips)
			if err != nil {
				return err
			}
			changed = true
			if sale, err = b.sales.Fold(ctx, sale.ID); err != nil || outdated {
				return err // whoever flipped since settles
			}
		}
		if changed {
			b.operator.apply(ctx, sale)
		}
		return nil
	})
}

// follow appends flips to a sale's stream, if both streams still are as they were
// read: a board that is behind must not undo what was flipped since.
func (b *Switchboard) follow(ctx context.Context, sale FoldedSale, version int64, flips []domain.SwitchFlipped) (outdated bool, err error) {
	own := eventstore.Append{Stream: domain.SaleStream(sale.ID), Expected: sale.Version}
	for i := range flips {
		ev, err := b.env.newEvent(&flips[i], sale.ID, "", Meta{By: flips[i].By})
		if err != nil {
			return false, err
		}
		own.Events = append(own.Events, ev)
	}
	group := &eventstore.Group{Appends: []eventstore.Append{own}}
	_, err = b.log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{own.Stream, domain.SwitchStream}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if outdated = look.Stream(domain.SwitchStream).Version != version; outdated {
				return nil, nil
			}
			return group, nil
		},
	})
	if err != nil {
		return false, fmt.Errorf("bring it to the switches: %w", err)
	}
	return outdated, nil
}

// missing lists what must be flipped in a sale for it to follow.
func (f *flips) missing(sale domain.Sale) []domain.SwitchFlipped {
	var events []domain.SwitchFlipped
	for _, name := range domain.SwitchNames() {
		state := f.states[name]
		if !name.OfSales() {
			continue
		}
		e := domain.SwitchFlipped{Name: name, On: state.On, Everywhere: true, Reason: state.Reason, By: state.By}
		if flip, ok := sale.Flip(e).(*domain.SwitchFlipped); ok {
			events = append(events, *flip)
		}
	}
	return events
}

// Standing gives what a sale that is scheduled now begins with, and the version of
// the stream of switches that this is true for.
func (b *Switchboard) Standing(ctx context.Context, sale string) (events []domain.Event, version int64, err error) {
	now, err := b.look(ctx)
	if err != nil {
		return nil, 0, err
	}
	flips := now.missing(domain.Sale{ID: sale})
	for i := range flips {
		events = append(events, &flips[i])
	}
	return events, now.version, nil
}

// begin gives what a new sale's stream begins with, and for which version of the
// stream of switches.
func (o *Operator) begin(ctx context.Context, scheduled *domain.SaleScheduled, meta Meta, more []domain.Event) (events []eventstore.NewEvent, version int64, err error) {
	all := append([]domain.Event{scheduled}, more...)
	if o.Standing != nil {
		standing, at, err := o.Standing(ctx, scheduled.SaleID)
		if err != nil {
			return nil, 0, err
		}
		all, version = append(all, standing...), at
	}
	for _, e := range all {
		ev, err := o.Env.newEvent(e, scheduled.SaleID, "", meta)
		if err != nil {
			return nil, 0, err
		}
		events = append(events, ev)
	}
	return events, version, nil
}

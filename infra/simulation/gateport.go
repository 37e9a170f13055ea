package simulation

import (
	"context"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// gatePort is the gate as a process has it: every question goes through the scheduler.
type gatePort struct{ p *process }

var (
	_ commands.Gate         = gatePort{}
	_ commands.KeeperGate   = gatePort{}
	_ commands.OperatorGate = gatePort{}
	_ commands.LevelGate    = gatePort{}
	_ commands.FollowerGate = gatePort{}
)

// background is for calls of the scheduler itself.
var background = context.Background()

// read asks the gate for something that changes nothing.
func read[T any](ctx context.Context, g gatePort, what string, f func() (T, error)) (T, error) {
	return ask(ctx, g.p, question{to: toGate, what: what, reads: true}, f, nil)
}

// change asks the gate for something that changes it.
func change[T any](ctx context.Context, g gatePort, what string, show func(T) string, f func() (T, error)) (T, error) {
	return ask(ctx, g.p, question{to: toGate, what: what}, f, show)
}

func show[T any](v T) string { return fmt.Sprint(v) }

// Reserve is commands.Gate's.
func (g gatePort) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	what := fmt.Sprintf("reserve %s for %s %v", short(r.Order), r.Buyer, r.Lines)
	return change(ctx, g, what, showVerdict, func() (commands.Verdict, error) {
		v, err := g.p.world.gate.Reserve(background, r)
		if err == nil && v.Outcome == domain.Reserved {
			g.p.world.took(r.Order)
		}
		return v, err
	})
}

func showVerdict(v commands.Verdict) string {
	return fmt.Sprintf("%s %s %s", v.Outcome, short(v.Order), v.Entry)
}

// Resolve is commands.Gate's.
func (g gatePort) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (commands.Resolution, error) {
	return change(ctx, g, "resolve "+short(ref.ID), show, func() (commands.Resolution, error) {
		return g.p.world.gate.Resolve(background, ref, buyer)
	})
}

// Order is commands.Gate's.
func (g gatePort) Order(ctx context.Context, ref domain.OrderRef) (commands.GateOrder, error) {
	return read(ctx, g, "order "+short(ref.ID), func() (commands.GateOrder, error) { return g.p.world.gate.Order(background, ref) })
}

// Read is commands.Journal's. It is answered when there is something to read.
func (g gatePort) Read(ctx context.Context, after []eventstore.Cursor, max int, wait time.Duration) ([]commands.JournalEntry, error) {
	w := g.p.world
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	looked, found := -1, false
	q := question{to: toGate, what: "read journals", reads: true, ready: func() bool {
		if looked != w.writes {
			some, err := w.gate.Read(background, after, 1, 0)
			looked, found = w.writes, err != nil || len(some) > 0
		}
		return found
	}}
	entries, err := ask(waiting, g.p, q, func() ([]commands.JournalEntry, error) { return w.gate.Read(background, after, max, 0) }, nil)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil && !g.p.dead.Load() {
		return nil, nil
	}
	return g.remembered(entries), err
}

// remembered leaves out what the journal of a broken gate forgot.
func (g gatePort) remembered(entries []commands.JournalEntry) []commands.JournalEntry {
	if g.p.world.cfg.Variant != ForgottenJournal {
		return entries
	}
	var some []commands.JournalEntry
	for _, e := range entries {
		if e.ID.N%5 != 3 {
			some = append(some, e)
		}
	}
	return some
}

// ReadLane is commands.Journal's.
func (g gatePort) ReadLane(ctx context.Context, lane int, after domain.EntryID, max int) ([]commands.JournalEntry, error) {
	entries, err := read(ctx, g, fmt.Sprintf("read lane %d after %s", lane, after), func() ([]commands.JournalEntry, error) {
		return g.p.world.gate.ReadLane(background, lane, after, max)
	})
	if n := len(entries); n > 0 && g.p.world.cfg.Variant == SkippedTail {
		entries = entries[:n-1]
	}
	return g.remembered(entries), err
}

// Entry is commands.Journal's.
func (g gatePort) Entry(ctx context.Context, lane int, id domain.EntryID) (e commands.JournalEntry, ok bool, err error) {
	e, err = read(ctx, g, fmt.Sprintf("entry %s of lane %d", id, lane), func() (commands.JournalEntry, error) {
		e, found, err := g.p.world.gate.Entry(background, lane, id)
		ok = found
		return e, err
	})
	return e, ok && err == nil, err
}

// ApplyStock is commands.Applier's.
func (g gatePort) ApplyStock(ctx context.Context, page commands.StockPage) (commands.Applied, error) {
	what := fmt.Sprintf("apply %d events after %d to %s of bucket %d", len(page.Events), page.From.Number, page.SKU, page.Place.Bucket)
	return change(ctx, g, what, showApplied, func() (commands.Applied, error) {
		return g.p.world.gate.ApplyStock(background, g.twice(page))
	})
}

// twice is a page as a broken gate takes it in the storm: what adds units adds them
// twice, as if the page had come twice. All else is known the second time.
func (g gatePort) twice(page commands.StockPage) commands.StockPage {
	if w := g.p.world; w.cfg.Variant != ApplyTwice || !w.stormy {
		return page
	}
	events := make([]commands.StockEvent, len(page.Events))
	for i, e := range page.Events {
		switch ev := e.Event.(type) {
		case *domain.StockReleased:
			added := *ev
			added.Quantity *= 2
			e.Event = &added
		case *domain.StockMovedIn:
			added := *ev
			added.Quantity *= 2
			e.Event = &added
		}
		events[i] = e
	}
	page.Events = events
	return page
}

func showApplied(a commands.Applied) string {
	return fmt.Sprintf("done %t, %s at %d", a.Done, a.State, a.Applied.Number)
}

// ApplySale is commands.Applier's.
func (g gatePort) ApplySale(ctx context.Context, page commands.SalePage) (commands.Applied, error) {
	what := fmt.Sprintf("apply sale from %d to %d to bucket %d", page.From.Number, page.To.Number, page.Place.Bucket)
	return change(ctx, g, what, showApplied, func() (commands.Applied, error) {
		return g.p.world.gate.ApplySale(background, page)
	})
}

// Hold is commands.Holder's.
func (g gatePort) Hold(ctx context.Context, place domain.Place, outcome domain.Outcome) error {
	_, err := change(ctx, g, fmt.Sprintf("hold bucket %d: %s", place.Bucket, outcome), nil, func() (struct{}, error) {
		return struct{}{}, g.p.world.gate.Hold(background, place, outcome)
	})
	return err
}

// Withdraw is commands.Withdrawer's.
func (g gatePort) Withdraw(ctx context.Context, w commands.Withdrawal) (commands.WithdrawVerdict, error) {
	return change(ctx, g, fmt.Sprintf("withdraw %d of %s", w.Quantity, w.SKU), show, func() (commands.WithdrawVerdict, error) {
		return g.p.world.gate.Withdraw(background, w)
	})
}

// Move is commands.Mover's.
func (g gatePort) Move(ctx context.Context, m commands.Move) (commands.WithdrawVerdict, error) {
	what := fmt.Sprintf("move %d of %s from bucket %d to %d", m.Quantity, m.SKU, m.Place.Bucket, m.To)
	return change(ctx, g, what, show, func() (commands.WithdrawVerdict, error) {
		v, err := g.p.world.gate.Move(background, m)
		if err == nil && v.Outcome == commands.WithdrawTaken {
			g.p.world.stats.Moved++
		}
		return v, err
	})
}

// Levels is commands.Levels'.
func (g gatePort) Levels(ctx context.Context, places []domain.Place, skus []string) ([]commands.BucketLevel, error) {
	return read(ctx, g, "levels", func() ([]commands.BucketLevel, error) { return g.p.world.gate.Levels(background, places, skus) })
}

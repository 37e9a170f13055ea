package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"seckill/commands"
	"seckill/eventstore"
)

// logPort is the event store as a process has it: every question goes through the
// scheduler.
type logPort struct {
	p *process
	// believed, if set, is where the cursors stood when they were read last, for a
	// recorder that does not compare them under the lock.
	believed map[int]eventstore.Cursor
}

var _ commands.Log = logPort{}

// readLog asks the log for something.
func readLog[T any](ctx context.Context, l logPort, what string, f func(ctx context.Context) (T, error)) (T, error) {
	return ask(ctx, l.p, question{to: toLog, what: what, reads: true}, func() (T, error) { return f(background) }, nil)
}

// Submit is eventstore.Appender's. What it stores this process hears.
func (l logPort) Submit(ctx context.Context, work eventstore.Work) (eventstore.Receipt, error) {
	q := question{to: toLog, what: about(work.Needs), patient: true}
	receipt, err := ask(ctx, l.p, q, func() (eventstore.Receipt, error) {
		return l.p.world.store.Submit(background, l.unfenced(work))
	}, showReceipt)
	if err == nil && l.p.sales != nil {
		l.p.sales.Heard(receipt.Records)
	}
	return receipt, err
}

// about names a work by what it looks at.
func about(n eventstore.Needs) string {
	var b strings.Builder
	b.WriteString("append")
	for _, s := range n.Streams[:min(len(n.Streams), 3)] {
		b.WriteByte(' ')
		b.WriteString(short(s))
	}
	for _, lane := range n.Lanes {
		fmt.Fprintf(&b, " lane %d", lane)
	}
	return b.String()
}

func showReceipt(r eventstore.Receipt) string {
	var b strings.Builder
	switch r.Outcome {
	case eventstore.Nothing:
		return "nothing to store"
	case eventstore.Conflict:
		return "conflict"
	case eventstore.AlreadyThere:
		b.WriteString("already there")
	default:
		b.WriteString("stored")
	}
	for i := range r.Records {
		rec := &r.Records[i]
		fmt.Fprintf(&b, ", %d %s %s", rec.Position, rec.Type, short(rec.OrderID))
	}
	return b.String()
}

// unfenced is a work of a recorder that believes its cursors.
func (l logPort) unfenced(work eventstore.Work) eventstore.Work {
	if l.believed == nil {
		return work
	}
	decide := work.Decide
	work.Decide = func(look eventstore.Look) (*eventstore.Group, error) {
		group, err := decide(believing{look, l.believed})
		if group == nil || err != nil {
			return group, err
		}
		for _, c := range group.Cursors {
			l.believed[c.Lane] = c
		}
		group.Cursors = slices.DeleteFunc(group.Cursors, func(c eventstore.Cursor) bool {
			now := look.Cursor(c.Lane)
			return c.Epoch < now.Epoch || c.Epoch == now.Epoch && c.N < now.N
		})
		return group, nil
	}
	return work
}

// believing is a look whose cursors stand where somebody believes them.
type believing struct {
	eventstore.Look
	cursors map[int]eventstore.Cursor
}

func (b believing) Cursor(lane int) eventstore.Cursor {
	if c, ok := b.cursors[lane]; ok {
		return c
	}
	return b.Look.Cursor(lane)
}

// Cursors is eventstore.Ledger's.
func (l logPort) Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error) {
	sorted := slices.Sorted(slices.Values(lanes))
	return readLog(ctx, l, fmt.Sprintf("cursors %v", sorted), func(ctx context.Context) ([]eventstore.Cursor, error) {
		cursors, err := l.p.world.store.Cursors(ctx, lanes)
		if err == nil && l.believed != nil {
			for _, c := range cursors {
				l.believed[c.Lane] = c
			}
		}
		return cursors, err
	})
}

// ReadStream is eventstore.Reader's.
func (l logPort) ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	return readLog(ctx, l, "read "+short(stream), func(ctx context.Context) ([]eventstore.Record, error) {
		return l.p.world.store.ReadStream(ctx, stream, after, max)
	})
}

// ReadAll is eventstore.Reader's.
func (l logPort) ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error) {
	return readLog(ctx, l, fmt.Sprintf("read after %d", after), func(ctx context.Context) ([]eventstore.Record, error) {
		return l.p.world.store.ReadAll(ctx, after, max)
	})
}

// Find is eventstore.Reader's.
func (l logPort) Find(ctx context.Context, f eventstore.Filter, after int64, max int) ([]eventstore.Record, error) {
	what := "find " + f.Type + " " + f.Prefix + " " + short(f.OrderID)
	return readLog(ctx, l, what, func(ctx context.Context) ([]eventstore.Record, error) {
		return l.p.world.store.Find(ctx, f, after, max)
	})
}

// Head is eventstore.Reader's.
func (l logPort) Head(ctx context.Context) (eventstore.Mark, error) {
	return readLog(ctx, l, "head", l.p.world.store.Head)
}

// At is eventstore.Reader's.
func (l logPort) At(ctx context.Context, position int64) (r eventstore.Record, ok bool, err error) {
	r, err = readLog(ctx, l, fmt.Sprintf("at %d", position), func(ctx context.Context) (eventstore.Record, error) {
		r, found, err := l.p.world.store.At(ctx, position)
		ok = found
		return r, err
	})
	return r, ok && err == nil, err
}

// States is eventstore.Directory's.
func (l logPort) States(ctx context.Context, streams []string) ([]eventstore.StreamState, error) {
	what := fmt.Sprintf("%d states", len(streams))
	if len(streams) > 0 {
		what += " from " + short(streams[0])
	}
	return readLog(ctx, l, what, func(ctx context.Context) ([]eventstore.StreamState, error) {
		return l.p.world.store.States(ctx, streams)
	})
}

// Streams is eventstore.Directory's.
func (l logPort) Streams(ctx context.Context, prefix, after string, max int) ([]string, error) {
	return readLog(ctx, l, "streams "+prefix, func(ctx context.Context) ([]string, error) {
		return l.p.world.store.Streams(ctx, prefix, after, max)
	})
}

// Guards is eventstore.Ledger's.
func (l logPort) Guards(ctx context.Context, streams []string) ([]eventstore.Guard, error) {
	return readLog(ctx, l, "guards", func(ctx context.Context) ([]eventstore.Guard, error) {
		return l.p.world.store.Guards(ctx, streams)
	})
}

// ClaimsOf is eventstore.Ledger's.
func (l logPort) ClaimsOf(ctx context.Context, key eventstore.ClaimKey) ([]eventstore.Claim, error) {
	return readLog(ctx, l, "claims of "+key.BuyerID, func(ctx context.Context) ([]eventstore.Claim, error) {
		return l.p.world.store.ClaimsOf(ctx, key)
	})
}

// SaleClaims is eventstore.Ledger's.
func (l logPort) SaleClaims(ctx context.Context, sale string, after eventstore.Claim, max int) ([]eventstore.Claim, error) {
	return readLog(ctx, l, "claims of "+sale, func(ctx context.Context) ([]eventstore.Claim, error) {
		return l.p.world.store.SaleClaims(ctx, sale, after, max)
	})
}

// lockPort gives leader locks through the scheduler.
type lockPort struct{ p *process }

// heldLock is a lock that somebody holds.
type heldLock struct {
	proc *process
	lose context.CancelFunc
}

// Lock is commands.Locks'.
func (l lockPort) Lock(ctx context.Context, name string) (held context.Context, release func(), err error) {
	w := l.p.world
	held, lose := context.WithCancel(withStrand(l.p.ctx, strandOf(ctx)))
	mine := &heldLock{l.p, lose}
	q := question{to: toLocks, what: "lock " + name, patient: true, ready: func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.locks[name] == nil
	}}
	_, err = ask(ctx, l.p, q, func() (struct{}, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.locks[name] = mine
		return struct{}{}, nil
	}, func(struct{}) string { return "locked" })
	if err != nil {
		lose()
		return nil, nil, err
	}
	return held, func() {
		lose()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.locks[name] == mine {
			delete(w.locks, name)
			w.wake()
		}
	}, nil
}

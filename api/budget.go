package api

import (
	"context"
	"sync/atomic"
	"time"
)

// budgeted is a context with a deadline whose timer starts when somebody waits for
// its end: nine purchases in ten are refused before anybody does.
type budgeted struct {
	parent context.Context
	at     time.Time // zero: no deadline but the parent's
	timed  atomic.Pointer[timed]
}

// timed is a context that runs, and its end.
type timed struct {
	context.Context
	cancel context.CancelFunc
}

// begin makes it end after a budget, 0: with its parent. The caller must end it.
func (b *budgeted) begin(parent context.Context, budget time.Duration) {
	b.parent = parent
	b.at, _ = parent.Deadline()
	if at := time.Now().Add(budget); budget > 0 && (b.at.IsZero() || at.Before(b.at)) {
		b.at = at
	}
}

// Deadline gives when it ends.
func (b *budgeted) Deadline() (time.Time, bool) { return b.at, !b.at.IsZero() }

// Done is closed when it has ended.
func (b *budgeted) Done() <-chan struct{} { return b.running().Done() }

// Err is why it ended.
func (b *budgeted) Err() error {
	if t := b.timed.Load(); t != nil {
		return t.Err()
	}
	if b.parent.Err() != nil || (!b.at.IsZero() && !time.Now().Before(b.at)) {
		return b.running().Err()
	}
	return nil
}

// Value gives what the parent holds. Where the timer runs it is asked, so that
// contexts made from this one are ended by it and need no goroutine for that.
func (b *budgeted) Value(key any) any {
	if t := b.timed.Load(); t != nil {
		return t.Value(key)
	}
	return b.parent.Value(key)
}

// running starts the timer, once.
func (b *budgeted) running() *timed {
	if t := b.timed.Load(); t != nil {
		return t
	}
	t := &timed{}
	if b.at.IsZero() {
		t.Context, t.cancel = context.WithCancel(b.parent)
	} else {
		t.Context, t.cancel = context.WithDeadline(b.parent, b.at)
	}
	if !b.timed.CompareAndSwap(nil, t) { // somebody was faster
		t.cancel()
	}
	return b.timed.Load()
}

// end ends it, at little cost where nobody waited for it.
func (b *budgeted) end() {
	if !b.timed.CompareAndSwap(nil, ended) {
		b.timed.Load().cancel()
	}
}

// ended is a context that is over.
var ended = func() *timed {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &timed{Context: ctx, cancel: cancel}
}()

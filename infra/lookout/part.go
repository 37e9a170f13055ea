package lookout

import (
	"context"
	"sync"
	"time"
)

// Options of a Part. All are required.
type Options struct {
	Now func() time.Time
	// Every is the pause between two looks, and Budget bounds one.
	Every, Budget time.Duration
}

// grace is how much later than planned a look may end before what was seen is old.
const grace = time.Second

// Part looks at one thing. Its methods are safe for concurrent use.
type Part[T any] struct {
	opt  Options
	look func(context.Context) (T, error)

	mu     sync.Mutex
	value  T
	at     time.Time // of the last good look; before the first, of the start
	seen   bool
	failed error // of the last look
}

// NewPart makes a part. What look gives beside an error is not kept.
func NewPart[T any](opt Options, look func(context.Context) (T, error)) *Part[T] {
	return &Part[T]{opt: opt, look: look, at: opt.Now()}
}

// Run looks until ctx ends.
func (p *Part[T]) Run(ctx context.Context) error {
	tick := time.NewTicker(p.opt.Every)
	defer tick.Stop()
	for {
		p.Look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Look looks once.
func (p *Part[T]) Look(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, p.opt.Budget)
	defer cancel()
	value, err := p.look(within)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed = err; err != nil {
		return
	}
	p.value, p.at, p.seen = value, p.opt.Now(), true
}

// Seen is what a part saw.
type Seen[T any] struct {
	Value T
	// At is when it was seen. Of what is unknown it is when it was known last: the
	// start of the part, where it never was.
	At    time.Time
	Known bool
	// Why is the error of the last look; nil also where a look is late.
	Why error
}

// Seen gives what was seen last; it is not known where the last look failed or is late.
func (p *Part[T]) Seen() Seen[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := p.opt.Now().Sub(p.at) <= p.opt.Every+p.opt.Budget+grace
	s := Seen[T]{At: p.at, Known: p.seen && p.failed == nil && fresh, Why: p.failed}
	if s.Known {
		s.Value = p.value
	}
	return s
}

package commands

import (
	"context"
	"errors"
	"sync"
	"time"
)

// shared is a question that many ask at once: one asks, the others wait for the same
// answer, which is given again for a while. The zero value is usable.
type shared[T any] struct {
	mu     sync.Mutex
	latest *sharedAnswer[T]
}

// sharedAnswer is an answer once done is closed.
type sharedAnswer[T any] struct {
	done  chan struct{}
	value T
	err   error
	until time.Time // zero while it is asked for
}

// sharedBudget bounds one question, so that nobody waits for ever for somebody
// else's.
const sharedBudget = 2 * time.Second

// errNoAnswer stands while nobody answered.
var errNoAnswer = errors.New("the question was not answered")

// get gives an answer that is at most fresh old. now is the clock that ages are
// judged by.
func (s *shared[T]) get(ctx context.Context, now func() time.Time, fresh time.Duration, ask func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	a := s.latest
	if a == nil || (!a.until.IsZero() && !now().Before(a.until)) {
		a = &sharedAnswer[T]{done: make(chan struct{}), err: errNoAnswer}
		s.latest = a
		s.mu.Unlock()
		func() {
			defer func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				a.until = now().Add(fresh)
				close(a.done)
			}()
			// That one of those who wait hangs up changes nothing for the others.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedBudget)
			defer cancel()
			a.value, a.err = ask(ctx)
		}()
	} else {
		s.mu.Unlock()
	}
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// forget makes the next one ask: what is known is not true any more.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = nil
}

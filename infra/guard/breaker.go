package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"
)

// ErrResting: a store failed too often just now and is not asked for a moment.
var ErrResting = errors.New("the store failed too often just now and is left alone for a moment")

// States of a breaker, as its metric shows them.
const (
	Closed   = 0 // everything is asked
	HalfOpen = 1 // a few questions probe the store
	Open     = 2 // nothing is asked
)

const (
	countFor   = 2 * time.Second
	countEvery = 200 * time.Millisecond
	restFor    = time.Second
	probes     = 2
	failLeast  = 5
)

// Breaker keeps questions away from a store that fails. It is safe for concurrent
// use.
type Breaker struct {
	inner *gobreaker.TwoStepCircuitBreaker[struct{}]
}

// verdict sorts the error of a question.
type verdict int

const (
	good    verdict = iota // the store answered, if only with a refusal
	bad                    // it did not, or not in time
	nothing                // says nothing about the store
)

func newBreaker(store string, log *slog.Logger, judge func(error) verdict) *Breaker {
	return &Breaker{gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: store, MaxRequests: probes, Interval: countFor, BucketPeriod: countEvery, Timeout: restFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.TotalFailures >= failLeast && 2*c.TotalFailures >= c.TotalSuccesses+c.TotalFailures
		},
		OnStateChange: func(name string, from, to gobreaker.State) {
			log.Warn("breaker changed", "store", name, "from", from.String(), "to", to.String())
		},
		IsSuccessful: func(err error) bool { return judge(err) == good },
		IsExcluded:   func(err error) bool { return judge(err) == nothing },
	})}
}

// State is Closed, HalfOpen or Open.
func (b *Breaker) State() int {
	switch b.inner.State() {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	}
	return Closed
}

// through asks, unless the store rests: then the error is ErrResting and nothing
// was asked.
func through[T any](b *Breaker, ask func() (T, error)) (answer T, err error) {
	done, refused := b.inner.Allow()
	if refused != nil {
		return answer, fmt.Errorf("%w (%w)", ErrResting, refused)
	}
	finished := false
	defer func() {
		if !finished { // a panic must not keep a probe's place
			done(errPanic)
		}
	}()
	answer, err = ask()
	finished = true
	done(err)
	return answer, err
}

var errPanic = errors.New("the question ended in a panic")

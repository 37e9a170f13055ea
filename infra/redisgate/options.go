package redisgate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"seckill/domain"
)

// Options of a gate. The zero value of a tunable means its default.
type Options struct {
	// Namespace is the first part of every key. Required.
	Namespace string
	// Store is the event store whose lanes this gate holds.
	Store uint8
	// Elsewhere are the lanes that do not live at the address that Open is given. All
	// processes of an installation must agree on it.
	Elsewhere []LaneRange
	// ProcessToken names the process for a server that lives inside it and has no
	// run id of its own (miniredis). Lanes are then opened for this token. Leave it
	// empty for any real server.
	ProcessToken string
	// MaxBatch bounds the purchases of one script call, so that a call stays about
	// a millisecond (measured on two busy cores: 7 µs in Redis for a purchase that is accepted,
	// 1.1 for one of a crowd that finds nothing, of which a call takes twice as many). Default
	// 128, at most 255.
	MaxBatch int
	// InFlight bounds the reserve calls of a lane that are under way; one beside another
	// begins only for a full batch. Default 2.
	InFlight int
	// Attempts bounds how often one call is tried. Default 3.
	Attempts int
	// ReadTimeout and WriteTimeout bound one attempt. Default 500 ms.
	ReadTimeout  time.Duration
	WriteTimeout time.Duration
	// SaleTimeout bounds one attempt of what buyers ask: reserve, resolve, and looks
	// at orders and sales. Default: ReadTimeout.
	SaleTimeout time.Duration
	// CallTimeout bounds a reserve call with all its attempts. Default 2 s.
	CallTimeout time.Duration
	// PoolSize bounds the connections of what buyers ask, and those of everything
	// else. Default 32 each.
	PoolSize int
	// OnCall, if set, hears of every answered script call: its script, the
	// purchases or events it carried, and how long the call took.
	OnCall func(script string, batch int, took time.Duration)
}

func (o Options) withDefaults() Options {
	number := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	period := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	number(&o.MaxBatch, 128)
	number(&o.InFlight, 2)
	number(&o.Attempts, 3)
	number(&o.PoolSize, 32)
	period(&o.ReadTimeout, 500*time.Millisecond)
	period(&o.WriteTimeout, 500*time.Millisecond)
	period(&o.SaleTimeout, o.ReadTimeout)
	period(&o.CallTimeout, 2*time.Second)
	if o.OnCall == nil {
		o.OnCall = func(string, int, time.Duration) {}
	}
	return o
}

// LaneRange is lanes that live on a Redis of their own.
type LaneRange struct {
	From, To int // both are meant
	URL      string
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	var bad []error
	if o.Namespace == "" || strings.ContainsAny(o.Namespace, "{} \n") {
		bad = append(bad, fmt.Errorf("namespace %q: want text without braces and spaces", o.Namespace))
	}
	if o.MaxBatch < 0 || o.MaxBatch > maxBatch {
		bad = append(bad, fmt.Errorf("batch bound %d: want 1 to %d", o.MaxBatch, maxBatch))
	}
	if o.InFlight < 0 || o.Attempts < 0 || o.PoolSize < 0 {
		bad = append(bad, errors.New("calls in flight, attempts and pool size must not be negative"))
	}
	if o.ReadTimeout < 0 || o.WriteTimeout < 0 || o.SaleTimeout < 0 || o.CallTimeout < 0 {
		bad = append(bad, errors.New("timeouts must not be negative"))
	}
	var taken [domain.Lanes]bool
	for _, r := range o.Elsewhere {
		if r.From < 0 || r.From > r.To || r.To >= domain.Lanes {
			bad = append(bad, fmt.Errorf("lanes %d to %d: want 0 to %d", r.From, r.To, domain.Lanes-1))
			continue
		}
		for lane := r.From; lane <= r.To; lane++ {
			if taken[lane] {
				bad = append(bad, fmt.Errorf("lane %d lives at two places", lane))
			}
			taken[lane] = true
		}
	}
	return errors.Join(bad...)
}

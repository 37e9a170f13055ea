package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"seckill/eventstore"
)

// RelayOptions tune a relay. The zero value is usable.
type RelayOptions struct {
	// Shards must be what the receivers use; default eventstore.DefaultShards.
	Shards int
	// Topics names each shard's topic; default TopicPerShard("seckill").
	Topics Topics
	// Page is how many records are read at once; default 2000.
	Page int
	// MaxEvents bounds the events of an envelope; default 500.
	MaxEvents int
	// MaxBytes bounds an envelope; default 512 KiB, under the 1 MiB that brokers
	// take by default. A single event that is larger goes alone.
	MaxBytes int
	// Poll is how long the relay waits for news that nobody notified it of;
	// default 100 ms.
	Poll time.Duration
	// Backoff is the first wait after a failure; it doubles up to 50 times as
	// much. Default 100 ms.
	Backoff time.Duration
	// Lead runs work while this process may relay, and gives the error of work,
	// or why it could not lead. Default: runs it at once, no questions asked; two
	// relays are harmless but double the traffic.
	Lead func(ctx context.Context, work func(context.Context) error) error
	// Paused tells whether nothing is published for the moment. Optional.
	Paused func() bool
	// Step is called at named points of a page (see the Step constants), for tests
	// that stop the process there. Optional.
	Step func(name string)
	// Published, if set, is called with each page that was sent.
	Published func(page []eventstore.Record)
	// Traced, if set, is called with the events of each envelope before it is sent, and
	// gives its traceparent, "" for none, and what is called afterwards.
	Traced func(events []eventstore.Record) (traceparent string, sent func(error))
	// Log gets one line per failure; default slog.Default().
	Log *slog.Logger
}

// Points of a relayed page at which RelayOptions.Step is called.
const (
	StepBeforePublish = "relay.before-publish" // read
	StepAfterPublish  = "relay.after-publish"  // published, the place not saved yet
	StepAfterMark     = "relay.after-mark"     // the place saved
)

// Validate reports everything that is wrong with the options.
func (o RelayOptions) Validate() error {
	var errs []error
	if o.Shards < 0 || o.Shards > eventstore.MaxShards {
		errs = append(errs, fmt.Errorf("%d shards: want 1 to %d", o.Shards, eventstore.MaxShards))
	}
	if o.Page < 0 || o.MaxEvents < 0 || o.MaxBytes < 0 || o.Poll < 0 || o.Backoff < 0 {
		errs = append(errs, errors.New("page, bounds and times of a relay must not be negative"))
	}
	return errors.Join(errs...)
}

func (o RelayOptions) withDefaults() RelayOptions {
	o.Shards = defaulted(o.Shards, eventstore.DefaultShards)
	o.Page = defaulted(o.Page, 2000)
	o.MaxEvents = defaulted(o.MaxEvents, 500)
	o.MaxBytes = defaulted(o.MaxBytes, 512<<10)
	o.Poll = defaulted(o.Poll, 100*time.Millisecond)
	o.Backoff = defaulted(o.Backoff, 100*time.Millisecond)
	if o.Topics == nil {
		o.Topics = TopicPerShard("seckill")
	}
	if o.Lead == nil {
		o.Lead = func(ctx context.Context, work func(context.Context) error) error { return work(ctx) }
	}
	if o.Paused == nil {
		o.Paused = func() bool { return false }
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Log = o.Log.With("bus", "relay")
	return o
}

func defaulted[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

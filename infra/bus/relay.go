package bus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
)

// Log is the part of an event store that a relay reads.
type Log interface {
	ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error)
	At(ctx context.Context, position int64) (r eventstore.Record, ok bool, err error)
}

// Place keeps how far the relay has published, across restarts.
type Place interface {
	// Load gives the zero Mark where nothing was saved yet.
	Load(ctx context.Context) (eventstore.Mark, error)
	// Save never moves the place back.
	Save(ctx context.Context, at eventstore.Mark) error
}

// Publisher sends messages to a topic; a watermill publisher is one.
type Publisher interface {
	Publish(topic string, messages ...*message.Message) error
}

// Source is what a relay relays: the log of one store, and its place there.
type Source struct {
	Store int16
	Log   Log
	Place Place
}

// Relay publishes the log of a store, every record at least once and in order
// within a shard. Its place moves only after publishing.
type Relay struct {
	source  Source
	outlet  outlet
	options RelayOptions
	news    chan struct{}

	mu    sync.Mutex
	stats RelayStats
}

// outlet turns pages of the log into messages and sends them.
type outlet interface {
	// begin is told where the pages start, also again after a failure.
	begin(at eventstore.Mark)
	// ship returns nil only after everything of the page was sent.
	ship(ctx context.Context, page []eventstore.Record) (shipped, error)
}

// shipped counts what was sent of a page.
type shipped struct{ messages, events, bytes int64 }

// RelayStats are running totals and the place of a relay.
type RelayStats struct {
	// At is how far this relay has published and saved its place.
	At eventstore.Mark
	// Envelopes counts messages, whatever their form.
	Envelopes int64
	Events    int64
	Bytes     int64
	// Failures counts attempts that failed; Fault is the latest, "" once
	// publishing goes on.
	Failures int64
	Fault    string
}

// NewRelay makes a relay; Run runs it. It refuses options that do not validate.
func NewRelay(source Source, publisher Publisher, options RelayOptions) (*Relay, error) {
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("make relay: %w", err)
	}
	options = options.withDefaults()
	return newRelay(source, &envelopes{store: source.Store, publish: publisher, options: options}, options), nil
}

func newRelay(source Source, out outlet, options RelayOptions) *Relay {
	return &Relay{source: source, outlet: out, options: options, news: make(chan struct{}, 1)}
}

// Notify tells the relay that something was stored. It never blocks.
func (r *Relay) Notify() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Stats gives the numbers of now.
func (r *Relay) Stats() RelayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Run relays until ctx ends, and gives nil then. What fails is tried again with
// growing waits, from the last place saved.
func (r *Relay) Run(ctx context.Context) error {
	wait := r.options.Backoff
	for ctx.Err() == nil {
		before := r.Stats().At
		err := r.options.Lead(ctx, r.relay)
		if ctx.Err() != nil {
			break
		}
		if r.Stats().At != before {
			wait = r.options.Backoff
		}
		if err != nil {
			r.fail(err, wait)
		}
		sleep(ctx, wait)
		wait = min(2*wait, 50*r.options.Backoff)
	}
	return nil
}

func (r *Relay) fail(err error, wait time.Duration) {
	r.mu.Lock()
	r.stats.Failures++
	r.stats.Fault = err.Error()
	r.mu.Unlock()
	r.options.Log.Error("relaying failed and will be tried again", "error", err, "wait", wait, "store", r.source.Store)
}

// relay publishes page after page until something fails.
func (r *Relay) relay(ctx context.Context) error {
	at, err := r.start(ctx)
	if err != nil {
		return err
	}
	r.outlet.begin(at)
	for {
		if r.options.Paused() {
			if err := r.waitForNews(ctx); err != nil {
				return err
			}
			continue
		}
		page, err := r.source.Log.ReadAll(ctx, at.Number, r.options.Page)
		if err != nil {
			return fmt.Errorf("read the log after %d: %w", at.Number, err)
		}
		if len(page) == 0 {
			if err := r.waitForNews(ctx); err != nil {
				return err
			}
			continue
		}
		if at, err = r.page(ctx, at, page); err != nil {
			return err
		}
	}
}

// start gives the place to go on from, after making sure that the log there is
// still the one that was published.
func (r *Relay) start(ctx context.Context) (eventstore.Mark, error) {
	at, err := r.source.Place.Load(ctx)
	if err != nil {
		return at, fmt.Errorf("load the relay's place: %w", err)
	}
	if at.Number > 0 {
		record, ok, err := r.source.Log.At(ctx, at.Number)
		if err != nil {
			return at, fmt.Errorf("read the log at %d: %w", at.Number, err)
		}
		if !ok || record.Hash != at.Hash {
			return at, fmt.Errorf("go on after position %d, hash %s: %w", at.Number, at.Hash, eventstore.ErrLogChanged)
		}
	}
	r.mu.Lock()
	r.stats.At, r.stats.Fault = at, ""
	r.mu.Unlock()
	return at, nil
}

// page publishes one page and then moves the place behind it.
func (r *Relay) page(ctx context.Context, at eventstore.Mark, page []eventstore.Record) (eventstore.Mark, error) {
	if err := eventstore.CheckNext(at, &page[0]); err != nil {
		return at, err
	}
	r.options.Step(StepBeforePublish)
	sent, err := r.outlet.ship(ctx, page)
	if err != nil {
		return at, err
	}
	r.options.Step(StepAfterPublish)
	end := page[len(page)-1].Head()
	if err := r.source.Place.Save(ctx, end); err != nil {
		return at, fmt.Errorf("save the relay's place %d: %w", end.Number, err)
	}
	r.options.Step(StepAfterMark)
	r.count(end, sent)
	if r.options.Published != nil {
		r.options.Published(page)
	}
	return end, nil
}

func (r *Relay) count(end eventstore.Mark, sent shipped) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.At, r.stats.Fault = end, ""
	r.stats.Envelopes += sent.messages
	r.stats.Events += sent.events
	r.stats.Bytes += sent.bytes
}

func (r *Relay) waitForNews(ctx context.Context) error {
	timer := time.NewTimer(r.options.Poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.news:
	case <-timer.C:
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

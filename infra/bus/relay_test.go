package bus

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
)

const patience = 20 * time.Second

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// desk is a log, a place and a publisher in memory; each may fail.
type desk struct {
	mu      sync.Mutex
	records []eventstore.Record
	at      eventstore.Mark
	saved   []int64
	sent    []eventstore.Batch
	publish func(topic string) error
}

func (d *desk) ReadAll(_ context.Context, after int64, max int) ([]eventstore.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := min(int(after), len(d.records))
	return slices.Clone(d.records[from:min(from+max, len(d.records))]), nil
}

func (d *desk) At(_ context.Context, position int64) (eventstore.Record, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if position < 1 || int(position) > len(d.records) {
		return eventstore.Record{}, false, nil
	}
	return d.records[position-1], true, nil
}

func (d *desk) Load(context.Context) (eventstore.Mark, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at, nil
}

func (d *desk) Save(_ context.Context, at eventstore.Mark) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.saved = at, append(d.saved, at.Number)
	return nil
}

func (d *desk) Publish(topic string, messages ...*message.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.publish != nil {
		if err := d.publish(topic); err != nil {
			return err
		}
	}
	for _, m := range messages {
		b, err := Decode(m.Payload)
		if err != nil {
			return err
		}
		d.sent = append(d.sent, b)
	}
	return nil
}

func (d *desk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// run runs a relay over d until the test ends.
func (d *desk) run(t *testing.T, o RelayOptions) *Relay {
	t.Helper()
	o.Log = quiet()
	r, err := NewRelay(Source{Store: 1, Log: d, Place: d}, d, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("relay ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("relay does not stop")
		}
	})
	return r
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain until %s", patience, what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestTheRelaysPlaceMovesOnlyAfterPublishing(t *testing.T) {
	d := &desk{records: chain(50)}
	refusals := 0
	d.publish = func(string) error {
		if refusals < 20 {
			refusals++
			if len(d.saved) > 0 {
				t.Errorf("the place moved to %v while publishing failed", d.saved)
			}
			return errors.New("the broker is away")
		}
		return nil
	}
	r := d.run(t, RelayOptions{Backoff: time.Microsecond, Page: 20})
	eventually(t, "all is published", func() bool { return r.Stats().At.Number == 50 })
	d.set(func() {
		if !slices.Equal(d.saved, []int64{20, 40, 50}) {
			t.Errorf("places saved: %v, want 20, 40, 50", d.saved)
		}
		seen := map[int64]bool{}
		for _, b := range d.sent {
			for _, rec := range b.Records {
				seen[rec.Position] = true
			}
		}
		if len(seen) != 50 {
			t.Errorf("%d of 50 records were sent", len(seen))
		}
	})
	if s := r.Stats(); s.Failures == 0 || s.Fault != "" {
		t.Errorf("stats %+v, want failures counted and no fault any more", s)
	}
}

func TestARelayWakesAtOnceWhenNotified(t *testing.T) {
	all := chain(40)
	d := &desk{records: all[:20]}
	r := d.run(t, RelayOptions{Poll: time.Hour})
	eventually(t, "the first part is published", func() bool { return r.Stats().At.Number == 20 })
	d.set(func() { d.records = all })
	r.Notify()
	eventually(t, "the second part is published", func() bool { return r.Stats().At.Number == 40 })
}

func TestARelayLooksForItselfWhenNobodyNotifies(t *testing.T) {
	all := chain(40)
	d := &desk{records: all[:20]}
	r := d.run(t, RelayOptions{Poll: time.Millisecond})
	eventually(t, "the first part is published", func() bool { return r.Stats().At.Number == 20 })
	d.set(func() { d.records = all })
	eventually(t, "the second part is published", func() bool { return r.Stats().At.Number == 40 })
}

func TestARelayRefusesALogThatIsNotTheOnePublished(t *testing.T) {
	all := chain(40)
	other := all[19].Head()
	other.Hash[0]++
	for what, d := range map[string]*desk{
		"another record at its place": {records: all, at: other},
		"a shorter log":               {records: all[:10], at: all[19].Head()},
		"a missing record":            {records: append(slices.Clone(all[:5]), all[6:]...)},
	} {
		if what == "a missing record" {
			d.at = all[4].Head()
		}
		r := d.run(t, RelayOptions{Backoff: time.Millisecond})
		eventually(t, "the relay reports "+what, func() bool { return strings.Contains(r.Stats().Fault, eventstore.ErrLogChanged.Error()) })
		d.set(func() {
			if len(d.sent) > 0 || len(d.saved) > 0 {
				t.Errorf("%s: %d envelopes sent, places saved %v, want none", what, len(d.sent), d.saved)
			}
		})
	}
}

func TestARelayWorksOnlyWhileItLeads(t *testing.T) {
	d := &desk{records: chain(10)}
	leads := make(chan struct{})
	r := d.run(t, RelayOptions{Backoff: time.Millisecond, Lead: func(ctx context.Context, work func(context.Context) error) error {
		select {
		case <-leads:
			return work(ctx)
		default:
			return errors.New("somebody else leads")
		}
	}})
	eventually(t, "it has asked to lead", func() bool { return r.Stats().Failures > 2 })
	d.set(func() {
		if len(d.sent) > 0 {
			t.Errorf("%d envelopes were sent without leading", len(d.sent))
		}
	})
	close(leads)
	eventually(t, "all is published", func() bool { return r.Stats().At.Number == 10 })
}

func TestOptionsThatCannotWorkAreRefusedTogether(t *testing.T) {
	_, err := NewRelay(Source{}, &desk{}, RelayOptions{Shards: 1000, Page: -1})
	if err == nil || !strings.Contains(err.Error(), "1000 shards") || !strings.Contains(err.Error(), "negative") {
		t.Errorf("got %v, want both problems", err)
	}
}

package simulation

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
	"seckill/infra/bus"
)

// busPort is the bus as the relay has it.
type busPort struct{ p *process }

// Publish is bus.Publisher's: a message comes to each projector for itself, or to none,
// twice, late, or after those that were published after it.
func (b busPort) Publish(topic string, messages ...*message.Message) error {
	w := b.p.world
	_, err := ask(b.p.ctx, b.p, question{to: toBus, what: "publish to " + topic}, func() (int, error) {
		for _, m := range messages {
			number, err := strconv.Atoi(m.Metadata.Get(bus.ShardHeader))
			if err != nil {
				return 0, fmt.Errorf("read the shard of a message: %w", err)
			}
			w.post(number, m.Payload)
		}
		return len(messages), nil
	}, func(n int) string { return fmt.Sprintf("%d messages", n) })
	return err
}

// post sends a message to every projector.
func (w *World) post(number int, data []byte) {
	for _, name := range []string{"projector-1", "projector-2"} {
		copies := 1
		if w.stormy {
			switch r := w.rng.IntN(1000); {
			case r < w.weather.lose:
				copies = 0
			case r < w.weather.lose+w.weather.double:
				copies = 2
			}
		}
		for range copies {
			delay := time.Duration(w.rng.IntN(3000)) * time.Microsecond
			if w.stormy && w.rng.IntN(1000) < w.weather.late {
				delay += time.Duration(w.rng.Int64N(int64(3 * time.Second)))
			}
			w.after(delay, "", func() { w.deliver(name, number, data) })
		}
	}
}

// deliver hands a message to a projector, if it runs.
func (w *World) deliver(name string, number int, data []byte) {
	for _, p := range w.procs {
		if p.name == name {
			select {
			case p.shards[number].inbox <- data:
			default: // it is read from the log
			}
		}
	}
}

// shard applies one shard of the log to the views, by the rules of projections.Runner:
// what is covered is skipped, what shows a gap or ends at a place that the log does not
// have is left to the log, and rows and checkpoint change in one step.
type shard struct {
	p      *process
	number int
	inbox  chan []byte
	at     eventstore.Mark
	known  bool
}

// Times of a shard: how often it reads on without a message, and the pause after a fault.
const (
	shardPoll = 500 * time.Millisecond
	shardRest = 50 * time.Millisecond
)

func (s *shard) run(ctx context.Context) error {
	for ctx.Err() == nil {
		timer := time.NewTimer(shardPoll)
		var err error
		select {
		case data := <-s.inbox:
			err = s.take(ctx, data)
		case <-timer.C:
			s.known = false // the database may have been put back meanwhile
			err = s.readOn(ctx)
		case <-ctx.Done():
		}
		timer.Stop()
		if err != nil {
			s.known = false
			rest := time.NewTimer(shardRest)
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
			rest.Stop()
		}
	}
	return nil
}

// take applies an envelope, or reads on where it cannot be applied as it is.
func (s *shard) take(ctx context.Context, data []byte) error {
	b, err := bus.Decode(data)
	if err != nil {
		return err
	}
	log, twice := logPort{p: s.p}, s.p.world.cfg.Variant == NoDedupe
	for {
		if err := s.learn(ctx); err != nil {
			return err
		}
		if b.Last.Number <= s.at.Number && !twice {
			return nil
		}
		end, ok, err := log.At(ctx, b.Last.Number)
		switch {
		case err != nil:
			return err
		case !ok, end.Hash != b.Last.Hash, b.Prev.Number > s.at.Number, b.Prev.Number == s.at.Number && b.Prev.Hash != s.at.Hash:
			return s.readOn(ctx)
		}
		part := b.After(s.at)
		if twice {
			part = b
		}
		done, err := s.commit(ctx, s.at, part)
		if err != nil || done {
			return err
		}
	}
}

// readOn applies the log up to its head.
func (s *shard) readOn(ctx context.Context) error {
	for {
		if err := s.learn(ctx); err != nil {
			return err
		}
		page, err := logPort{p: s.p}.ReadAll(ctx, s.at.Number, 200)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := eventstore.CheckNext(s.at, &page[0]); err != nil {
			return err
		}
		b := eventstore.Batch{Store: storeNumber, Shard: s.number, Shards: shards, Prev: s.at, Last: page[len(page)-1].Head()}
		for i := range page {
			if page[i].Shard(shards) == s.number {
				b.Records = append(b.Records, page[i])
			}
		}
		if _, err := s.commit(ctx, s.at, b); err != nil {
			return err
		}
	}
}

// learn reads the checkpoint, unless it is known.
func (s *shard) learn(ctx context.Context) (err error) {
	if s.known {
		return nil
	}
	s.at, err = readViews(ctx, viewPort{s.p}, fmt.Sprintf("checkpoint of shard %d", s.number), func(v *views) (eventstore.Mark, error) {
		return v.at[s.number], nil
	})
	s.known = err == nil
	return err
}

// commit writes rows and checkpoint in one step; false where somebody else has moved the
// checkpoint.
func (s *shard) commit(ctx context.Context, at eventstore.Mark, b eventstore.Batch) (bool, error) {
	w := s.p.world
	q := question{to: toViews, what: fmt.Sprintf("shard %d from %d to %d", s.number, at.Number, b.Last.Number), patient: true}
	done, err := ask(ctx, s.p, q, func() (bool, error) {
		if w.views.at[s.number] != at {
			return false, nil
		}
		if err := w.views.apply(b.Records); err != nil {
			w.violate("C4: %v", err)
			return false, err
		}
		if b.Last.Number > w.views.at[s.number].Number {
			w.views.at[s.number] = b.Last
		}
		return true, nil
	}, func(done bool) string { return fmt.Sprintf("%d events, done %t", len(b.Records), done) })
	if err != nil || !done {
		s.known = false
		return false, err
	}
	if b.Last.Number > s.at.Number {
		s.at = b.Last
	}
	return true, nil
}

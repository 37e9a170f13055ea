package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
)

// Receiver is one projection's reader of one shard. Deliver must cope with
// batches that are doubled, late, overlapping or behind a gap, and must take
// care itself of what it cannot apply: the message is acknowledged in any case.
type Receiver interface {
	Projection() string
	Shard() int
	Deliver(ctx context.Context, b eventstore.Batch)
}

// Subscribers gives the subscriber of a projection. On a broker each projection
// is a group of its own, so that each gets every event; in one process all may
// share one. The consumers close it when they stop.
type Subscribers func(projection string) (message.Subscriber, error)

// ConsumerOptions tune consumers. The zero value is usable.
type ConsumerOptions struct {
	// Topics names each shard's topic; default TopicPerShard("seckill").
	Topics Topics
	// Deadline bounds one delivery, also after the consumers were told to stop;
	// default 10 s.
	Deadline time.Duration
	// Log gets one line per message that could not be read; default slog.Default().
	Log *slog.Logger
}

// Consumers take envelopes off the bus, one handler per projection and topic;
// that is one per projection and shard where each shard has its own topic.
type Consumers struct {
	router  *message.Router
	options ConsumerOptions
	memos   map[string]*memo // by ShardHeader
	unread  atomic.Int64
}

// place is where a handler listens.
type place struct{ projection, topic string }

// NewConsumers subscribes nothing yet; Run does.
func NewConsumers(subscribers Subscribers, receivers []Receiver, options ConsumerOptions) (*Consumers, error) {
	options.Deadline = defaulted(options.Deadline, 10*time.Second)
	if options.Topics == nil {
		options.Topics = TopicPerShard("seckill")
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	options.Log = options.Log.With("bus", "consumer")
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: options.Deadline + time.Second}, watermillLogger(options.Log))
	if err != nil {
		return nil, fmt.Errorf("make consumers: %w", err)
	}
	c := &Consumers{router: router, options: options, memos: map[string]*memo{}}
	at := map[place]map[int]Receiver{}
	for _, r := range receivers {
		p := place{r.Projection(), options.Topics(r.Shard())}
		if at[p] == nil {
			at[p] = map[int]Receiver{}
		}
		at[p][r.Shard()] = r
		c.memos[strconv.Itoa(r.Shard())] = &memo{}
	}
	for p, byShard := range at {
		subscriber, err := subscribers(p.projection)
		if err != nil {
			return nil, fmt.Errorf("subscribe %s: %w", p.projection, err)
		}
		router.AddConsumerHandler(p.projection+" of "+p.topic, p.topic, subscriber, c.handler(p, byShard))
	}
	return c, nil
}

// Run consumes until ctx ends, then waits for deliveries under way, closes the
// subscribers and gives nil. It may be called once.
func (c *Consumers) Run(ctx context.Context) error {
	ended, closed := make(chan struct{}), make(chan error, 1)
	go func() { closed <- c.close(ctx, ended) }()
	// The router is closed, not cancelled: cancelled it would sometimes leave the
	// subscribers open, and it would cancel what is under way.
	err := c.router.Run(context.WithoutCancel(ctx))
	close(ended)
	if err := errors.Join(err, <-closed); err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	return nil
}

// close closes the router when ctx ends. A router that is not running yet
// cannot be closed.
func (c *Consumers) close(ctx context.Context, ended <-chan struct{}) error {
	select {
	case <-c.router.Running():
	case <-ended:
		return nil
	}
	select {
	case <-ctx.Done():
		return c.router.Close()
	case <-ended:
		return nil
	}
}

// Running is closed once everything is subscribed.
func (c *Consumers) Running() <-chan struct{} { return c.router.Running() }

// Unread counts messages that could not be read; their records were healed
// from the store.
func (c *Consumers) Unread() int64 { return c.unread.Load() }

// handler never fails: a nacked message would come again at once and for ever.
func (c *Consumers) handler(p place, byShard map[int]Receiver) message.NoPublishHandlerFunc {
	return func(m *message.Message) error {
		defer c.survive(p)
		b, first, err := c.read(m)
		receiver, ok := byShard[b.Shard]
		if err == nil && !ok {
			err = fmt.Errorf("envelope of shard %d in topic %s", b.Shard, p.topic)
		}
		if err != nil {
			if first {
				c.unread.Add(1)
				c.options.Log.Error("a message cannot be read; its records will be read from the store", "error", err, "topic", p.topic)
			}
			return nil
		}
		// A router that closes cancels the message's context; the work goes on.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.Context()), c.options.Deadline)
		defer cancel()
		receiver.Deliver(eventstore.WithOrigin(ctx, m.Metadata.Get(TraceHeader)), b)
		return nil
	}
}

// survive turns a panic of a receiver into a line in the log: the router would
// nack the message.
func (c *Consumers) survive(p place) {
	if v := recover(); v != nil {
		c.options.Log.Error("a receiver panicked", "panic", v, "projection", p.projection, "topic", p.topic)
	}
}

// read gives the batch of m; first tells whether it had to be decoded for that.
func (c *Consumers) read(m *message.Message) (b eventstore.Batch, first bool, err error) {
	if d, ok := c.memos[m.Metadata.Get(ShardHeader)]; ok && m.UUID != "" {
		return d.read(m)
	}
	b, err = Decode(m.Payload)
	return b, true, err
}

// memo reads each message once for all the projections of a shard, which get
// their copies at about the same time.
type memo struct {
	mu    sync.Mutex
	uuid  string
	batch eventstore.Batch
	err   error
}

func (d *memo) read(m *message.Message) (b eventstore.Batch, first bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if first = d.uuid != m.UUID; first {
		d.uuid = m.UUID
		d.batch, d.err = Decode(m.Payload)
	}
	return d.batch, first, d.err
}

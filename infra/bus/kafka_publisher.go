package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/singleflight"
)

// KafkaPublisher publishes to Kafka. Publish returns nil only after all replicas
// in sync have every message. It connects when it is first used, and again after
// a failure: a producer that failed is not trusted with what follows.
type KafkaPublisher struct {
	options KafkaOptions
	opening singleflight.Group

	mu     sync.Mutex
	now    *producing // nil when there is none to use
	closed bool
}

// producing is one producer and its users; the last one closes it.
type producing struct {
	kafka   *kafka.Publisher
	users   int
	retired bool
}

// errPublisherClosed: publishing after Close.
var errPublisherClosed = errors.New("the publisher is closed")

// NewKafkaPublisher connects to nothing yet.
func NewKafkaPublisher(o KafkaOptions) (*KafkaPublisher, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("publish to Kafka: %w", err)
	}
	return &KafkaPublisher{options: o.withDefaults()}, nil
}

// Publish sends messages one after the other. It stops at the first failure;
// what it sent before stays sent. A message beyond KafkaOptions.MaxBytes is left
// out with a line in the log: it would hold up all that follow, and receivers
// read what they miss from the store.
func (p *KafkaPublisher) Publish(topic string, messages ...*message.Message) error {
	fit := make([]*message.Message, 0, len(messages))
	for _, m := range messages {
		if len(m.Payload) > p.options.MaxBytes {
			p.options.Log.Error("a message is too large for Kafka and stays out; its records will be read from the store",
				"topic", topic, "bytes", len(m.Payload), "shard", m.Metadata.Get(ShardHeader))
			continue
		}
		fit = append(fit, m)
	}
	producer, err := p.take(topic)
	if err != nil {
		return err
	}
	err = producer.kafka.Publish(topic, fit...)
	if closing := p.give(producer, err != nil); closing != nil {
		err = errors.Join(err, closing)
	}
	return err
}

// take gives the producer of now; several that wait for one share the attempt.
func (p *KafkaPublisher) take(topic string) (*producing, error) {
	for {
		p.mu.Lock()
		now := p.now
		closed := p.closed
		if now != nil {
			now.users++
		}
		p.mu.Unlock()
		switch {
		case closed:
			return nil, errPublisherClosed
		case now != nil:
			return now, nil
		}
		if _, err, _ := p.opening.Do("", func() (any, error) { return nil, p.open(topic) }); err != nil {
			return nil, err
		}
	}
}

// open connects, and makes the topic again where somebody has taken it away.
func (p *KafkaPublisher) open(topic string) error {
	p.mu.Lock()
	there := p.now != nil
	p.mu.Unlock()
	if there {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := EnsureTopic(ctx, topic, p.options); err != nil {
		return err
	}
	producer, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: p.options.Brokers, Marshaler: kafka.NewWithPartitioningMarshaler(shardKey), OverwriteSaramaConfig: p.options.producer(),
	}, watermillLogger(p.options.Log))
	if err != nil {
		return &UnreachableError{Brokers: p.options.Brokers, err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.Join(errPublisherClosed, producer.Close())
	}
	p.now = &producing{kafka: producer}
	return nil
}

// give returns a producer; one that failed gets no new users, and its last one
// closes it.
func (p *KafkaPublisher) give(producer *producing, failed bool) error {
	p.mu.Lock()
	producer.users--
	if (failed || p.closed) && p.now == producer {
		p.now, producer.retired = nil, true
	}
	last := producer.retired && producer.users == 0
	p.mu.Unlock()
	if !last {
		return nil
	}
	return producer.kafka.Close()
}

// Close closes the producer once nobody publishes any more. Publishing fails
// from then on.
func (p *KafkaPublisher) Close() error {
	p.mu.Lock()
	p.closed = true
	idle := p.now != nil && p.now.users == 0
	producer := p.now
	if idle {
		p.now = nil
	}
	p.mu.Unlock()
	if !idle {
		return nil
	}
	return producer.kafka.Close()
}

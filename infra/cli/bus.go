package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
	"seckill/infra/bus"
	"seckill/infra/config"
	"seckill/projections"
)

// carrier carries envelopes from the relay to the projections.
type carrier struct {
	publisher   bus.Publisher
	subscribers bus.Subscribers
	topics      bus.Topics
}

// carrier gives the bus within the process, or Kafka where brokers are named. A
// process that neither relays nor projects talks to no broker.
func (a *app) carrier(ctx context.Context, r roles) (carrier, error) {
	if len(a.settings.KafkaBrokers) == 0 || !r.any(roleRelay, roleProjector) {
		local := bus.NewLocal(a.log)
		return carrier{
			publisher: local, topics: bus.TopicPerShard(a.busName()),
			subscribers: func(string) (message.Subscriber, error) { return local, nil },
		}, nil
	}
	c := carrier{topics: bus.OneTopic(a.busName())}
	if err := a.checkKafka(ctx, c.topics(0)); err != nil {
		return carrier{}, err
	}
	publisher, err := bus.NewKafkaPublisher(a.kafka())
	if err != nil {
		return carrier{}, err
	}
	a.onClose(func(context.Context) error { return publisher.Close() })
	c.publisher = publisher
	c.subscribers, err = bus.KafkaSubscribers(a.busName(), a.kafka())
	return c, err
}

// busName begins the names of topics and consumer groups: the namespace, and for any
// store but the first its number. So no projection is handed the events of another store.
func (a *app) busName() string {
	if a.env.Store == 1 {
		return a.settings.Namespace
	}
	return a.settings.Namespace + ".s" + strconv.Itoa(int(a.env.Store))
}

func (a *app) kafka() bus.KafkaOptions {
	return bus.KafkaOptions{Brokers: a.settings.KafkaBrokers, Log: a.log}
}

// checkKafka makes the topic where it is missing, and refuses brokers that do
// not answer while somebody looks: later they may come and go.
func (a *app) checkKafka(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	partitions, err := bus.EnsureTopic(ctx, topic, a.kafka())
	if err != nil {
		return explainKafka(a.settings, topic, err)
	}
	if partitions < eventstore.DefaultShards {
		a.log.Warn("The topic has fewer partitions than there are shards: several shards share one. More may be added at any time.",
			"topic", topic, "partitions", partitions, "shards", eventstore.DefaultShards)
	}
	return nil
}

// explainKafka says why Kafka cannot be worked with.
func explainKafka(s config.Settings, topic string, err error) error {
	var unreachable *bus.UnreachableError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &unreachable):
		return &told{"no Kafka broker answers at " + strings.Join(s.KafkaBrokers, ", ") +
			": are they running, and does SECKILL_KAFKA_BROKERS name the right places? Empty, it keeps messages inside the process", err}
	}
	return &told{fmt.Sprintf("the Kafka topic %s cannot be used: %s", topic, oneLine(err)), err}
}

// publicRelay publishes for outsiders; nil where nobody asked for it.
func (a *app) publicRelay() (*bus.Relay, error) {
	if a.settings.KafkaPublicTopic == "" {
		return nil, nil
	}
	store := int16(a.env.Store)
	relay, err := bus.NewPublicRelay(bus.Source{Store: store, Log: a.sink, Place: projections.PublicPlace(a.pool, store)},
		a.settings.KafkaPublicTopic, bus.EventSource(a.settings.Namespace, store), a.kafka(),
		bus.RelayOptions{Log: a.log, Paused: a.noncorePaused, Lead: func(ctx context.Context, work func(context.Context) error) error {
			return a.locks().lead(ctx, publicLead, work)
		}})
	if err != nil {
		return nil, err
	}
	a.stored.hear(relay.Notify)
	return relay, nil
}

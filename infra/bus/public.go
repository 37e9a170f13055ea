package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/IBM/sarama"

	"seckill/eventstore"
)

// PublicTopic names the topic for outsiders that a namespace has unless another
// name is chosen.
func PublicTopic(namespace string) string { return namespace + ".public" }

// NewPublicRelay makes a relay that publishes each record as a message of its
// own to a topic of Kafka: a CloudEvent (see CloudEvent) whose key is the
// record's stream. So others can subscribe without knowing our envelope.
//
// Every record comes at least once, and those of a stream in order. After a
// failure a stretch is sent again from its start; the events' streamversion
// tells who has seen them. It needs a Place of its own. Run closes its
// connection.
func NewPublicRelay(source Source, topic, eventSource string, k KafkaOptions, options RelayOptions) (*Relay, error) {
	if err := errors.Join(options.Validate(), k.Validate()); err != nil {
		return nil, fmt.Errorf("make public relay: %w", err)
	}
	options = options.withDefaults()
	out := &cloudEvents{topic: topic, source: eventSource, options: k.withDefaults()}
	relay := newRelay(source, out, options)
	lead := options.Lead
	relay.options.Lead = func(ctx context.Context, work func(context.Context) error) error {
		return errors.Join(lead(ctx, work), out.close())
	}
	return relay, nil
}

// cloudEvents is the outlet for outsiders. It connects when it first ships, and
// again after a failure.
type cloudEvents struct {
	topic, source string
	options       KafkaOptions
	producer      sarama.SyncProducer
}

func (c *cloudEvents) begin(eventstore.Mark) {}

func (c *cloudEvents) ship(ctx context.Context, page []eventstore.Record) (shipped, error) {
	if err := c.open(ctx); err != nil {
		return shipped{}, err
	}
	messages := make([]*sarama.ProducerMessage, 0, len(page))
	var sent shipped
	for i := range page {
		data, err := CloudEvent(c.source, &page[i])
		if err != nil {
			return shipped{}, err
		}
		messages = append(messages, &sarama.ProducerMessage{
			Topic: c.topic, Key: sarama.StringEncoder(page[i].Stream), Value: sarama.ByteEncoder(data),
			Headers: []sarama.RecordHeader{{Key: []byte("content-type"), Value: []byte(CloudEventType)}},
		})
		sent.bytes += int64(len(data))
	}
	if err := c.producer.SendMessages(messages); err != nil {
		return shipped{}, errors.Join(fmt.Errorf("publish %d events to %s: %w", len(messages), c.topic, firstOf(err)), c.close())
	}
	sent.messages, sent.events = int64(len(page)), int64(len(page))
	return sent, nil
}

// firstOf gives the first of the many failures of a page.
func firstOf(err error) error {
	var all sarama.ProducerErrors
	if errors.As(err, &all) && len(all) > 0 {
		return all[0].Err
	}
	return err
}

func (c *cloudEvents) open(ctx context.Context) error {
	if c.producer != nil {
		return nil
	}
	if _, err := EnsureTopic(ctx, c.topic, c.options); err != nil {
		return err
	}
	config := c.options.producer()
	config.Producer.Partitioner = sarama.NewHashPartitioner // by the stream
	producer, err := sarama.NewSyncProducer(c.options.Brokers, config)
	if err != nil {
		return &UnreachableError{Brokers: c.options.Brokers, err: err}
	}
	c.producer = producer
	return nil
}

func (c *cloudEvents) close() error {
	if c.producer == nil {
		return nil
	}
	err := c.producer.Close()
	c.producer = nil
	if err != nil {
		return fmt.Errorf("close the producer of %s: %w", c.topic, err)
	}
	return nil
}

package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
)

// KafkaOptions say where Kafka is and how to talk to it. Brokers is required.
type KafkaOptions struct {
	// Brokers are addresses, HOST:PORT; one that answers is enough to find all.
	Brokers []string
	// Partitions of a topic that does not exist yet; default eventstore.DefaultShards.
	// Another number of an existing topic is taken as it is, and may be raised
	// while everything runs.
	Partitions int
	// Replication of a topic that does not exist yet; default: the broker's.
	Replication int
	// MaxBytes bounds a message on both sides and in topics made here; default 4 MiB.
	MaxBytes int
	// Refresh is how soon a raised number of partitions is noticed; default 10 s.
	Refresh time.Duration
	// Session is how soon the partitions of a consumer that died without a word go
	// to others; default 10 s. Brokers take 6 s or more unless told otherwise.
	Session time.Duration
	// Log gets one line per failure; default slog.Default().
	Log *slog.Logger
}

// Validate reports everything that is wrong with the options.
func (o KafkaOptions) Validate() error {
	var errs []error
	if len(o.Brokers) == 0 {
		errs = append(errs, errors.New("no brokers are named"))
	}
	if o.Partitions < 0 || o.Replication < 0 || o.MaxBytes < 0 || o.Refresh < 0 || o.Session < 0 {
		errs = append(errs, errors.New("numbers and times of Kafka must not be negative"))
	}
	return errors.Join(errs...)
}

func (o KafkaOptions) withDefaults() KafkaOptions {
	o.Partitions = defaulted(o.Partitions, eventstore.DefaultShards)
	o.MaxBytes = defaulted(o.MaxBytes, 4<<20)
	o.Refresh = defaulted(o.Refresh, 10*time.Second)
	o.Session = defaulted(o.Session, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Log = o.Log.With("bus", "kafka")
	return o
}

// OneTopic gives all shards one topic, "<namespace>.events": on Kafka a shard is
// a partition of it.
func OneTopic(namespace string) Topics {
	return func(int) string { return namespace + ".events" }
}

// config is what both sides have in common. Whatever is set here has a default
// that would lose, refuse or hold up messages.
func (o KafkaOptions) config() *sarama.Config {
	c := sarama.NewConfig()
	c.ClientID = "seckill"
	// The newest protocol to speak; older calls are negotiated. Kafka 2.8 to 4.x.
	c.Version = sarama.V2_8_0_0
	c.Net.DialTimeout, c.Net.ReadTimeout, c.Net.WriteTimeout = 3*time.Second, 15*time.Second, 10*time.Second
	c.Metadata.RefreshFrequency = o.Refresh
	c.Metadata.Timeout = 5 * time.Second
	// A broker would make a topic with settings of its own.
	c.Metadata.AllowAutoTopicCreation = false
	return c
}

// producer never tells that something was sent before all replicas in sync have
// it. Its attempts are few: the relay repeats a page until it works.
func (o KafkaOptions) producer() *sarama.Config {
	c := o.config()
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Idempotent = true
	c.Net.MaxOpenRequests = 1 // idempotence asks for it
	c.Producer.MaxMessageBytes = o.MaxBytes + frameBytes
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = func(string) sarama.Partitioner { return byShard{} }
	return c
}

// byShard puts shard s into partition s modulo their number: the key is the
// shard. When partitions are added a shard may move; receivers keep its order by
// their checkpoints.
type byShard struct{}

func (byShard) RequiresConsistency() bool { return true }

func (byShard) Partition(m *sarama.ProducerMessage, partitions int32) (int32, error) {
	key, err := m.Key.Encode()
	if err != nil {
		return 0, fmt.Errorf("read the key of a message: %w", err)
	}
	shard, err := strconv.ParseUint(string(key), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("message without a shard: %w", err)
	}
	return int32(shard % uint64(partitions)), nil
}

// shardKey gives the record's key, which names the shard.
func shardKey(_ string, m *message.Message) (string, error) { return m.Metadata.Get(ShardHeader), nil }

// consumer reads from the oldest: offsets only save work, checkpoints decide.
func (o KafkaOptions) consumer() *sarama.Config {
	c := o.config()
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Return.Errors = true // watermill reads them
	c.Consumer.Fetch.Default = int32(o.MaxBytes) + frameBytes
	c.Consumer.Fetch.MaxBytes = max(16<<20, c.Consumer.Fetch.Default)
	c.Consumer.MaxWaitTime = 250 * time.Millisecond
	c.Consumer.Retry.Backoff = 500 * time.Millisecond
	c.Consumer.Group.Session.Timeout, c.Consumer.Group.Heartbeat.Interval = o.Session, o.Session/4
	c.Consumer.Group.Rebalance.Retry.Backoff = 500 * time.Millisecond
	// Messages are large: this many per partition wait in memory.
	c.ChannelBufferSize = 8
	return c
}

// KafkaSubscribers gives each projection a consumer group of its own, named
// "<namespace>.<projection>", so that each gets every event. A member that fails
// leaves its group and joins again after a second.
func KafkaSubscribers(namespace string, o KafkaOptions) (Subscribers, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("subscribe to Kafka: %w", err)
	}
	o = o.withDefaults()
	return func(projection string) (message.Subscriber, error) {
		return kafka.NewSubscriber(kafka.SubscriberConfig{
			Brokers: o.Brokers, ConsumerGroup: namespace + "." + projection,
			Unmarshaler: kafka.DefaultMarshaler{}, OverwriteSaramaConfig: o.consumer(),
		}, watermillLogger(o.Log))
	}, nil
}

// UnreachableError says that no broker answered.
type UnreachableError struct {
	Brokers []string
	err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no Kafka broker answers at %s: %v", strings.Join(e.Brokers, ", "), e.err)
}

func (e *UnreachableError) Unwrap() error { return e.err }

// EnsureTopic makes the topic where it is missing and gives the number of its
// partitions. An *UnreachableError when no broker answers.
func EnsureTopic(ctx context.Context, topic string, o KafkaOptions) (partitions int, err error) {
	if err := o.Validate(); err != nil {
		return 0, fmt.Errorf("look for the topic %s: %w", topic, err)
	}
	o = o.withDefaults()
	admin, err := sarama.NewClusterAdmin(o.Brokers, o.config())
	if err != nil {
		return 0, &UnreachableError{Brokers: o.Brokers, err: err}
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	for {
		partitions, err = o.topic(admin, topic)
		if err != nil || partitions > 0 {
			return partitions, err
		}
		// Made, but not known to every broker yet.
		if sleep(ctx, 50*time.Millisecond); ctx.Err() != nil {
			return 0, fmt.Errorf("wait for the new topic %s: %w", topic, ctx.Err())
		}
	}
}

// topic makes a missing topic; 0 partitions when it cannot be used yet.
func (o KafkaOptions) topic(admin sarama.ClusterAdmin, topic string) (partitions int, err error) {
	found, err := admin.DescribeTopics([]string{topic})
	if err != nil {
		return 0, fmt.Errorf("look for the topic %s: %w", topic, err)
	}
	if len(found) == 1 && found[0].Err == sarama.ErrNoError {
		for _, p := range found[0].Partitions {
			if p.Err == sarama.ErrLeaderNotAvailable {
				return 0, nil
			}
		}
		return len(found[0].Partitions), nil
	}
	if len(found) == 1 && found[0].Err != sarama.ErrUnknownTopicOrPartition && found[0].Err != sarama.ErrLeaderNotAvailable {
		return 0, fmt.Errorf("look for the topic %s: %w", topic, found[0].Err)
	}
	bytes := strconv.Itoa(o.MaxBytes + 2*frameBytes)
	remove := "delete" // compaction would keep one message per shard
	err = admin.CreateTopic(topic, &sarama.TopicDetail{
		NumPartitions: int32(o.Partitions), ReplicationFactor: int16(defaulted(o.Replication, -1)),
		ConfigEntries: map[string]*string{"max.message.bytes": &bytes, "cleanup.policy": &remove},
	}, false)
	if err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		return 0, fmt.Errorf("make the topic %s: %w", topic, err)
	}
	return 0, nil
}

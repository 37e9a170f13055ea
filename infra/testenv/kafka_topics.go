package testenv

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
)

// FakeKafka gives the address of an imitated Kafka inside this process, which
// ends with the test. It shows that code speaks the protocol; nothing about
// speed, and little about what a broker does when it fails.
func FakeKafka(t testing.TB) string {
	t.Helper()
	withoutDetector(t)
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "16777216"}))
	if err != nil {
		t.Fatalf("start an imitated Kafka: %v", err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}

// RaisePartitions gives a topic of the Kafka at addr more partitions.
func RaisePartitions(t testing.TB, addr, topic string, partitions int) {
	t.Helper()
	administer(t, addr, func(a sarama.ClusterAdmin) error { return a.CreatePartitions(topic, int32(partitions), nil, false) })
}

// DropTopic takes a topic away from the Kafka at addr.
func DropTopic(t testing.TB, addr, topic string) {
	t.Helper()
	administer(t, addr, func(a sarama.ClusterAdmin) error { return a.DeleteTopic(topic) })
}

func administer(t testing.TB, addr string, do func(sarama.ClusterAdmin) error) {
	t.Helper()
	c := sarama.NewConfig()
	c.Version = sarama.V2_8_0_0
	admin, err := sarama.NewClusterAdmin([]string{addr}, c)
	if err != nil {
		t.Fatalf("talk to Kafka: %v", err)
	}
	defer admin.Close()
	if err := do(admin); err != nil {
		t.Fatalf("change a topic of Kafka: %v", err)
	}
}

// TopicRecord is what stands in a topic.
type TopicRecord struct {
	Partition int32
	Key       string
	Value     []byte
	Headers   map[string]string
}

// ReadTopic gives all that stands in a topic right now, partition by partition,
// each from its oldest record on.
func ReadTopic(t testing.TB, addr, topic string) []TopicRecord {
	t.Helper()
	c := sarama.NewConfig()
	c.Version = sarama.V2_8_0_0
	c.Consumer.MaxWaitTime = 10 * time.Millisecond // closing waits that long for each partition
	client, err := sarama.NewClient([]string{addr}, c)
	if err != nil {
		t.Fatalf("talk to Kafka: %v", err)
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		t.Fatalf("read from Kafka: %v", err)
	}
	defer consumer.Close()
	partitions, err := client.Partitions(topic)
	if err != nil {
		t.Fatalf("list partitions of %s: %v", topic, err)
	}
	var all []TopicRecord
	for _, partition := range partitions {
		var end int64
		Eventually(t, 30*time.Second, func() (err error) { // a broker that just made the topic may not lead it yet
			if end, err = client.GetOffset(topic, partition, sarama.OffsetNewest); err != nil {
				return errors.Join(fmt.Errorf("find the end of %s: %w", topic, err), client.RefreshMetadata(topic))
			}
			return nil
		})
		if end > 0 {
			all = append(all, readPartition(t, consumer, topic, partition, end)...)
		}
	}
	return all
}

func readPartition(t testing.TB, consumer sarama.Consumer, topic string, partition int32, end int64) []TopicRecord {
	t.Helper()
	p, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		t.Fatalf("read partition %d of %s: %v", partition, topic, err)
	}
	defer p.Close()
	var all []TopicRecord
	for m := range p.Messages() {
		r := TopicRecord{Partition: partition, Key: string(m.Key), Value: m.Value, Headers: map[string]string{}}
		for _, h := range m.Headers {
			r.Headers[string(h.Key)] = string(h.Value)
		}
		all = append(all, r)
		if m.Offset >= end-1 {
			break
		}
	}
	return all
}

// Committed sums up the offsets that a consumer group has committed in a topic.
func Committed(t testing.TB, addr, group, topic string) int64 {
	t.Helper()
	var sum int64
	administer(t, addr, func(a sarama.ClusterAdmin) error {
		offsets, err := a.ListConsumerGroupOffsets(group, nil)
		if err != nil {
			return err
		}
		for _, block := range offsets.Blocks[topic] {
			sum += max(0, block.Offset)
		}
		return nil
	})
	return sum
}

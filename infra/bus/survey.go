package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/IBM/sarama"
)

// TopicState is how a topic stands. Of a topic that does not exist Partitions is 0.
type TopicState struct {
	Partitions int
	// Replicas and InSync are those of the partition that has fewest.
	Replicas, InSync int
	// MinInSync is without how many of them nothing can be published; 0: not known.
	MinInSync int
}

// Survey looks at a topic and makes nothing. An *UnreachableError when no broker answers.
func Survey(ctx context.Context, topic string, o KafkaOptions) (s TopicState, err error) {
	if err := errors.Join(o.Validate(), ctx.Err()); err != nil {
		return s, fmt.Errorf("look at the topic %s: %w", topic, err)
	}
	o = o.withDefaults()
	admin, err := sarama.NewClusterAdmin(o.Brokers, o.config())
	if err != nil {
		return s, &UnreachableError{Brokers: o.Brokers, err: err}
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	found, err := admin.DescribeTopics([]string{topic})
	if err != nil {
		return s, fmt.Errorf("look at the topic %s: %w", topic, err)
	}
	if len(found) != 1 || found[0].Err == sarama.ErrUnknownTopicOrPartition {
		return s, nil
	}
	if found[0].Err != sarama.ErrNoError {
		return s, fmt.Errorf("look at the topic %s: %w", topic, found[0].Err)
	}
	for i, p := range found[0].Partitions {
		if i == 0 || len(p.Replicas) < s.Replicas {
			s.Replicas = len(p.Replicas)
		}
		if i == 0 || len(p.Isr) < s.InSync {
			s.InSync = len(p.Isr)
		}
	}
	s.Partitions = len(found[0].Partitions)
	entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"min.insync.replicas"}})
	if err != nil {
		return s, fmt.Errorf("look at the settings of the topic %s: %w", topic, err)
	}
	for _, entry := range entries {
		if entry.Name == "min.insync.replicas" {
			s.MinInSync, _ = strconv.Atoi(entry.Value) // what is no number is not known
		}
	}
	return s, nil
}

package testenv_test

import (
	"testing"

	"github.com/IBM/sarama"

	"seckill/infra/testenv"
)

func TestAPrivateKafkaKeepsWhatItHasAcrossAKill(t *testing.T) {
	k := testenv.PrivateKafka(t)
	makeTopic(t, k.Addr, "kept")
	k.Kill()
	if _, err := sarama.NewClusterAdmin([]string{k.Addr}, quickConfig()); err == nil {
		t.Error("a killed broker answers")
	}
	k.Restart()
	if topics := listTopics(t, k.Addr); len(topics) != 1 || topics["kept"].NumPartitions != 3 {
		t.Errorf("after the restart it has the topics %v, want the one made before", topics)
	}
}

func TestOneKafkaPerProcessIsShared(t *testing.T) {
	a, b := testenv.Kafka(t), testenv.Kafka(t)
	if a != b {
		t.Errorf("got %s and %s, want one broker", a, b)
	}
	name := testenv.Namespace(t)
	makeTopic(t, a, name)
	if _, found := listTopics(t, a)[name]; !found {
		t.Error("the topic is not there")
	}
}

func quickConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.Metadata.Retry.Max = 0
	return c
}

func makeTopic(t *testing.T, addr, name string) {
	t.Helper()
	admin, err := sarama.NewClusterAdmin([]string{addr}, quickConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.CreateTopic(name, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false); err != nil {
		t.Fatal(err)
	}
}

func listTopics(t *testing.T, addr string) map[string]sarama.TopicDetail {
	t.Helper()
	admin, err := sarama.NewClusterAdmin([]string{addr}, quickConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	topics, err := admin.ListTopics()
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

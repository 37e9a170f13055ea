package bus

import (
	"context"
	"errors"
	"testing"
	"time"

	"seckill/eventstore"
	"seckill/infra/testenv"
)

func TestASurveyMakesNothingAndTellsHowATopicStands(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := KafkaOptions{Brokers: []string{testenv.FakeKafka(t)}}
	for range 2 { // the first look makes nothing
		if s, err := Survey(ctx, "surveyed", o); err != nil || s.Partitions != 0 {
			t.Fatalf("before it was made: got %+v %v, want no partitions", s, err)
		}
	}
	if _, err := EnsureTopic(ctx, "surveyed", o); err != nil {
		t.Fatal(err)
	}
	s, err := Survey(ctx, "surveyed", o)
	if err != nil || s.Partitions != eventstore.DefaultShards || s.Replicas < 1 || s.InSync < 1 {
		t.Errorf("got %+v %v, want %d partitions, each with a replica in step", s, err, eventstore.DefaultShards)
	}
	var away *UnreachableError
	if _, err := Survey(ctx, "surveyed", KafkaOptions{Brokers: []string{"127.0.0.1:1"}}); !errors.As(err, &away) {
		t.Errorf("got %v, want that no broker answers", err)
	}
}

package bus

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func (k kafkaBus) publicRelay(t *testing.T, d *desk) (r *Relay, stop func()) {
	t.Helper()
	r, err := NewPublicRelay(Source{Store: 1, Log: d, Place: d}, PublicTopic(k.namespace), EventSource(k.namespace, 1), k.options,
		RelayOptions{Page: 40, Backoff: time.Millisecond, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the relay ended with %v", err)
		}
	}
	t.Cleanup(stop)
	return r, stop
}

func TestOutsidersGetEveryRecordAsACloudEventInTheOrderOfItsStream(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		all := chain(200)
		d := &desk{records: all[:150]}
		r, stop := k.publicRelay(t, d)
		eventually(t, "the first part is out", func() bool { return r.Stats().At.Number == 150 })
		stop()
		d.set(func() { d.records = all })
		r, _ = k.publicRelay(t, d)
		eventually(t, "the rest is out", func() bool { return r.Stats().At.Number == 200 })
		if n := r.Stats().Events; n != 50 {
			t.Errorf("after a restart it sent %d events, want the 50 new ones", n)
		}
		versions, partitions := map[string]int{}, map[string]int32{}
		records := testenv.ReadTopic(t, k.options.Brokers[0], PublicTopic(k.namespace))
		for _, record := range records {
			var e struct {
				Subject       string `json:"subject"`
				StreamVersion int    `json:"streamversion,string"`
			}
			if err := json.Unmarshal(record.Value, &e); err != nil {
				t.Fatal(err)
			}
			if versions[e.Subject]++; e.StreamVersion != versions[e.Subject] {
				t.Fatalf("version %d of %s came as number %d", e.StreamVersion, e.Subject, versions[e.Subject])
			}
			if was, known := partitions[e.Subject]; known && was != record.Partition || record.Key != e.Subject {
				t.Fatalf("an event of %s stands in partition %d with key %q, earlier ones in %d", e.Subject, record.Partition, record.Key, was)
			}
			partitions[e.Subject] = record.Partition
			if got := record.Headers["content-type"]; got != CloudEventType {
				t.Fatalf("content-type is %q", got)
			}
		}
		if len(records) != 200 {
			t.Errorf("%d records stand in the topic, want 200", len(records))
		}
	})
}

func TestAPublicRelayGoesOnWhenTheBrokerIsBack(t *testing.T) {
	long(t)
	server := testenv.PrivateKafka(t)
	k := kafkaBus{namespace: testenv.Namespace(t), options: KafkaOptions{Brokers: []string{server.Addr}, Log: quiet()}}
	all := chain(200)
	d := &desk{records: all[:100]}
	r, _ := k.publicRelay(t, d)
	eventually(t, "the first part is out", func() bool { return r.Stats().At.Number == 100 })
	server.Kill()
	d.set(func() { d.records = all })
	r.Notify()
	eventually(t, "the relay has failed", func() bool { return r.Stats().Failures > 0 })
	if at := r.Stats().At.Number; at != 100 {
		t.Errorf("the place is %d while the broker is away, want 100", at)
	}
	server.Restart()
	eventually(t, "the rest is out", func() bool { return r.Stats().At.Number == 200 })
	seen := map[string]bool{}
	for _, record := range testenv.ReadTopic(t, server.Addr, PublicTopic(k.namespace)) {
		var e struct {
			Sequence string `json:"sequence"`
		}
		if err := json.Unmarshal(record.Value, &e); err != nil {
			t.Fatal(err)
		}
		seen[e.Sequence] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d of 200 events stand in the topic", len(seen))
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// A sale whose messages travel over Kafka, its parts in processes of their own,
// of which projectors are killed.
func TestASaleOverKafkaWhileProjectorsAreKilled(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	broker := testenv.Kafka(t)
	env := append(r.Settings(t), "SECKILL_KAFKA_BROKERS="+broker, "SECKILL_KAFKA_PUBLIC_TOPIC=on")
	front := Serve(t, ChildOptions{Env: env, Args: []string{"--roles", "api"}})
	back := NewChild(t, ChildOptions{Env: env, Args: []string{"--roles", "recorder,relay,scheduler"}})
	back.Start()
	var projectors []*Child
	for range 2 {
		p := NewChild(t, ChildOptions{Env: env, Args: []string{"--roles", "projector"}})
		p.Start()
		projectors = append(projectors, p)
	}
	sale := NewClient(front.URL).CreateSale(t, 1000)
	promised, wait := clicks(t, front.URL, sale, 200)
	for range 3 {
		time.Sleep(300 * time.Millisecond) // somewhere in the crowd
		projectors[0].Kill()
		projectors[0].Restart()
	}
	wait()
	if len(promised) != 200 {
		t.Fatalf("%d of 200 buyers have an order", len(promised))
	}
	node := r.Node(t, NodeOptions{APIOnly: true})
	node.AwaitDecided(t, promised)
	StandingChecks(t, node, sale, promised)

	head, err := node.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	testenv.Eventually(t, 30*time.Second, func() error {
		for _, record := range testenv.ReadTopic(t, broker, r.Namespace+".public") {
			var e struct {
				ID     string `json:"id"`
				Source string `json:"source"`
			}
			if err := json.Unmarshal(record.Value, &e); err != nil || e.Source != "/seckill/"+r.Namespace+"/1" {
				t.Fatalf("an event for others is %s, error %v", record.Value, err)
			}
			seen[e.ID] = true
		}
		if int64(len(seen)) < head.Number {
			return fmt.Errorf("%d of %d events are in the public topic", len(seen), head.Number)
		}
		return nil
	})
}

// B38 as an operator sees it: while the broker is down the backlog of the relay
// grows in the metrics, and buyers notice nothing.
func TestB38ABacklogGrowsInTheMetricsWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	broker := testenv.PrivateKafka(t)
	child := ServeRig(t, r, "SECKILL_KAFKA_BROKERS="+broker.Addr)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 1000)
	backlog := func() int64 {
		return metric(t, child.URL, "seckill_log_position") - metric(t, child.URL, "seckill_relay_position")
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		if n := backlog(); n != 0 || metric(t, child.URL, "seckill_log_position") == 0 {
			return fmt.Errorf("backlog %d", n)
		}
		return nil
	})
	broker.Kill()
	promised, wait := clicks(t, child.URL, sale, 50)
	wait()
	testenv.Eventually(t, 30*time.Second, func() error {
		if n := backlog(); n < 100 {
			return fmt.Errorf("backlog %d, want the 100 events of 50 orders", n)
		}
		return nil
	})
	for order, buyer := range promised {
		if status := await(t, client, buyer, order).Text("status"); status != "placed" {
			t.Fatalf("order %s is %s while the broker is down, want it placed", order, status)
		}
	}
	broker.Restart()
	testenv.Eventually(t, 60*time.Second, func() error {
		if n := backlog(); n != 0 {
			return fmt.Errorf("backlog %d", n)
		}
		return nil
	})
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: true}), sale, promised)
}

// metric reads a number without labels from /metrics.
func metric(t *testing.T, base, name string) int64 {
	t.Helper()
	answer, err := http.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("there is no metric %s", name)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(value)
}

func TestBrokersThatDoNotAnswerAreToldInOneSentence(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := append(r.Settings(t), "SECKILL_HTTP_ADDR=127.0.0.1:0", "SECKILL_KAFKA_BROKERS=127.0.0.1:1")
	wantOneSentence(t, Run(t, env, "serve"), 1, "no Kafka broker answers at 127.0.0.1:1")
	wantOneSentence(t, Run(t, append(r.Settings(t), "SECKILL_KAFKA_PUBLIC_TOPIC=on"), "serve"), 2, "SECKILL_KAFKA_BROKERS is not")
	if done := Run(t, env, "checkpoints"); done.Code != 0 {
		t.Errorf("a command that needs no broker ended with %d: %s", done.Code, strings.TrimSpace(done.Stderr))
	}
}

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// Roles apart over Kafka: one database has workers of its own, and no projection is
// handed what another store's relay has published.
func TestSalesOnTwoDatabasesOverKafkaWithWorkersOfTheirOwn(t *testing.T) {
	t.Parallel()
	broker := testenv.Kafka(t)
	d := newTwoDatabases(t)
	ns := "several" + strings.ToLower(strings.ReplaceAll(fmt.Sprint(time.Now().UnixNano()), "-", ""))
	for i, kv := range d.env { // a namespace of its own on a broker that others use
		if strings.HasPrefix(kv, "SECKILL_NAMESPACE=") {
			d.env[i] = "SECKILL_NAMESPACE=" + ns
		}
	}
	d.env = append(d.env, "SECKILL_KAFKA_BROKERS="+broker)
	if got := Run(t, d.env, "migrate", "up"); got.Code != 0 {
		t.Fatal(got.Stderr)
	}
	front := Serve(t, ChildOptions{Env: d.env, Args: []string{"--roles", "api"}})
	for _, database := range []string{"main", "b"} {
		Serve(t, ChildOptions{Env: d.env, Args: []string{"--roles", "recorder,relay,projector,scheduler", "--database", database}})
	}
	client := NewClient(front.URL)
	for _, database := range []string{"main", "b"} {
		sale, _ := saleOn(t, client, database, "redis-async", 20)
		for i := range 20 {
			buyer := fmt.Sprint(database, i)
			awaitPlaced(t, client, buyer, buyUntilAnswered(t, client, sale, buyer).Text("order_id"))
		}
	}
	testenv.Eventually(t, 60*time.Second, func() error {
		if got := Run(t, d.env, "reconcile"); got.Code != 0 {
			return fmt.Errorf("reconcile: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
		return nil
	})
	stores := func(topic string) map[string]bool {
		seen := map[string]bool{}
		for _, r := range testenv.ReadTopic(t, broker, topic) {
			for _, store := range []string{`"store":1`, `"store":2`} {
				if strings.Contains(string(r.Value), store) {
					seen[store] = true
				}
			}
		}
		return seen
	}
	if main, b := stores(ns+".events"), stores(ns+".s2.events"); !main[`"store":1`] || main[`"store":2`] || !b[`"store":2`] || b[`"store":1`] {
		t.Errorf("main's topic has %v and b's %v, want each its own store alone", main, b)
	}
}

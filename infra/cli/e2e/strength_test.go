package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// configure changes settings of a Redis.
func configure(t *testing.T, r *testenv.RedisServer, settings ...string) {
	t.Helper()
	opts, err := redis.ParseURL(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	defer func() { _ = c.Close() }() // a test's own connection
	for i := 0; i+1 < len(settings); i += 2 {
		if err := c.ConfigSet(context.Background(), settings[i], settings[i+1]).Err(); err != nil {
			t.Fatalf("set %s: %v", settings[i], err)
		}
	}
}

// TestASaleThatAsksForMoreThanItsServerGivesDoesNotOpen until the server does: over
// HTTP, with the sentence that says what to change.
func TestASaleThatAsksForMoreThanItsServerGivesDoesNotOpen(t *testing.T) {
	t.Parallel()
	rig := NewRig(t) // appendfsync everysec
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	body := saleBody(5)
	body["acknowledgement"] = "fsync"
	created, err := client.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || created.Status != http.StatusCreated || created.Text("acknowledgement") != "fsync" {
		t.Fatalf("create the sale: %d %s %v", created.Status, created.Raw, err)
	}
	sale := created.Text("id")
	if !strings.Contains(fmt.Sprint(created.Body["pauses"]), "acknowledgement") {
		t.Errorf("pauses %v, want acknowledgement among them", created.Body["pauses"])
	}
	path := "/api/v1/admin/sales/" + sale + "/preheat"
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		report, err := client.Call(method, path, "operator", "admin", nil)
		if err != nil || report.Body["verified"] != false || !strings.Contains(report.Raw, "set appendfsync always") {
			t.Errorf("%s preheat: %d %s %v; want a difference that says what to set", method, report.Status, report.Raw, err)
		}
	}
	if refused := purchase(t, client, sale, "early", oneItem, http.StatusServiceUnavailable); refused.Text("code") != "paused" {
		t.Errorf("code %q, want paused", refused.Text("code"))
	}
	configure(t, rig.Redis, "appendfsync", "always")
	accepted := map[string]string{}
	testenv.Eventually(t, 60*time.Second, func() error {
		answer, err := client.Buy(sale, "then", "k")
		if err == nil && answer.Text("order_id") == "" {
			err = errStatus(answer)
		}
		if err == nil {
			accepted[answer.Text("order_id")] = "then"
		}
		return err
	})
	if report, err := client.Call(http.MethodGet, path, "operator", "admin", nil); err != nil || report.Body["verified"] != true {
		t.Errorf("preheat afterwards: %s %v; want it verified", report.Raw, err)
	}
	StandingChecks(t, rig.Node(t, NodeOptions{APIOnly: true}), sale, accepted)
}

// strongSale gives the terms of a sale that asks for an acknowledgement.
func strongSale(stock int64, asked domain.Acknowledgement) domain.SaleTerms {
	terms := Terms(stock)
	terms.Acknowledgement = asked
	return terms
}

func (n *Node) strengthWatch() *commands.StrengthWatch {
	return &commands.StrengthWatch{Env: n.Env, Sales: n.Sales, Gate: n.Gate, Operator: n.Operator, Alarm: n.Alarms.Raise}
}

func TestAServerThatGivesLessThanBeforeKeepsASaleShutAndCallsForOneThatSells(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rig := NewRig(t)
	configure(t, rig.Redis, "appendfsync", "always")
	n := rig.Node(t, NodeOptions{})
	selling := n.Schedule(t, strongSale(5, domain.AcknowledgeFsync))
	later := strongSale(5, domain.AcknowledgeFsync)
	later.OpensAt = time.Now().Add(30 * time.Minute)
	waiting := n.Schedule(t, later)
	watch := n.strengthWatch()
	look := func(what string, alarms int, wantPaused bool) {
		t.Helper()
		if err := watch.Look(ctx); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for sale, want := range map[string]bool{selling: false, waiting: wantPaused} {
			folded, err := n.Sales.Fold(ctx, sale)
			if err != nil || slices.Contains(folded.Pauses, domain.PausedByAcknowledgement) != want {
				t.Errorf("%s: sale %s has pauses %v, %v; want acknowledgement among them: %t", what, sale, folded.Pauses, err, want)
			}
		}
		if got := n.Alarms.Count(commands.AlarmAcknowledgement); got != alarms {
			t.Errorf("%s: %d alarms, want %d", what, got, alarms)
		}
	}
	look("always", 0, false)
	configure(t, rig.Redis, "appendfsync", "everysec")
	look("everysec", 2, true)
	look("everysec still", 2, true)
	if res, err := n.Buy(selling, "b"); err != nil || res.Outcome != domain.Reserved {
		t.Errorf("who buys from the sale that is open: %v, %v; want it to go on", res.Outcome, err)
	}
	configure(t, rig.Redis, "appendfsync", "always")
	look("always again", 2, false)
	configure(t, rig.Redis, "appendonly", "no")
	look("no file", 4, true)
}

func TestARevisionThatAsksForMoreThanTheServerGivesIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rig := NewRig(t)
	n := rig.Node(t, NodeOptions{})
	terms := Terms(5)
	terms.OpensAt = time.Now().Add(30 * time.Minute)
	sale := n.Schedule(t, terms)
	revise := func(asked domain.Acknowledgement) error {
		folded, err := n.Sales.Fold(ctx, sale)
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.Operator.Revise(ctx, commands.Revision{Sale: sale, Version: folded.Version, Change: func(t domain.SaleTerms) (domain.SaleTerms, []domain.FieldError) {
			t.Acknowledgement = asked
			return t, nil
		}}, commands.Actor{By: "test"})
		return err
	}
	var problem *domain.Problem
	if err := revise(domain.AcknowledgeReplicated); !errors.As(err, &problem) || len(problem.Fields) != 1 || !strings.Contains(problem.Fields[0].Reason, "replicaof") {
		t.Errorf("ask for a replica where there is none: %v, %+v; want it refused with what to do", err, problem)
	}
	if err := revise(domain.AcknowledgeAOF); err != nil {
		t.Errorf("ask for the file that is there: %v", err)
	}
}

// follow starts a replica of a rig's Redis, and waits until it follows. The first one
// changes the name of its master: lanes that were open before are recovered.
func (r *Rig) follow(t *testing.T) *testenv.RedisServer {
	t.Helper()
	u, err := url.Parse(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	replica := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"replicaof " + host + " " + port}})
	opts, err := redis.ParseURL(replica.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() }) // a test's own connection
	testenv.Eventually(t, 30*time.Second, func() error {
		info, err := c.Info(context.Background(), "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = errors.New("the replica does not follow yet")
		}
		return err
	})
	master := redis.NewClient(r.redisOptions(t))
	t.Cleanup(func() { _ = master.Close() })             // a test's own connection
	testenv.Eventually(t, 30*time.Second, func() error { // it counts those that have acknowledged something
		info, err := master.Info(context.Background(), "replication").Result()
		if err == nil && !strings.Contains(info, "state=online") {
			err = errors.New("the master does not count the replica yet")
		}
		return err
	})
	return replica
}

func (r *Rig) redisOptions(t *testing.T) *redis.Options {
	t.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

// TestAReplicatedPurchaseWithoutItsReplicaWaitsForTheLog: it was accepted, so nobody
// hears that it failed; the log is stronger than a replica, and without a log in time
// the order is queued.
func TestAReplicatedPurchaseWithoutItsReplicaWaitsForTheLog(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	replica := rig.follow(t)
	full, api := rig.Node(t, NodeOptions{}), rig.Node(t, NodeOptions{APIOnly: true})
	sale := full.Schedule(t, strongSale(10, domain.AcknowledgeReplicated))
	accepted := map[string]string{}
	buy := func(buyer string, want domain.OrderStatus) {
		t.Helper()
		res, err := api.Buy(sale, buyer)
		if err != nil || res.Outcome != domain.Reserved || res.Order.Status != want {
			t.Fatalf("%s: %v, %s, %v; want it accepted and %s", buyer, res.Outcome, res.Order.Status, err, want)
		}
		accepted[res.Order.ID] = buyer
	}
	buy("followed", domain.OrderStatusQueued)
	replica.Freeze()
	buy("frozen", domain.OrderStatusPlaced)
	full.Stop()
	buy("nobody-records", domain.OrderStatusQueued)
	replica.Thaw()
	StandingChecks(t, rig.Node(t, NodeOptions{}), sale, accepted)
}

// TestReplicatedPurchasesOutliveMasterAndNode: nobody has recorded them, and the node
// that answered is gone with the master; the replica that is promoted has them all.
func TestReplicatedPurchasesOutliveMasterAndNode(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	configure(t, rig.Redis, "appendonly", "no")
	replica := rig.follow(t)
	full := rig.Node(t, NodeOptions{})
	sale := full.Schedule(t, strongSale(100, domain.AcknowledgeReplicated))
	full.Stop()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "b", 40, c)
	c.want(t, domain.Reserved, 40)
	rig.Redis.Kill()
	api.Stop()
	opts, err := redis.ParseURL(replica.URL)
	if err != nil {
		t.Fatal(err)
	}
	promote := redis.NewClient(opts)
	defer func() { _ = promote.Close() }() // a test's own connection
	if err := promote.ReplicaOf(context.Background(), "NO", "ONE").Err(); err != nil {
		t.Fatalf("promote the replica: %v", err)
	}
	rig.Redis = replica
	after := rig.Node(t, NodeOptions{})
	StandingChecks(t, after, sale, c.accepted)
	if got := readFold(t, after.Store).placed(sale); got != 40 {
		t.Errorf("%d orders placed, want every one of the 40 that were acknowledged", got)
	}
}

// TestPurchasesThatMemoryAloneHadEndWithAReason: server and node are gone, nobody had
// recorded them; each buyer who asks is told that the order is lost.
func TestPurchasesThatMemoryAloneHadEndWithAReason(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	configure(t, rig.Redis, "appendonly", "no")
	full := rig.Node(t, NodeOptions{})
	sale := full.Schedule(t, Terms(100))
	full.Stop()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "b", 10, c)
	c.want(t, domain.Reserved, 10)
	rig.Redis.Wipe()
	api.Stop()
	after := rig.Node(t, NodeOptions{})
	for order, buyer := range c.accepted {
		testenv.Eventually(t, 60*time.Second, func() error {
			told, err := after.Finder.Find(context.Background(), buyer, order)
			if err == nil && (told.Status != domain.OrderStatusRejected || told.Reason != domain.RejectedLost) {
				err = fmt.Errorf("order %s is %s %s", order, told.Status, told.Reason)
			}
			return err
		})
	}
}

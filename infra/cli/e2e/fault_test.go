package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// TestB16AProcessThatDiesBetweenScriptAndAppend: the winner is recorded by who
// comes after it. (Real processes are killed in crash_test.go.)
func TestB16AProcessThatDiesBetweenScriptAndAppend(t *testing.T) {
	rig, full, sale := selling(t, 100)
	full.Stop()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "winner", 100, c)
	api.Stop() // what it kept is gone with it
	if got := len(readFold(t, rig.reader(t)).orders); got != 0 {
		t.Fatalf("%d orders recorded before the recorder lives, want 0", got)
	}
	full = rig.Node(t, NodeOptions{})
	StandingChecks(t, full, sale, c.accepted)
	if got := readFold(t, full.Store).placed(sale); got != 100 {
		t.Errorf("%d orders placed, want 100", got)
	}
}

// reader opens the log for reading alone.
func (r *Rig) reader(t *testing.T) eventstore.Reader {
	return r.Node(t, NodeOptions{APIOnly: true}).Store
}

func TestB17TheReplyOfACommitIsLost(t *testing.T) {
	rig := NewRig(t)
	proxy := testenv.Proxy(t, rig.URL)
	through := *rig
	through.URL = proxy.URL()
	node := through.Node(t, NodeOptions{})
	sale := node.Schedule(t, Terms(20))
	c := newTally()
	for i := range 5 {
		proxy.DropReplyTo("COMMIT")
		buyer := fmt.Sprintf("b-%d", i)
		res, err := node.Buy(sale, buyer)
		c.add(buyer, res, err)
	}
	c.want(t, domain.Reserved, 5)
	node.AwaitDecided(t, c.accepted)
	if proxy.Dropped() == 0 {
		t.Fatal("no reply was lost: the test tested nothing")
	}
	proxy.Heal()
	StandingChecks(t, node, sale, c.accepted)
}

func TestB17TheReplyOfTheGateIsLost(t *testing.T) {
	rig, full, sale := selling(t, 20)
	proxy := testenv.Proxy(t, rig.Redis.URL)
	api := rig.Node(t, NodeOptions{APIOnly: true, RedisURL: proxy.URL()})
	c := newTally()
	for i := range 4 {
		proxy.DropReplyTo("evalsha")
		buyer := fmt.Sprintf("b-%d", i)
		res, err := api.BuyLines(sale, buyer, "key", domain.Line{SKU: "item", Quantity: 1})
		c.add(buyer, res, err)
		again, err := api.BuyLines(sale, buyer, "key", domain.Line{SKU: "item", Quantity: 1})
		if err != nil || again.Order.ID != res.Order.ID || !again.Repeat {
			t.Errorf("the same key again: order %s, repeat %t, %v; want order %s as a repeat", again.Order.ID, again.Repeat, err, res.Order.ID)
		}
	}
	c.want(t, domain.Reserved, 4)
	if proxy.Dropped() == 0 {
		t.Fatal("no reply was lost: the test tested nothing")
	}
	StandingChecks(t, full, sale, c.accepted)
	if got := readFold(t, full.Store).placed(sale); got != 4 {
		t.Errorf("%d orders placed, want 4", got)
	}
}

// TestB76RedisStaysAwayAfterTheScript: nobody can say what became of the
// purchase, so the answer is a queued order, and it is found out later.
func TestB76RedisStaysAwayAfterTheScript(t *testing.T) {
	rig, full, sale := selling(t, 20)
	proxy := testenv.Proxy(t, rig.Redis.URL)
	api := rig.Node(t, NodeOptions{APIOnly: true, RedisURL: proxy.URL()})
	if _, err := api.Buy(sale, "warm"); err != nil { // connections and scripts are there
		t.Fatal(err)
	}
	proxy.BlackHole()
	c := newTally()
	res, err := api.Buy(sale, "u")
	c.add("u", res, err)
	c.want(t, domain.Reserved, 1)
	if res.Order.Status != domain.OrderStatusQueued {
		t.Errorf("the order is %s, want queued", res.Order.Status)
	}
	proxy.Heal()
	StandingChecks(t, full, sale, c.accepted)
	if o := readFold(t, full.Store).orders[res.Order.ID]; o.Status != domain.OrderStatusPlaced {
		t.Errorf("the order ended %s (%s), want placed: it was offered again", o.Status, o.Reason)
	}
}

func TestB76AnAppendThatTakesLongIsNoFailure(t *testing.T) {
	rig := NewRig(t)
	var slow atomic.Bool
	release := make(chan struct{})
	node := rig.Node(t, NodeOptions{AppendStep: func(string) {
		if slow.Load() {
			<-release
		}
	}})
	sale := node.Schedule(t, Terms(5))
	slow.Store(true)
	c := newTally()
	res, err := node.Buy(sale, "u")
	c.add("u", res, err)
	c.want(t, domain.Reserved, 1)
	got, err := node.Finder.Find(context.Background(), "u", res.Order.ID)
	if err != nil || got.Status != domain.OrderStatusQueued || len(got.Lines) != 1 || got.Amount.Minor != 1990 {
		t.Errorf("while the append is slow: %+v, %v; want queued with its line and amount", got.Order, err)
	}
	slow.Store(false)
	close(release)
	StandingChecks(t, node, sale, c.accepted)
	if o := readFold(t, node.Store).orders[res.Order.ID]; o.Status != domain.OrderStatusPlaced {
		t.Errorf("the order ended %s, want placed", o.Status)
	}
}

func TestB48OneOfTenIsSetAsideAndNineAreKept(t *testing.T) {
	rig, full, sale := selling(t, 10)
	full.Stop()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "b", 9, c)
	// A purchase that the gate holds and the log cannot store: a NUL in the buyer.
	res, err := api.Buy(sale, "poisoned")
	if err != nil || res.Outcome != domain.Reserved {
		t.Fatalf("the bad purchase: %v, %v; want reserved", res.Outcome, err)
	}
	api.Stop()
	rig.rewriteJournal(t, sale, func(body string) string {
		return strings.Replace(body, `"buyer":"poisoned"`, `"buyer":"poi\u0000soned"`, 1)
	})
	full = rig.Node(t, NodeOptions{})
	full.AwaitDecided(t, c.accepted)
	testenv.Eventually(t, 60*time.Second, func() error {
		if n := full.Alarms.Count(commands.AlarmPoison); n != 1 {
			return fmt.Errorf("%d poison alarms, want 1", n)
		}
		return nil
	})
	f := readFold(t, full.Store)
	o := f.orders[res.Order.ID]
	if o.Status != domain.OrderStatusRejected || o.Reason != domain.RejectedPoison {
		t.Errorf("the bad purchase ended %s (%s), want rejected as poison", o.Status, o.Reason)
	}
	if got := f.placed(sale); got != 9 {
		t.Errorf("%d placed, want 9", got)
	}
	// Its unit came back, once.
	late, err := full.Buy(sale, "late")
	c.add("late", late, err)
	if err != nil || late.Outcome != domain.Reserved {
		t.Errorf("the unit that came back: %v, %v; want reserved", late.Outcome, err)
	}
	StandingChecks(t, full, sale, c.accepted)
}

func TestAnEntryOfTheFutureStopsTheLaneAndLosesNothing(t *testing.T) {
	rig, full, sale := selling(t, 10)
	full.Stop()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "b", 1, c)
	rewrite := func(from, to string) {
		rig.rewriteJournal(t, sale, func(body string) string { return strings.Replace(body, from, to, 1) })
	}
	rewrite(`"form":1`, `"form":9`)
	full = rig.Node(t, NodeOptions{})
	testenv.Eventually(t, 30*time.Second, func() error {
		if full.Alarms.Count(commands.AlarmEntryForm) == 0 {
			return errors.New("no alarm yet")
		}
		return nil
	})
	if n := len(readFold(t, full.Store).orders); n != 0 {
		t.Errorf("%d orders decided from an entry that nobody can read, want 0", n)
	}
	rewrite(`"form":9`, `"form":1`)
	StandingChecks(t, full, sale, c.accepted)
}

func TestAnOrderThatWasRecordedLateMayStillBePaid(t *testing.T) {
	rig, full, sale := selling(t, 5)
	full.Stop()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "b", 1, c)
	api.Stop()
	hourAgo := fmt.Sprintf(`"at":%d`, time.Now().Add(-time.Hour).UnixMicro())
	rig.rewriteJournal(t, sale, func(body string) string { return regexp.MustCompile(`"at":\d+`).ReplaceAllString(body, hourAgo) })
	full = rig.Node(t, NodeOptions{})
	full.AwaitDecided(t, c.accepted)
	for order, buyer := range c.accepted {
		got, err := full.Finder.Find(context.Background(), buyer, order)
		if err != nil || got.Status != domain.OrderStatusPlaced || got.PayBy.Before(got.PlacedAt.Add(14*time.Minute)) {
			t.Errorf("accepted at %s, placed at %s: %s, to be paid by %s, %v; want 15 minutes from placed on", got.AcceptedAt, got.PlacedAt, got.Status, got.PayBy, err)
		}
	}
	StandingChecks(t, full, sale, c.accepted)
}

// rewriteJournal changes the entries of a sale's lane, keeping ids, and digests
// that follow each other.
func (r *Rig) rewriteJournal(t *testing.T, sale string, change func(string) string) {
	t.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }() // a test's own connection
	ctx := context.Background()
	number := domain.Place{Store: 1, Sale: sale}.Lane()
	lane := fmt.Sprintf("%s:{s1l%d}:", r.Namespace, number)
	entries, err := client.XRange(ctx, lane+"journal", "-", "+").Result()
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d entries, %v; want some", len(entries), err)
	}
	first, err := domain.ParseEntryID(entries[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	digest := domain.FirstDigest(number, first.Epoch)
	pipe := client.TxPipeline()
	pipe.Del(ctx, lane+"journal")
	for _, e := range entries {
		body := change(e.Values["b"].(string))
		digest = domain.NextDigest(digest, body)
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: lane + "journal", ID: e.ID, Values: []string{"b", body, "d", digest}})
	}
	pipe.HSet(ctx, lane+"lane", "digest", digest)
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatalf("rewrite the journal: %v", err)
	}
}

// TestPurchasesGoOnWhilePostgresHangs: the gate decides, the journal waits.
func TestPurchasesGoOnWhilePostgresHangs(t *testing.T) {
	rig, full, sale := selling(t, 20)
	proxy := testenv.Proxy(t, rig.URL)
	through := *rig
	through.URL = proxy.URL()
	api := through.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "before", 3, c)
	full.AwaitDecided(t, c.accepted)
	full.Stop() // nobody records
	proxy.BlackHole()
	sell(t, api, sale, "hanging", 5, c)
	again, err := api.Buy(sale, "hanging-1")
	if err != nil || !again.Repeat || again.Order.Status != domain.OrderStatusQueued {
		t.Errorf("a repeat meanwhile: %+v, %v; want the own order, queued", again, err)
	}
	proxy.Cut() // now it refuses instead of hanging
	sell(t, api, sale, "refused", 5, c)
	proxy.Heal()
	full = rig.Node(t, NodeOptions{})
	StandingChecks(t, full, sale, c.accepted)
	if got := readFold(t, full.Store).placed(sale); got != 13 {
		t.Errorf("%d orders placed, want all 13", got)
	}
}

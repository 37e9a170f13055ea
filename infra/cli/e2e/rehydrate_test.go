package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// plant changes what Redis holds behind everybody's back.
func (r *Rig) plant(t testing.TB, change func(context.Context, *redis.Client, []string) error, pattern string) {
	t.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }() // a test's own connection
	keys, err := client.Keys(context.Background(), pattern).Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("no key matches %s (%v)", pattern, err)
	}
	if err := change(context.Background(), client, keys); err != nil {
		t.Fatalf("plant in %v: %v", keys, err)
	}
}

// inventUnits lets the gate believe that it has more units of a sale.
func (r *Rig) inventUnits(t testing.TB, sale string, n int64) {
	t.Helper()
	r.plant(t, func(ctx context.Context, c *redis.Client, keys []string) error {
		return c.HIncrBy(ctx, keys[0], "available", n).Err()
	}, "*:stock:"+sale+":*")
}

func TestARehydratedSaleHasWhatTheLogSaysUnderANewEpoch(t *testing.T) {
	rig, node, sale := selling(t, 100)
	other := node.Schedule(t, Terms(7))
	c := newTally()
	sell(t, node, sale, "first", 30, c)
	node.AwaitDecided(t, c.accepted)
	rig.inventUnits(t, sale, 5)
	before := node.lane(t, sale)
	elsewhere := rig.Node(t, NodeOptions{APIOnly: true}) // while others serve
	var told []commands.RehydrateProgress
	done, err := elsewhere.Keeper.Rehydrate(context.Background(), sale, func(p commands.RehydrateProgress) { told = append(told, p) })
	if err != nil {
		t.Fatalf("rehydrate: %v", err)
	}
	if len(done.Lanes) != 1 || done.Lanes[0].Epoch <= before.Epoch || done.Events != 31 || !slices.Equal(done.Lanes[0].Sales, []string{sale}) {
		t.Errorf("got %+v, want one lane under an epoch above %d with 31 events", done, before.Epoch)
	}
	if len(told) < 2 || !told[len(told)-1].Finished || told[len(told)-1].Events != 31 {
		t.Errorf("progress: got %+v, want events while it goes on and then its end", told)
	}
	if got := node.available(t, sale); got != 70 {
		t.Errorf("%d left, want 70: five were invented", got)
	}
	rest := crowd(sale, []*Node{node, elsewhere}, 100)
	rest.want(t, domain.Reserved, 70)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, node, sale, c.accepted)
	if got := node.available(t, other); got != 7 {
		t.Errorf("the other sale has %d left, want its 7", got)
	}
}

// TestSeveralRehydrationsAtOnceUnderACrowdLoseNothing: they wait for each other,
// and buyers meet not_ready meanwhile, or are served.
func TestSeveralRehydrationsAtOnceUnderACrowdLoseNothing(t *testing.T) {
	rig, node, sale := selling(t, 200)
	nodes := []*Node{node, rig.Node(t, NodeOptions{APIOnly: true}), rig.Node(t, NodeOptions{APIOnly: true})}
	before := node.lane(t, sale)
	c := newTally()
	var all sync.WaitGroup
	var mu sync.Mutex
	epochs := map[int64]bool{}
	for _, n := range nodes {
		all.Go(func() {
			for range 3 {
				done, err := n.Keeper.Rehydrate(context.Background(), "", nil)
				if err != nil || len(done.Lanes) != 1 {
					t.Errorf("rehydrate: %+v, %v", done, err)
					return
				}
				mu.Lock()
				epochs[done.Lanes[0].Epoch] = true
				mu.Unlock()
			}
		})
	}
	for i := range 4 {
		all.Go(func() {
			for j := range 75 {
				buyer := fmt.Sprintf("b-%d-%d", i, j)
				res, err := nodes[j%3].Buy(sale, buyer)
				if err == nil && res.Outcome != domain.Reserved && res.Outcome != domain.NotReady && res.Outcome != domain.SoldOut {
					t.Errorf("buyer %s: got %v", buyer, res.Outcome)
				}
				c.add(buyer, res, err)
			}
		})
	}
	all.Wait()
	if len(epochs) != 9 || node.lane(t, sale).Epoch < before.Epoch+9 {
		t.Errorf("got epochs %v after %d, want nine of their own", epochs, before.Epoch)
	}
	node.AwaitOpen(t, sale)
	rest := crowd(sale, nodes, 300)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, node, sale, c.accepted)
	if got := readFold(t, node.Store).placed(sale); got != 200 {
		t.Errorf("%d orders placed, want every unit sold once", got)
	}
}

// TestWhileASaleIsRehydratedItShowsPausedAndSellsNothing: recovery is a reason of
// its own beside an operator's pause and drift, and taking one away leaves the
// others.
func TestWhileASaleIsRehydratedItShowsPausedAndSellsNothing(t *testing.T) {
	rig, node, sale := selling(t, 10)
	ctx, actor := context.Background(), commands.Actor{By: "test"}
	for _, reason := range []domain.PauseReason{domain.PausedByOperator, domain.PausedByDrift} {
		if _, err := node.Operator.Pause(ctx, sale, reason, actor); err != nil {
			t.Fatalf("pause: %v", err)
		}
	}
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := rig.Node(t, NodeOptions{APIOnly: true, Step: func(name string) {
		if name == "recovery.after-drain" {
			once.Do(func() { close(reached); <-goOn })
		}
	}})
	var rehydrating sync.WaitGroup
	rehydrating.Go(func() {
		if _, err := slow.Keeper.Rehydrate(ctx, sale, nil); err != nil {
			t.Errorf("rehydrate: %v", err)
		}
	})
	<-reached
	shower := &commands.Shower{Env: node.Env, Sales: node.Sales, Gate: node.Gate, Guards: node.Store}
	wantPauses := func(when string, want ...domain.PauseReason) {
		t.Helper()
		testenv.Eventually(t, 10*time.Second, func() error {
			shown, err := shower.Show(ctx, sale)
			if err == nil && (shown.State != domain.SaleStatePaused || !slices.Equal(shown.Pauses(), want)) {
				err = fmt.Errorf("%s: %v for %v, want paused for %v", when, shown.State, shown.Pauses(), want)
			}
			return err
		})
	}
	wantPauses("while it recovers", domain.PausedByOperator, domain.PausedByDrift, domain.PausedByRecovery)
	if res, err := node.Buy(sale, "meanwhile"); err != nil || res.Outcome != domain.NotReady {
		t.Errorf("meanwhile: got %v, %v; want not_ready", res.Outcome, err)
	}
	if _, err := node.Operator.Resume(ctx, sale, domain.PausedByOperator, actor); err != nil {
		t.Fatalf("resume: %v", err)
	}
	wantPauses("without the operator's", domain.PausedByDrift, domain.PausedByRecovery)
	close(goOn)
	rehydrating.Wait()
	wantPauses("after the recovery", domain.PausedByDrift)
	if res, err := node.Buy(sale, "later"); err != nil || res.Outcome != domain.Paused {
		t.Errorf("with drift: got %v, %v; want paused", res.Outcome, err)
	}
	if _, err := node.Operator.Resume(ctx, sale, domain.PausedByDrift, actor); err != nil {
		t.Fatalf("resume: %v", err)
	}
	c := newTally()
	sell(t, node, sale, "late", 10, c)
	StandingChecks(t, node, sale, c.accepted)
}

// clean ends a sale's life as a clean-up does: the log says so, and the gate
// holds it no longer.
func (r *Rig) clean(t *testing.T, n *Node, sale string) {
	t.Helper()
	ctx := context.Background()
	if _, err := n.Operator.Close(ctx, sale, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	n.appendSale(t, sale, func(s domain.Sale) domain.Event { return s.Clean(nil, "", "test") })
	r.deleteKeys(t, "*:sale:"+sale+":*")
	r.deleteKeys(t, "*:stock:"+sale+":*")
}

// appendSale stores an event of a sale that nothing else decides.
func (n *Node) appendSale(t *testing.T, sale string, decide func(domain.Sale) domain.Event) {
	t.Helper()
	folded, err := n.Sales.Fold(context.Background(), sale)
	if err != nil {
		t.Fatal(err)
	}
	name, schema, payload, err := domain.Encode(decide(folded.Sale))
	if err != nil {
		t.Fatal(err)
	}
	stored := eventstore.NewEvent{ID: n.Env.NewID(), Type: name, Schema: schema, SaleID: sale, Payload: payload, Metadata: []byte("{}")}
	receipt, err := n.Store.Submit(context.Background(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
		return &eventstore.Group{Appends: []eventstore.Append{{Stream: domain.SaleStream(sale), Expected: folded.Version, Events: []eventstore.NewEvent{stored}}}}, nil
	}})
	if err != nil || receipt.Outcome != eventstore.Stored {
		t.Fatalf("append %s: %v, %v", name, receipt.Outcome, err)
	}
}

func TestASaleThatWasCleanedUpIsNotResurrected(t *testing.T) {
	rig, node, sale := selling(t, 10)
	kept := node.Schedule(t, Terms(5))
	rig.clean(t, node, sale)
	if _, err := node.Keeper.Rehydrate(context.Background(), sale, nil); err == nil {
		t.Error("a cleaned sale was rehydrated by name")
	} else if p := new(domain.Problem); !errors.As(err, &p) || p.Code != domain.CodeSaleEnded {
		t.Errorf("a cleaned sale by name: got %v", err)
	}
	rig.Redis.Kill()
	rig.Redis.Wipe()
	rig.Redis.Restart()
	if _, err := node.Keeper.Rehydrate(context.Background(), "", nil); err != nil {
		t.Fatalf("rehydrate: %v", err)
	}
	node.AwaitOpen(t, kept)
	seen, err := node.Gate.Peek(context.Background(), domain.Place{Store: node.Env.Store, Sale: sale}, []string{"item"})
	if err != nil || seen.Sale.State != commands.HashMissing || seen.Stocks[0].State != commands.HashMissing {
		t.Errorf("the cleaned sale is in the gate: %+v, %v", seen, err)
	}
}

// TestRehydrateFromTheCommandLineAndOverHTTP: while another process serves.
func TestRehydrateFromTheCommandLineAndOverHTTP(t *testing.T) {
	rig := NewRig(t)
	server := ServeRig(t, rig)
	client := NewClient(server.URL)
	sale := client.CreateSale(t, 20)
	accepted := map[string]string{}
	buyAll(t, client, sale, "first", 5, accepted)
	for order, buyer := range accepted {
		await(t, client, buyer, order)
	}
	rig.inventUnits(t, sale, 3)
	env := rig.Settings(t)
	finished := Run(t, env, "rehydrate", "--sale", sale, "--json")
	done := wantJSON[commands.Rehydration](t, finished)
	if len(done.Lanes) != 1 || done.Events != 6 || done.Sale != sale || !strings.Contains(finished.Stderr, "1 of 1") {
		t.Errorf("got %+v and %q, want one lane with six events, and progress", done, finished.Stderr)
	}
	answer, err := client.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+"/rehydration", "operator", "admin", nil)
	if err != nil || answer.Status != http.StatusOK || answer.Body["events_applied"] != 6.0 {
		t.Errorf("over HTTP: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	if answer, err := client.Call(http.MethodPost, "/api/v1/admin/sales/zzzzzzzz/rehydration", "operator", "admin", nil); err != nil || answer.Status != http.StatusNotFound {
		t.Errorf("an unknown sale: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	if answer, err := client.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+"/rehydration", "buyer", "", nil); err != nil || answer.Status != http.StatusForbidden {
		t.Errorf("a buyer: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	wantOneSentence(t, Run(t, env, "rehydrate", "--sale", "zzzzzzzz"), 1, "no such sale")
	if all := Run(t, env, "rehydrate"); all.Code != 0 || !strings.Contains(all.Stdout, sale) {
		t.Errorf("every sale: exit code %d, %q, %q", all.Code, all.Stdout, all.Stderr)
	}
	buyAll(t, client, sale, "second", 15, accepted)
	StandingChecks(t, rig.Node(t, NodeOptions{APIOnly: true}), sale, accepted)
}

// TestB21ALaneWhoseKeysAreGoneOrWhoseServerWasPromotedIsBuiltAgain: by itself,
// under a new epoch, whatever of it is missing.
func TestB21ALaneWhoseKeysAreGoneOrWhoseServerWasPromotedIsBuiltAgain(t *testing.T) {
	promote := func(ctx context.Context, c *redis.Client, _ []string) error {
		return errors.Join(c.ReplicaOf(ctx, "127.0.0.1", "1").Err(), c.ReplicaOf(ctx, "NO", "ONE").Err())
	}
	forget := func(ctx context.Context, c *redis.Client, keys []string) error { return c.Del(ctx, keys...).Err() }
	rig, node, sale := selling(t, 100)
	c := newTally()
	for i, lost := range []struct {
		what, keys string
		change     func(context.Context, *redis.Client, []string) error
	}{
		{"the lane", "*:lane", forget}, {"all of the lane", "*:{s*", forget}, {"everything", "*", forget}, {"its master", "*", promote},
	} {
		sell(t, node, sale, fmt.Sprintf("before-%d", i), 10, c)
		node.AwaitDecided(t, c.accepted)
		before := node.lane(t, sale)
		rig.plant(t, lost.change, lost.keys)
		testenv.Eventually(t, 30*time.Second, func() error {
			if now := node.lane(t, sale); now.Epoch <= before.Epoch || !now.Selling() {
				return fmt.Errorf("without %s: the lane is at %+v after epoch %d", lost.what, now, before.Epoch)
			}
			return nil
		})
		node.AwaitOpen(t, sale)
		if got := node.available(t, sale); got != 100-10*int64(i+1) {
			t.Errorf("without %s: %d left", lost.what, got)
		}
	}
	rest := crowd(sale, []*Node{node}, 100)
	rest.want(t, domain.Reserved, 60)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, node, sale, c.accepted)
}

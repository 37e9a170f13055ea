package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli"
	"seckill/infra/testenv"
)

// TestKilledInTheMiddleOfACleanUp kills the command at each point between two
// steps; run again it finishes the rest.
func TestKilledInTheMiddleOfACleanUp(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	child := Serve(t, ChildOptions{Env: env})
	n := r.Node(t, NodeOptions{APIOnly: true})
	for _, point := range []string{"append.before-commit", "cleanup.after-log", "cleanup.after-gate", "cleanup.after-journal"} {
		t.Run(point, func(t *testing.T) {
			sale := NewClient(child.URL).CreateSale(t, 5)
			n.AwaitOpen(t, sale)
			orders := n.soldAndPaid(t, sale, "buyer", 3)
			n.CloseSale(t, sale)
			n.awaitNoDrift(t, sale)
			if done := Run(t, append(env[:len(env):len(env)], "SECKILL_CRASH_AT="+point), "cleanup", "--sale", sale); done.Code != -1 {
				t.Fatalf("the point was not met: got %d %s %s", done.Code, done.Stdout, done.Stderr)
			}
			done := Run(t, env, "cleanup", "--sale", sale, "--json")
			var view api.CleanupView
			if err := json.Unmarshal([]byte(done.Stdout), &view); err != nil || done.Code != 0 || len(view.Items) < 7 {
				t.Fatalf("again: got %d %s %s, %v", done.Code, done.Stdout, done.Stderr, err)
			}
			for _, item := range view.Items {
				if !item.Done || item.Detail == "" {
					t.Errorf("again: got %+v, want it ticked with what was found", item)
				}
			}
			n.wantCleanedUp(t, child.URL, sale, orders)
			if left := n.journalOf(t, domain.Place{Store: n.Env.Store, Sale: sale}.Lane()); len(left) > 0 {
				t.Errorf("%d entries are left in the journal, want none", len(left))
			}
		})
	}
}

// awaitNoDrift waits until a reconciliation of a sale finds nothing.
func (n *Node) awaitNoDrift(t testing.TB, sale string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		found, err := cli.DriftOf(n.Reconciler)(context.Background(), sale)
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("found %+v", found)
		}
		return err
	})
}

// wantCleanedUp looks at a cleaned-up sale as buyers do.
func (n *Node) wantCleanedUp(t testing.TB, url, sale string, orders map[string]string) {
	t.Helper()
	client := NewClient(url)
	testenv.Eventually(t, 20*time.Second, func() error {
		shown, err := client.Call(http.MethodGet, "/api/v1/sales/"+sale, "", "", nil)
		if err == nil && (shown.Status != http.StatusOK || shown.Text("state") != "cleaned") {
			err = errStatus(shown)
		}
		return err
	})
	if late, err := client.Buy(sale, "too-late", "key"); err != nil || late.Status != http.StatusGone || late.Text("code") != "sale_ended" {
		t.Errorf("a purchase: got %+v, %v; want 410 sale_ended", late, err)
	}
	for order, buyer := range orders {
		testenv.Eventually(t, 20*time.Second, func() error { // the view is a moment behind
			got, err := client.Order(buyer, order, "")
			if err == nil && (got.Status != http.StatusOK || got.Text("status") != "paid") {
				err = errStatus(got)
			}
			return err
		})
	}
	states, err := n.Store.States(context.Background(), []string{domain.SaleStream(sale)})
	if err != nil || states[0].Type != "sale.cleaned" {
		t.Errorf("the sale's stream: got %+v, %v; want sale.cleaned at its end", states, err)
	}
	n.WantGone(t, sale)
}

// Nobody runs the clean-up again: the lane keeper takes away what it left.
func TestWhatADeadCleanUpLeftInTheGateIsTakenAwayByTheKeeper(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	child := Serve(t, ChildOptions{Env: env})
	n := r.Node(t, NodeOptions{APIOnly: true})
	sale := NewClient(child.URL).CreateSale(t, 5)
	n.AwaitOpen(t, sale)
	n.soldAndPaid(t, sale, "buyer", 2)
	n.CloseSale(t, sale)
	n.awaitNoDrift(t, sale)
	if done := Run(t, append(env[:len(env):len(env)], "SECKILL_CRASH_AT=cleanup.after-log"), "cleanup", "--sale", sale); done.Code != -1 {
		t.Fatalf("the point was not met: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	n.WantGone(t, sale)
}

func TestTheCommandSaysWhyASaleIsNotCleanedUp(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	child := Serve(t, ChildOptions{Env: env})
	sale := NewClient(child.URL).CreateSale(t, 5)
	wantOneSentence(t, Run(t, env, "cleanup", "--sale", sale), 1, "The sale is not over yet. It is open, until ")
	wantOneSentence(t, Run(t, env, "cleanup", "--sale", "00000000"), 1, "no such sale")
	if done := Run(t, env, "cleanup"); done.Code != 2 {
		t.Errorf("without a sale: got %d %s, want 2", done.Code, done.Stderr)
	}
}

// A recovery that stalls is overtaken, and the sale is cleaned up meanwhile: what
// it goes on with does not bring the sale back.
func TestARecoveryThatBeganBeforeTheCleanUpBringsNothingBack(t *testing.T) {
	t.Parallel()
	_, n, sale := selling(t, 5)
	n.soldAndPaid(t, sale, "buyer", 2)
	stalled, goOn := make(chan struct{}), make(chan struct{})
	env := *n.Env
	env.Step = func(point string) {
		if point == "recovery.after-close" {
			close(stalled)
			<-goOn
		}
	}
	zombie := commands.NewKeeper(&env, n.Sales, n.Gate, n.Store, n.Follower, noLocks{}, commands.KeeperOptions{})
	zombie.Suspect(domain.Place{Store: n.Env.Store, Sale: sale}.Lane())
	ended := make(chan error, 1)
	go func() { ended <- zombie.Preheat(context.Background(), sale) }()
	<-stalled
	n.AwaitOpen(t, sale) // another recovery overtook it
	n.CloseSale(t, sale)
	n.CleanUp(t, sale)
	close(goOn)
	if err := <-ended; err == nil {
		t.Error("the overtaken recovery says that it opened the lane")
	}
	n.WantGone(t, sale)
	if err := n.Keeper.Preheat(context.Background(), sale); err != nil {
		t.Errorf("a preheat of it: got %v, want nothing done", err)
	}
	n.WantGone(t, sale)
}

// noLocks lets everybody in, as a lock does for a moment after its connection broke.
type noLocks struct{}

func (noLocks) Lock(context.Context, string) (context.Context, func(), error) {
	return context.Background(), func() {}, nil
}

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// pair is an installation with two nodes that answer buyers.
type pair struct {
	t     testing.TB
	rig   *Rig
	env   []string
	nodes [2]*Client
	asked atomic.Int64
}

func newPair(t testing.TB) *pair {
	rig := NewRig(t)
	p := &pair{t: t, rig: rig, env: rig.Settings(t)}
	p.nodes[0] = NewClient(Serve(t, ChildOptions{Env: p.env}).URL)
	p.nodes[1] = NewClient(Serve(t, ChildOptions{Env: p.env, Args: []string{"--roles", "api"}}).URL)
	return p
}

// flip turns a switch by the node that others hear of last.
func (p *pair) flip(name string, on bool, sale string) {
	p.t.Helper()
	asked := map[string]any{"on": on, "reason": "a test"}
	if sale != "" { // else everywhere
		asked["sale"] = sale
	}
	answer, err := p.nodes[1].Call(http.MethodPut, "/api/v1/admin/switches/"+name, "boss", "admin", asked)
	if err != nil || answer.Status != http.StatusOK || answer.Body["on"] != on || answer.Text("by") != "boss" {
		p.t.Fatalf("flip %s: %d %s %v", name, answer.Status, answer.Raw, err)
	}
}

// fresh buys as somebody who has not bought before.
func (p *pair) fresh(node int, sale string, quantity int) (Answer, error) {
	buyer := fmt.Sprintf("fresh-%d", p.asked.Add(1))
	return p.nodes[node].Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", buyer, "", map[string]any{"sku": "item", "quantity": quantity})
}

// everywhere waits until both nodes give fresh buyers this status and code.
func (p *pair) everywhere(sale string, quantity, status int, code string) {
	p.t.Helper()
	for node := range p.nodes {
		testenv.Eventually(p.t, 20*time.Second, func() error {
			answer, err := p.fresh(node, sale, quantity)
			if err == nil && (answer.Status != status || answer.Text("code") != code) {
				err = fmt.Errorf("node %d: got %d %s, want %d %s", node, answer.Status, answer.Raw, status, code)
			}
			return err
		})
	}
}

// loaded is what a crowd heard: every answer to a request that lay wholly within
// one phase. A switch is turned in a phase of its own.
type loaded struct {
	phase atomic.Int64
	mu    sync.Mutex
	heard map[int64]map[string]int
	stop  context.CancelFunc
	crowd sync.WaitGroup
}

func (p *pair) load(sale string) *loaded {
	ctx, stop := context.WithCancel(p.t.Context())
	l := &loaded{heard: map[int64]map[string]int{}, stop: stop}
	for i := range 6 {
		l.crowd.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				before := l.phase.Load()
				answer, err := p.fresh(n%2, sale, 1)
				if err != nil || before != l.phase.Load() {
					continue
				}
				word := fmt.Sprintf("%d %s", answer.Status, answer.Text("code"))
				l.mu.Lock()
				if l.heard[before] == nil {
					l.heard[before] = map[string]int{}
				}
				l.heard[before][word]++
				l.mu.Unlock()
			}
		})
	}
	return l
}

// await waits until a phase has been answered often enough to tell something.
func (l *loaded) await(t testing.TB, phase int64, word string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.heard[phase][word] < 20 {
			return fmt.Errorf("phase %d heard %v, want 20 times %q", phase, l.heard[phase], word)
		}
		return nil
	})
}

// A stopping switch is answered only when no node sells any more: whoever asks
// afterwards, anywhere, is refused.
func TestStoppingSwitchesUnderLoadHoldOnEveryNode(t *testing.T) {
	p := newPair(t)
	sale := p.nodes[0].CreateSale(t, 1_000_000)
	p.everywhere(sale, 1, http.StatusAccepted, "")
	owner, err := p.nodes[0].Buy(sale, "owner", "k")
	if err != nil || owner.Status != http.StatusAccepted {
		t.Fatalf("the owner buys: %d %s %v", owner.Status, owner.Raw, err)
	}
	l := p.load(sale)
	defer l.crowd.Wait()
	defer l.stop()
	l.await(t, 0, "202 ")
	for _, c := range []struct{ name, sale, want string }{
		{"pause_purchases", "", "503 paused"}, {"force_ended", "", "410 sale_ended"},
		{"pause_purchases", sale, "503 paused"}, {"force_ended", sale, "410 sale_ended"},
	} {
		l.phase.Add(1)
		p.flip(c.name, true, c.sale)
		phase := l.phase.Add(1)
		l.await(t, phase, c.want)
		for node := range p.nodes {
			testenv.Eventually(t, 20*time.Second, func() error { // he may have asked too often a moment ago
				again, err := p.nodes[node].Buy(sale, "owner", "k")
				if err == nil && (again.Status != http.StatusOK || again.Text("order_id") != owner.Text("order_id")) {
					err = fmt.Errorf("%s: the owner at node %d meets %d %s", c.name, node, again.Status, again.Raw)
				}
				return err
			})
		}
		during := phase
		l.phase.Add(1)
		p.flip(c.name, false, c.sale)
		phase = l.phase.Add(1)
		l.await(t, phase, "202 ")
		l.mu.Lock()
		for word, n := range l.heard[during] {
			if word != c.want {
				t.Errorf("while %s was on for %q: %d heard %q", c.name, c.sale, n, word)
			}
		}
		l.mu.Unlock()
	}
	l.stop()
	l.crowd.Wait()
	StandingChecks(t, p.rig.Node(t, NodeOptions{APIOnly: true}), sale, map[string]string{owner.Text("order_id"): "owner"})
}

func TestPermittingSwitchesReachEveryNodeAndTheRecorder(t *testing.T) {
	p := newPair(t)
	body := saleBody(1000)
	body["limit_per_buyer"], body["eligible_tiers"] = 2, []string{"gold"}
	made, err := p.nodes[0].Call(http.MethodPost, "/api/v1/admin/sales", "boss", "admin", body)
	if err != nil || made.Status != http.StatusCreated {
		t.Fatalf("create a sale: %d %s %v", made.Status, made.Raw, err)
	}
	sale := made.Text("id")
	p.everywhere(sale, 1, http.StatusForbidden, "not_eligible")
	p.flip("skip_eligibility", true, "")
	p.everywhere(sale, 1, http.StatusAccepted, "")
	p.everywhere(sale, 3, http.StatusConflict, "limit_exceeded")
	p.flip("skip_purchase_limit", true, sale)
	p.everywhere(sale, 7, http.StatusAccepted, "")
	many, err := p.fresh(0, sale, 9)
	if err != nil || many.Status != http.StatusAccepted {
		t.Fatalf("over the limit: %d %s %v", many.Status, many.Raw, err)
	}
	buyer := fmt.Sprintf("fresh-%d", p.asked.Load())
	testenv.Eventually(t, 20*time.Second, func() error {
		order, err := p.nodes[1].Order(buyer, many.Text("order_id"), "?wait=2s")
		if err == nil && order.Text("status") != "placed" {
			err = fmt.Errorf("got %d %s, want it placed: the recorder judges by the terms in force then", order.Status, order.Raw)
		}
		return err
	})
	p.flip("skip_purchase_limit", false, sale)
	p.everywhere(sale, 3, http.StatusConflict, "limit_exceeded")
	p.flip("skip_eligibility", false, "")
	p.everywhere(sale, 1, http.StatusForbidden, "not_eligible")
	if done := Run(t, p.env, "reconcile", "--sale", sale); done.Code != 0 {
		t.Errorf("reconcile after the limit was lifted: exit %d\n%s%s", done.Code, done.Stdout, done.Stderr)
	}
	if done := Run(t, p.env, "audit", "verify"); done.Code != 0 {
		t.Errorf("audit: exit %d\n%s%s", done.Code, done.Stdout, done.Stderr)
	}
	if done := Run(t, p.env, "replay", "--stream", "switches", "--json"); done.Code != 0 {
		t.Errorf("replay: exit %d\n%s", done.Code, done.Stderr)
	}
	if done := Run(t, p.env, "replay", "--as-of", "5", "--json"); done.Code != 0 {
		t.Errorf("replay as of a position: exit %d\n%s", done.Code, done.Stderr)
	}
}

func TestWhatIsNotCoreStandsStillAndCatchesUp(t *testing.T) {
	p := newPair(t)
	sale := p.nodes[0].CreateSale(t, 100)
	p.everywhere(sale, 1, http.StatusAccepted, "")
	placed := func() (n int) {
		err := p.rig.Pool.QueryRow(t.Context(), "select coalesce(sum(placed), 0) from "+p.rig.Namespace+".sale_summary where sale_id = $1", sale).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	want := func(n int) {
		t.Helper()
		testenv.Eventually(t, 20*time.Second, func() error {
			if got := placed(); got < n {
				return fmt.Errorf("sale_summary counts %d placed, want %d", got, n)
			}
			return nil
		})
	}
	want(2)
	p.flip("pause_noncore", true, "")
	testenv.Eventually(t, 20*time.Second, func() error { // the node with the projector has heard
		answer, err := p.nodes[0].Call(http.MethodGet, "/readyz", "", "", nil)
		if list, _ := answer.Body["switches"].([]any); err == nil && (answer.Status != http.StatusOK || len(list) != 1 || list[0] != "pause_noncore") {
			err = fmt.Errorf("got %d %s", answer.Status, answer.Raw)
		}
		return err
	})
	before := placed()
	bought, err := p.fresh(0, sale, 1)
	if err != nil || bought.Status != http.StatusAccepted {
		t.Fatalf("buy: %d %s %v", bought.Status, bought.Raw, err)
	}
	buyer := fmt.Sprintf("fresh-%d", p.asked.Load())
	testenv.Eventually(t, 20*time.Second, func() error { // order_view goes on
		page, err := p.nodes[0].Call(http.MethodGet, "/api/v1/orders?sale="+sale, buyer, "", nil)
		if list, _ := page.Body["orders"].([]any); err == nil && len(list) != 1 {
			err = fmt.Errorf("got %d %s", page.Status, page.Raw)
		}
		return err
	})
	if got := placed(); got != before {
		t.Errorf("sale_summary counts %d placed while it is paused, want %d", got, before)
	}
	p.flip("pause_noncore", false, "")
	want(before + 1)
}

func TestTheCommandLineTurnsSwitchesToo(t *testing.T) {
	p := newPair(t)
	sale := p.nodes[0].CreateSale(t, 100)
	p.everywhere(sale, 1, http.StatusAccepted, "")
	if done := Run(t, p.env, "switch", "on", "pause_purchases", "--sale", sale, "--reason", "a fire drill"); done.Code != 0 {
		t.Fatalf("switch on: exit %d\n%s", done.Code, done.Stderr)
	}
	p.everywhere(sale, 1, http.StatusServiceUnavailable, "paused")
	var list struct {
		Switches []struct{ Name, Sale, Reason, By, At string }
	}
	done := Run(t, p.env, "switch", "list", "--json")
	if err := json.Unmarshal([]byte(done.Stdout), &list); err != nil || done.Code != 0 || len(list.Switches) != 6 {
		t.Fatalf("switch list: exit %d, %v\n%s%s", done.Code, err, done.Stdout, done.Stderr)
	}
	if own := list.Switches[5]; own.Name != "pause_purchases" || own.Sale != sale || own.Reason != "a fire drill" || own.By == "" || own.At == "" {
		t.Errorf("the sale's own: got %+v", own)
	}
	if done := Run(t, p.env, "switch", "off", "pause_purchases", "--sale", sale, "--reason", "it is over"); done.Code != 0 {
		t.Fatalf("switch off: exit %d\n%s", done.Code, done.Stderr)
	}
	p.everywhere(sale, 1, http.StatusAccepted, "")
	for _, args := range [][]string{{"switch", "on", "tea", "--reason", "r"}, {"switch", "on", "force_ended"}, {"switch", "on", "pause_noncore", "--sale", sale, "--reason", "r"}} {
		if done := Run(t, p.env, args...); done.Code != 2 {
			t.Errorf("%v: exit %d, want 2\n%s", args, done.Code, done.Stderr)
		}
	}
}

// Killed between the gate and the log, the stop falls again; killed after the log,
// it comes to every sale without the one who died.
func TestB16KilledWhileFlippingASwitchEverywhere(t *testing.T) {
	p := newPair(t)
	sale := p.nodes[0].CreateSale(t, 100)
	p.everywhere(sale, 1, http.StatusAccepted, "")
	dies := NewChild(t, ChildOptions{Env: p.env, Args: []string{"--roles", "api"}})
	flip := func(point string) {
		t.Helper()
		dies.Start("SECKILL_CRASH_AT=" + point)
		dies.AwaitReady()
		if answer, err := NewClient(dies.URL).Call(http.MethodPut, "/api/v1/admin/switches/force_ended", "boss", "admin",
			map[string]any{"on": true, "reason": "a test"}); err == nil {
			t.Fatal(errors.Join(errors.New("it was answered"), errStatus(answer)))
		}
		dies.AwaitEnd(10 * time.Second)
	}
	flip("switches.after-hold")
	p.everywhere(sale, 1, http.StatusAccepted, "")
	flip("switches.after-record")
	p.everywhere(sale, 1, http.StatusGone, "sale_ended")
	testenv.Eventually(t, 20*time.Second, func() error {
		shown, err := p.nodes[1].Call(http.MethodGet, "/api/v1/sales/"+sale, "", "", nil)
		if err == nil && shown.Text("state") != "ended" {
			err = fmt.Errorf("got %s", shown.Raw)
		}
		return err
	})
	later := p.nodes[1].CreateSale(t, 100)
	p.everywhere(later, 1, http.StatusGone, "sale_ended")
	p.flip("force_ended", false, "")
	p.everywhere(sale, 1, http.StatusAccepted, "")
	p.everywhere(later, 1, http.StatusAccepted, "")
}

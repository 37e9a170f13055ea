package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// must calls and wants the answer to be none of a refusal.
func (c *Client) must(t *testing.T, method, path, buyer, role string, body any, headers ...string) Answer {
	t.Helper()
	a, err := c.Call(method, path, buyer, role, body, headers...)
	if err != nil || a.Status >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s, %v", method, path, a.Status, a.Raw, err)
	}
	return a
}

func ofAnswer[T any](t *testing.T, a Answer) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Raw), &v); err != nil {
		t.Fatalf("answer %q: %v", a.Raw, err)
	}
	return v
}

// told gives the one purchase of a story.
func told(t *testing.T, story commands.Story) commands.PurchaseStory {
	t.Helper()
	if len(story.Purchases) != 1 {
		t.Fatalf("got %d purchases, want one: %+v", len(story.Purchases), story)
	}
	return story.Purchases[0]
}

// wantStory checks the story of an order that was paid, from the gate to the views.
func wantStory(t *testing.T, p commands.PurchaseStory, order, buyer, trace string) {
	t.Helper()
	if p.OrderID != order || p.BuyerID != buyer || p.TraceID != trace || p.Status != "paid" || p.Entry == "" || p.Node == "" {
		t.Errorf("got %+v; want order %s of %s, trace %s, paid", p, order, buyer, trace)
	}
	var types []string
	for i, s := range p.Steps {
		types = append(types, s.Type)
		if i > 0 && s.AfterUS != s.At.Sub(p.Steps[i-1].At).Microseconds() {
			t.Errorf("step %d is told as %d µs after the one before", i, s.AfterUS)
		}
	}
	if want := []string{"", "stock.reserved", "order.placed", "order.paid"}; !slices.Equal(types, want) {
		t.Errorf("got the steps %v, want %v: the gate's yes, then every event", types, want)
	}
	if first := p.Steps[0]; first.Clock != "gate" || first.Entry != p.Entry || !strings.Contains(first.Says, p.Entry) {
		t.Errorf("the first step is %+v; want what the gate said, with its entry", first)
	}
	for _, s := range p.Steps[1:3] {
		if s.TraceID != trace || s.By != "recorder" || s.Entry != p.Entry {
			t.Errorf("step %+v; want trace %s, by the recorder, from entry %s", s, trace, p.Entry)
		}
	}
	if p.Gate.State != "accepted" || !p.Gate.Journal || p.Gate.Entry != p.Entry {
		t.Errorf("the gate has it as %+v; want accepted, with its entry in the journal", p.Gate)
	}
	names := map[string]bool{}
	for _, v := range p.Views {
		names[v.Name] = v.Has && v.AppliedAt != nil
	}
	for _, name := range []string{"relay", "order_view", "stock_log", "sale_summary"} {
		if !names[name] {
			t.Errorf("%s is not told to have it: %+v", name, p.Views)
		}
	}
	if len(p.Doubts) > 0 {
		t.Errorf("doubts %v, want none", p.Doubts)
	}
}

func TestTheStoryOfAPurchaseIsToldFromAnyOfItsIDs(t *testing.T) {
	r := NewRig(t)
	server := ServeRig(t, r)
	settings, boss := r.Settings(t), NewClient(server.URL)
	sale := boss.CreateSale(t, 5)
	trace := strings.Repeat("ab", 16)
	bought := boss.must(t, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "me/and?you", "", `{"sku":"item","quantity":1}`,
		"traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	order := bought.Text("order_id")
	if got := bought.Header.Get("X-Trace-Id"); got != trace || bought.Text("trace_id") != trace {
		t.Fatalf("answered with trace %s, want the one that came: %s", got, trace)
	}
	testenv.Eventually(t, 60*time.Second, func() error {
		a, err := boss.Order("me/and?you", order, "")
		if err == nil && a.Text("status") != "placed" {
			err = errStatus(a)
		}
		return err
	})
	boss.must(t, http.MethodPost, "/api/v1/admin/orders/"+order+"/payment", "boss", "admin", `{"payment_id":"p1"}`)
	testenv.Eventually(t, 60*time.Second, func() error {
		p := told(t, wantJSON[commands.Story](t, Run(t, settings, "trace", order, "--json")))
		if slices.ContainsFunc(p.Views, func(v commands.StoryView) bool { return !v.Has }) {
			return fmt.Errorf("views stand at %+v, want all to have the payment", p.Views)
		}
		return nil
	})
	for _, id := range []string{order, "me/and?you", trace} {
		wantStory(t, told(t, wantJSON[commands.Story](t, Run(t, settings, "trace", id, "--json"))), order, "me/and?you", trace)
		answer := boss.must(t, http.MethodGet, "/api/v1/admin/trace?id="+url.QueryEscape(id), "boss", "admin", nil)
		wantStory(t, told(t, ofAnswer[commands.Story](t, answer)), order, "me/and?you", trace)
	}
	table := Run(t, settings, "trace", order)
	for _, want := range []string{order, trace, "the gate accepted it", "placed: 1 × item", "paid: ", "order_view", "entry in the journal"} {
		if !strings.Contains(table.Stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, table.Stdout)
		}
	}
	none := wantJSON[commands.Story](t, Run(t, settings, "trace", strings.Repeat("f", 32), "--json"))
	if len(none.Purchases) != 0 || none.As != commands.StoryOfTrace {
		t.Errorf("of a trace that nobody had: got %+v, want none", none)
	}
	wantOneSentence(t, Run(t, settings, "trace", "me/and?you", "--sale", "zzzzzzzz"), 1, domain.CodeSaleNotFound.Sentence("en"))
	wantLines(t, server, trace, map[string]string{"msg": "purchase accepted", "gate": "reserved", "order_id": order},
		map[string]string{"msg": "purchase recorded", "store": "placed", "bus": "published", "order_id": order, "sale_id": sale, "buyer_id": "me/and?you"})
	r.Redis.Stop()
	without := wantJSON[commands.Story](t, Run(t, settings, "trace", order, "--json"))
	if p := told(t, without); len(without.Unasked) == 0 || p.Gate.State != "away" || p.Status != "paid" || len(p.Steps) != 4 {
		t.Errorf("while the gate is away: got %+v; want the story from the log, and that the gate was not asked", without)
	}
}

// wantLines wants a process to have logged lines of a trace with some fields.
func wantLines(t *testing.T, server *Child, trace string, want ...map[string]string) {
	t.Helper()
	var lines []map[string]any
	for text := range strings.SplitSeq(server.Log(), "\n") {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil && line["trace_id"] == trace {
			lines = append(lines, line)
		}
	}
	for _, fields := range want {
		if !slices.ContainsFunc(lines, func(line map[string]any) bool {
			for name, value := range fields {
				if line[name] != value {
					return false
				}
			}
			return true
		}) {
			t.Errorf("no line of trace %s with %v among %v", trace, fields, lines)
		}
	}
}

func TestTheStoryOfAnOrderThatTheLogDoesNotHaveYetComesFromTheGate(t *testing.T) {
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	sale := n.Schedule(t, Terms(5))
	n.Placed(t, sale, "early", 1)
	n.Stop()
	front := r.Node(t, NodeOptions{APIOnly: true})
	order := front.accepted(t, sale, "late", 1)
	settings := r.Settings(t)
	p := told(t, wantJSON[commands.Story](t, Run(t, settings, "trace", order, "--json")))
	if p.Status != "queued" || p.BuyerID != "late" || p.Log.Version != 0 || p.Gate.State != "accepted" || len(p.Steps) != 1 || len(p.Lines) != 1 {
		t.Errorf("got %+v; want it queued, as the journal has it", p)
	}
	unknown := order[:20] + "0000000000" + order[30:]
	wantOneSentence(t, Run(t, settings, "trace", unknown), 1, "There is no order with this id")
}

func TestABuyersStoryHasEverySaleAndWhatWasRejected(t *testing.T) {
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	first, second := n.Schedule(t, Terms(5)), n.Schedule(t, Terms(5))
	placed := n.Placed(t, first, "often", 1)
	n.AwaitOpen(t, second)
	lost, err := domain.NewOrderID(n.Env.Keys, domain.Place{Store: n.Env.Store, Sale: second}, "often", [10]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := domain.ParseOrderID(lost)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Lost.Declare(t.Context(), ref, "often"); err != nil {
		t.Fatalf("declare an order lost that nobody has: %v", err)
	}
	settings := r.Settings(t)
	var story commands.Story
	testenv.Eventually(t, time.Minute, func() error {
		story = wantJSON[commands.Story](t, Run(t, settings, "trace", "often", "--json"))
		if len(story.Purchases) != 2 {
			return fmt.Errorf("got %d purchases, want 2", len(story.Purchases))
		}
		return nil
	})
	rejected, kept := story.Purchases[0], story.Purchases[1] // the newest first
	if rejected.OrderID == placed {                          // both happened within the same moment
		kept, rejected = rejected, kept
	}
	if kept.OrderID != placed || kept.Status != "placed" || rejected.OrderID != lost || rejected.Status != "rejected" || rejected.Reason != "lost" || rejected.Gate.State == "accepted" || story.Sales != 2 {
		t.Errorf("got %+v; want the lost order first, and the placed one", story)
	}
	one := wantJSON[commands.Story](t, Run(t, settings, "trace", "often", "--sale", first, "--json"))
	if p := told(t, one); p.OrderID != placed || one.Sales != 1 {
		t.Errorf("in one sale: got %+v", one)
	}
	if more := wantJSON[commands.Story](t, Run(t, settings, "trace", "often", "--limit", "1", "--json")); len(more.Purchases) != 1 || more.More != 1 {
		t.Errorf("with a limit of 1: got %+v, want one and that there is one more", more)
	}
	none := wantJSON[commands.Story](t, Run(t, settings, "trace", "nobody", "--json"))
	if len(none.Purchases) != 0 || none.As != "buyer" {
		t.Errorf("of who never bought: got %+v", none)
	}
}

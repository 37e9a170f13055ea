package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/cli/e2e"
)

// Whatever a cell could find wrong in the orders is found: a sale that went well is
// compared with buyers who were told something else.
func TestTheAccountNoticesWhatIsLostUnknownOrSoldTwice(t *testing.T) {
	rig := e2e.NewRig(t)
	node := rig.Node(t, e2e.NodeOptions{})
	sale := &saleRun{id: node.Schedule(t, e2e.Terms(3)), strategy: "redis-sync", stock: 3}
	accepted := map[string]string{}
	for i := range 3 {
		buyer := fmt.Sprintf("buyer-%d", i)
		bought, err := node.Buy(sale.id, buyer)
		if err != nil || bought.Outcome != domain.Reserved {
			t.Fatalf("%s buys: %s, %v", buyer, bought.Outcome, err)
		}
		accepted[bought.Order.ID] = buyer
	}
	e2e.StandingChecks(t, node, sale.id, accepted)
	some := slices.Sorted(maps.Keys(accepted))[0]
	for name, c := range map[string]struct {
		told  func(map[string]string)
		stock int
		want  string
	}{
		"all is well":                 {func(map[string]string) {}, 3, ""},
		"an order that is nowhere":    {func(a map[string]string) { a["o-gone"] = "buyer-9" }, 3, "is nowhere"},
		"an order nobody was told of": {func(a map[string]string) { delete(a, some) }, 3, "nobody was told of it"},
		"a unit too many":             {func(map[string]string) {}, 2, "3 units of the sale by redis-sync are sold, there are 2"},
		"a unit too few":              {func(map[string]string) {}, 4, "3 units of the sale by redis-sync are sold, there are 4"},
	} {
		s := &site{t: t, rig: rig}
		told := maps.Clone(accepted)
		c.told(told)
		var r result
		run := *sale
		run.stock = c.stock
		s.account(&load{sales: []*saleRun{&run}}, told, &r)
		if got := strings.Join(s.findings, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
		if (r.Lost > 0) != (name == "an order that is nowhere") {
			t.Errorf("%s: %d lost", name, r.Lost)
		}
	}
	if _, err := rig.Pool.Exec(t.Context(), "update order_view set status = 'rejected', reason = 'lost' where order_id = $1", some); err != nil {
		t.Fatal(err)
	}
	run := *sale
	run.stock = 2
	for seen, want := range map[bool]string{false: "", true: "was seen to be accepted, and is rejected: lost"} {
		s := &site{t: t, rig: rig}
		var r result
		s.account(&load{sales: []*saleRun{&run}, told: []told{{order: some, seen: seen}, {order: some}}}, accepted, &r)
		if got := strings.Join(s.findings, "; "); (want == "") != (got == "") || !strings.Contains(got, want) || r.Refused["redis-sync lost"] != 1 {
			t.Errorf("an order that was told as rejected later, seen before %t: found %q, want %q; refused later %v", seen, got, want, r.Refused)
		}
	}
}

// An order was seen to be accepted where the answer says that it has only to be recorded,
// or that it is.
func TestAnAnswerSaysWhetherAnybodySawTheOrder(t *testing.T) {
	for _, c := range []struct {
		word, status, waits string
		want                bool
	}{
		{"202", "queued", "recorder", true}, {"202", "queued", "gate", false}, {"202", "queued", "log", false}, {"202", "queued", "sale", false},
		{"201", "placed", "", true}, {"200", "placed", "", true}, {"200", "queued", "recorder", true}, {"200", "queued", "gate", false},
		{"200", "rejected", "", false}, {"503 busy", "", "", false}, {wordNone, "", "", false},
	} {
		answer := e2e.Answer{Body: map[string]any{"status": c.status, "waiting_for": c.waits}}
		if got := sawOrder(c.word, answer); got != c.want {
			t.Errorf("%s %s, waiting for %q: seen %t, want %t", c.word, c.status, c.waits, got, c.want)
		}
	}
}

// The standing checks speak through a witness, and one of theirs that gives up does not
// end the run.
func TestAFindingOfTheStandingChecksIsAFindingOfTheCell(t *testing.T) {
	rig := e2e.NewRig(t)
	node := rig.Node(t, e2e.NodeOptions{})
	sale := node.Schedule(t, e2e.Terms(3))
	bought, err := node.Buy(sale, "buyer")
	if err != nil {
		t.Fatal(err)
	}
	e2e.StandingChecks(t, node, sale, map[string]string{bought.Order.ID: "buyer"})
	if _, err := rig.Pool.Exec(t.Context(), "delete from stock_log where sale_id = $1", sale); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, rig: rig}
	s.check(&load{sales: []*saleRun{{id: sale}}}, map[string]string{bought.Order.ID: "buyer"})
	if got := strings.Join(s.findings, "; "); !strings.Contains(got, "C4") {
		t.Errorf("a view that forgot what was sold was not noticed: %q", got)
	}
}

func TestASaleIsAsBeforeAfterSeveralGoodAnswersInARow(t *testing.T) {
	sale := &saleRun{strategy: "redis-async", every: time.Millisecond, steady: 3}
	from := time.Now()
	at := func(after int, word string, took time.Duration) told {
		sent := from.Add(time.Duration(after) * time.Second)
		return told{sale: sale, word: word, sent: sent, at: sent.Add(took)}
	}
	for name, c := range map[string]struct {
		told []told
		ok   bool
		want time.Duration
	}{
		"at once":               {[]told{at(0, "202", 0), at(1, "202", 0), at(2, "201", 0)}, true, 0},
		"too few":               {[]told{at(0, "202", 0), at(1, "202", 0)}, false, 0},
		"after refusals":        {[]told{at(0, "202", 0), at(1, "503 busy", 0), at(2, "202", 0), at(3, "202", 0), at(4, "409 sold_out", 0)}, true, 2 * time.Second},
		"slow is not as before": {[]told{at(0, "202", 0), at(1, "202", 0), at(2, "202", 2*time.Second)}, false, 0},
		"who came earlier":      {[]told{at(-1, "202", 0), at(0, "202", 0), at(1, "202", 0)}, false, 0},
	} {
		l := &load{sales: []*saleRun{sale}, told: c.told}
		began, ok := l.normal(from)
		if ok != c.ok || ok && began.Sub(from) != c.want {
			t.Errorf("%s: as before %t after %s, want %t after %s", name, ok, began.Sub(from), c.ok, c.want)
		}
	}
}

func TestWhoHadAnOrderAlreadyIsCounted(t *testing.T) {
	var c cameAgain
	for _, told := range [][2]string{{"503 busy", "202"}, {wordNone, "200"}, {"503 busy", "200"}, {"503 busy", "409 sold_out"}, {wordNone, wordNone}} {
		c.note("buyer", told[0], told[1])
	}
	if c.buyers != 5 || c.had != 2 || c.refused != 1 || len(c.left) != 1 {
		t.Errorf("got %+v, want 5 buyers, 2 who had an order, 1 of them after a 503, 1 left", c)
	}
}

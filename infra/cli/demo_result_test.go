package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/load"
)

// judged puts a result together of a crowd of ten for a stock of four, with
// views that hold some placed and some rejected orders.
func judged(placed, rejected, drift int, sights ...load.Sight) *result {
	m := &load.Measurement{Sights: sights, Outcomes: map[string]int{}}
	for _, s := range sights {
		m.Outcomes[s.Outcome]++
		switch {
		case s.OK:
			m.OK++
		case s.Failed:
			m.Failed++
		default:
			m.Refused++
		}
	}
	var views commands.ViewSnapshot
	add := func(n int, status domain.OrderStatus) {
		for range n {
			views.Orders = append(views.Orders, commands.ViewOrder{Status: status, Units: 1})
		}
	}
	add(placed, domain.OrderStatusPlaced)
	add(rejected, domain.OrderStatusRejected)
	s := &stage{demo: &demoCmd{Stock: new(int64(4)), Buyers: new(10), Strategy: "redis-async"}, sale: "s", opens: time.Now()}
	r := &result{sent: &sent{Measurement: m}, followed: &load.Measurement{}, report: commands.SaleReport{Drift: drift}}
	r.count(s, views)
	return r
}

func TestTheResultOfADemoIsCountedFromAnswersAndViews(t *testing.T) {
	r := judged(4, 0, 0,
		load.Sight{Outcome: load.Accepted, OK: true}, load.Sight{Outcome: load.Accepted, OK: true},
		load.Sight{Outcome: "sold_out"}, load.Sight{Outcome: "busy"}, load.Sight{Outcome: "timeout", Failed: true})
	if r.Accepted != 2 || r.SoldOut != 1 || r.Refused["busy"] != 1 || len(r.Refused) != 1 || r.Errors != 1 || r.Placed != 4 {
		t.Errorf("got %+v", r.outcome)
	}
	if broken := r.broken(); broken != "" {
		t.Errorf("broken: %s, want nothing", broken)
	}
	raw, err := json.Marshal(judged(4, 0, 0).outcome)
	if err != nil || !strings.Contains(string(raw), `"refused":{}`) {
		t.Errorf("got %s (%v), want refused as an empty object", raw, err)
	}
}

func TestEveryBrokenInvariantIsNamed(t *testing.T) {
	cases := map[string]*result{
		"sold that do not exist": judged(5, 0, 0),
		"wanted and not sold":    judged(3, 1, 0),
		"2 findings":             judged(4, 0, 2),
	}
	lost := judged(4, 0, 0)
	lost.followed.Failed = 3
	cases["3 accepted orders were not found decided"] = lost
	unpaid := judged(4, 0, 0)
	unpaid.life.paid, unpaid.Paid = 3, 2
	cases["3 orders were paid, and 2 are paid in the view"] = unpaid
	kept := judged(4, 0, 0)
	kept.life.failed, kept.Cancelled = 1, 1
	cases["1 units came back: 0 did in the log, and 0 in the gate"] = kept
	for want, r := range cases {
		if got := r.broken(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if over := judged(5, 0, 0); over.Oversold != 1 || over.Undersold != 0 {
		t.Errorf("got %d oversold and %d undersold, want 1 and 0", over.Oversold, over.Undersold)
	}
}

// An answer whose outcome nobody could tell may come to nothing: such an order is
// neither paid nor cancelled.
func TestOrdersThatCameToNothingAreLeftAlone(t *testing.T) {
	r := &result{lost: map[string]bool{"o1": true}}
	bought, tokens := map[int]string{}, make([]string, 21)
	for i := range tokens {
		bought[i] = fmt.Sprintf("o%d", i)
	}
	fates := (&stage{}).fates(bought, tokens, r)
	for _, f := range fates {
		if f.order == "o1" {
			t.Errorf("something becomes of order %s, which was rejected", f.order)
		}
	}
	if r.life.paid != 10 || r.life.failed != 2 || r.life.cancelled != 2 || len(fates) != 14 {
		t.Errorf("got %+v for %d orders, want those of 20", r.life, len(fates))
	}
}

package domain

import (
	"math"
	"testing"
	"time"
)

// obstructed gives a case in which everything stands in the way at once, and
// the steps that take one obstacle away each, in the order of judgement.
func obstructed() (*Case, []struct {
	outcome Outcome
	order   string
	lift    func(*Case)
}) {
	now := time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC)
	c := &Case{
		Tombstone: true, SameOrder: "own", KeyBody: "other", BodyHash: "mine",
		Orders: []BuyerOrder{{"earlier", Live, 1}}, Closed: true, Paused: true, Now: now,
		OpensAt: now.Add(time.Microsecond), ClosesAt: now, Terms: Terms{LimitPerBuyer: 1, OrdersPerBuyer: 1},
		Lines: []Line{{"mug", 2}, {"cup", 1}}, Left: map[string]int64{"mug": 1, "cup": -3}, TicketState: TicketRequired,
	}
	return c, []struct {
		outcome Outcome
		order   string
		lift    func(*Case)
	}{
		{Refused, "", func(c *Case) { c.Tombstone = false }},
		{KeyMismatch, "own", func(c *Case) { c.KeyBody = "mine" }},
		{SameOrder, "own", func(c *Case) { c.SameOrder, c.KeyBody = "", "" }},
		{Repeat, "earlier", func(c *Case) { c.Terms.OrdersPerBuyer = 2 }},
		{NotReady, "", func(c *Case) { c.Ready = true }},
		{NotReady, "", func(c *Case) { c.Known = map[string]bool{"mug": true} }},
		{NotReady, "", func(c *Case) { c.Known["cup"] = true }},
		{Ended, "", func(c *Case) { c.Closed = false }},
		{Paused, "", func(c *Case) { c.Paused = false }},
		{TooEarly, "", func(c *Case) { c.OpensAt = c.Now }},
		{Ended, "", func(c *Case) { c.ClosesAt = c.Now.Add(time.Microsecond) }},
		{NotEligible, "", func(c *Case) { c.Eligible = true }},
		{TicketRequired, "", func(c *Case) { c.TicketState = TicketInvalid }},
		{TicketInvalid, "", func(c *Case) { c.TicketState = Reserved }},
		{LimitExceeded, "", func(c *Case) { c.Terms.LimitPerBuyer = 4 }},
		{SoldOut, "", func(c *Case) { c.Left["mug"] = 2 }},
		{SoldOut, "", func(c *Case) { c.Left["cup"] = 0 }},
		{SoldOut, "", func(c *Case) { c.Left["cup"] = 1 }},
		{Reserved, "", func(*Case) {}},
	}
}

func TestAPurchaseMeetsItsObstaclesInTheContractsOrder(t *testing.T) {
	c, steps := obstructed()
	for i, step := range steps {
		got, order := Judge(c)
		if got != step.outcome || order != step.order {
			t.Fatalf("obstacle %d: got %v %q; want %v %q; case %+v", i, got, order, step.outcome, step.order, c)
		}
		step.lift(c)
	}
}

func TestASwitchLiftsTheLimitButNotTheRepeat(t *testing.T) {
	c, steps := obstructed()
	for _, step := range steps {
		step.lift(c)
	}
	c.Terms.LimitPerBuyer, c.SkipLimit = 1, true
	if got, _ := Judge(c); got != Reserved {
		t.Errorf("over the limit with the limit lifted: got %v; want %v", got, Reserved)
	}
	c.Terms.OrdersPerBuyer = 1
	if got, order := Judge(c); got != Repeat || order != "earlier" {
		t.Errorf("a repeat with the limit lifted: got %v %q; want %v of the earlier order", got, order, Repeat)
	}
}

// B11, B12
func TestTheLimitCountsUnitsAndNeverWraps(t *testing.T) {
	for name, c := range map[string]struct {
		orders []BuyerOrder
		lines  []Line
		limit  int64
		want   bool
	}{
		"none held, as many as allowed":    {nil, []Line{{"a", 2}}, 2, false},
		"none held, one too many":          {nil, []Line{{"a", 3}}, 2, true},
		"lines count together":             {nil, []Line{{"a", 1}, {"b", 2}}, 2, true},
		"held and asked together":          {[]BuyerOrder{{"o", Live, 2}}, []Line{{"a", 1}}, 2, true},
		"over orders hold nothing":         {[]BuyerOrder{{"o", Over, 2}}, []Line{{"a", 2}}, 2, false},
		"rejected orders hold nothing":     {[]BuyerOrder{{"o", Void, 2}}, []Line{{"a", 2}}, 2, false},
		"2^63-2 held and 2 asked":          {[]BuyerOrder{{"o", Live, math.MaxInt64 - 1}}, []Line{{"a", 2}}, MaxQuantity, true},
		"orders whose sum does not fit":    {[]BuyerOrder{{"o", Live, math.MaxInt64}, {"p", Live, 2}}, []Line{{"a", 1}}, 2, true},
		"lines whose sum does not fit":     {nil, []Line{{"a", math.MaxInt64}, {"b", 2}}, 2, true},
		"the largest quantity, as allowed": {nil, []Line{{"a", MaxQuantity}}, MaxQuantity, false},
	} {
		if got := PassesLimit(c.orders, c.lines, Terms{LimitPerBuyer: c.limit}); got != c.want {
			t.Errorf("%s: got %v; want %v", name, got, c.want)
		}
	}
}

// "Checks of a purchase" of the contract.
func TestWhichOrderAFurtherPurchaseMeets(t *testing.T) {
	live, over, void := BuyerOrder{"live", Live, 1}, BuyerOrder{"over", Over, 1}, BuyerOrder{"void", Void, 1}
	later := BuyerOrder{"later", Live, 1}
	for name, c := range map[string]struct {
		orders  []BuyerOrder
		allowed int
		rebuy   bool
		want    string
	}{
		"a first purchase":                                     {nil, 1, false, ""},
		"one live of one":                                      {[]BuyerOrder{live}, 1, false, "live"},
		"one live of two":                                      {[]BuyerOrder{live}, 2, false, ""},
		"two live of two meet the latest":                      {[]BuyerOrder{live, later}, 2, false, "later"},
		"more live than allowed meet the latest":               {[]BuyerOrder{live, later}, 1, true, "later"},
		"an order that is over, no buying again":               {[]BuyerOrder{over}, 1, false, "over"},
		"an order that is over, buying again":                  {[]BuyerOrder{over}, 1, true, ""},
		"no buying again, however many orders are allowed":     {[]BuyerOrder{over}, 5, false, "over"},
		"no buying again, with a live order below the number":  {[]BuyerOrder{over, live}, 3, false, "over"},
		"as many live as allowed come before one that is over": {[]BuyerOrder{live, over}, 1, false, "live"},
		"the latest of those that are over":                    {[]BuyerOrder{{"first", Over, 1}, over}, 1, false, "over"},
		"bought again, and again":                              {[]BuyerOrder{over, live}, 1, true, "live"},
		"a rejected order never counts":                        {[]BuyerOrder{void}, 1, false, ""},
		"rejected orders beside a live one":                    {[]BuyerOrder{void, live, void}, 2, false, ""},
		"rejected orders do not hide the live one":             {[]BuyerOrder{void, live, void}, 1, false, "live"},
	} {
		if got := RepeatOf(c.orders, Terms{OrdersPerBuyer: c.allowed, Rebuy: c.rebuy}); got != c.want {
			t.Errorf("%s: got %q; want %q", name, got, c.want)
		}
	}
}

func TestEveryOutcomeHasItsNumberAndItsCode(t *testing.T) {
	want := map[Outcome]string{
		1: "reserved", 0: "sold_out", -1: "not_ready", -2: "limit_exceeded", 2: "repeat", 3: "same_order", -3: "too_early",
		-4: "sale_ended", -5: "paused", -6: "not_eligible", -7: "ticket_required", -8: "ticket_invalid",
		-9: "idempotency_mismatch", -10: "refused",
	}
	listed := map[Outcome]bool{}
	for _, o := range Outcomes() {
		listed[o] = true
		if o.String() != want[o] {
			t.Errorf("outcome %d: got %q; want %q", int(o), o, want[o])
		}
	}
	if len(listed) != len(want) || len(outcomeNames) != len(want) {
		t.Errorf("got %d listed and %d named outcomes; want %d of each", len(listed), len(outcomeNames), len(want))
	}
	if got := Outcome(99).String(); got != "unknown" {
		t.Errorf("a number of no outcome: got %q; want unknown", got)
	}
}

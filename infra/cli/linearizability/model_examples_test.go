package linearizability

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// script writes down histories by hand. Each request lasts from the time given to the
// other one.
type script struct {
	of   *facts
	away bool
	ops  []porcupine.Operation
}

// aShop opens a shop of two units whose orders are those given.
func aShop(of terms, orders ...fact) *script {
	s := &script{of: &facts{sale: "by hand", stock: 2, terms: of, taken: orders}}
	return s.at(-1, -1, request{kind: opens}, answer{})
}

func (s *script) at(from, to int64, q request, a answer) *script {
	q.of, q.away = s.of, s.away
	s.ops = append(s.ops, porcupine.Operation{ClientId: len(s.ops), Input: q, Call: from, Output: a, Return: to})
	return s
}

// whileAway lets the gate be away from now on.
func (s *script) whileAway() *script {
	s.away = true
	return s
}

func (s *script) buy(from, to int64, buyer, key string, units int, said outcome, order int) *script {
	return s.at(from, to, request{kind: buys, buyer: buyer, key: key, units: units}, answer{said, order})
}

func (s *script) do(from, to int64, k kind, order int, said outcome) *script {
	return s.at(from, to, request{kind: k, order: order}, answer{outcome: said})
}

// TestTheModelTellsGoodHistoriesFromBadOnes: each pair differs in one thing alone.
func TestTheModelTellsGoodHistoriesFromBadOnes(t *testing.T) {
	single := terms{Buckets: 1, Limit: 2, Orders: 1, Rebuy: true}
	many := terms{Buckets: 1, Limit: 2, Orders: 3, Rebuy: true}
	once := terms{Buckets: 1, Limit: 2, Orders: 1}
	a, b, c := fact{id: "A", buyer: "a", key: "k", units: 1}, fact{id: "B", buyer: "b", units: 1}, fact{id: "C", buyer: "c", units: 1}
	again := fact{id: "A2", buyer: "a", key: "k2", units: 1}
	cases := map[string]struct {
		history *script
		good    bool
	}{
		"the last unit once":                                 {aShop(single, a, b).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "b", "", 1, accepted, 1).buy(4, 5, "c", "", 1, soldOut, 0), true},
		"the last unit twice":                                {aShop(single, a, b, c).buy(0, 9, "a", "k", 1, accepted, 0).buy(0, 9, "b", "", 1, accepted, 1).buy(0, 9, "c", "", 1, accepted, 2), false},
		"sold out while there is one":                        {aShop(single, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "c", "", 1, soldOut, 0), false},
		"sold out beside the one who buys it":                {aShop(single, a, b).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 5, "b", "", 1, accepted, 1).buy(3, 4, "c", "", 1, soldOut, 0), true},
		"sold out for want of the second":                    {aShop(single, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "c", "", 2, soldOut, 0), true},
		"sold out after a unit came back":                    {cancelledShop(single, a, b, 9).buy(10, 11, "c", "", 1, soldOut, 0), false},
		"sold out before a unit came back":                   {cancelledShop(single, a, b, 9).buy(7, 8, "c", "", 1, soldOut, 0), true},
		"a unit that came back is sold":                      {cancelledShop(single, a, b, 9, c).buy(10, 11, "c", "", 1, accepted, 2), true},
		"a unit that never came back is sold":                {aShop(single, a, b, c).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "b", "", 1, accepted, 1).do(4, 5, cancels, 0, cancelled).buy(10, 11, "c", "", 1, accepted, 2), false},
		"a unit that came back twice":                        {cancelledShop(single, a, b, 9).do(4, 9, comesBack, 0, done), false},
		"released and sold":                                  {aShop(single, a, b, c).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "b", "", 1, accepted, 1).at(4, 5, request{kind: arrives, units: 1}, answer{}).buy(6, 7, "c", "", 1, accepted, 2), true},
		"withdrawn and sold":                                 {aShop(single, a, b).buy(0, 1, "a", "k", 1, accepted, 0).at(2, 3, request{kind: withdraws, units: 1}, answer{}).buy(4, 5, "b", "", 1, accepted, 1), false},
		"too few to withdraw":                                {aShop(single, a).buy(0, 1, "a", "k", 1, accepted, 0).at(2, 3, request{kind: withdraws, units: 2}, answer{outcome: short}), true},
		"too few to withdraw, and there were enough":         {aShop(single).at(2, 3, request{kind: withdraws, units: 2}, answer{outcome: short}), false},
		"the same click is the same order":                   {aShop(many, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k", 1, repeat, 0), true},
		"the same click is another order":                    {aShop(many, a, fact{id: "A2", buyer: "a", key: "k", units: 1}).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k", 1, accepted, 1), false},
		"the same key with another quantity":                 {aShop(many, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k", 2, mismatch, 0), true},
		"the same key with another quantity meets the order": {aShop(single, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k", 2, repeat, 0), false},
		"so it does while the gate is away":                  {aShop(single, a).whileAway().buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k", 2, repeat, 0), true},
		"the gate is away, and somebody else's order is met": {aShop(single, a).whileAway().buy(0, 1, "a", "k", 1, accepted, 0).buy(4, 5, "c", "k3", 1, repeat, 0), false},
		"an order that was given back is met":                {cancelledShop(single, a, b, 9).buy(10, 11, "a", "k3", 1, repeat, 0), false},
		"so it is while the gate is away":                    {cancelledShop(single, a, b, 9).whileAway().buy(10, 11, "a", "k3", 1, repeat, 0), true},
		"a mismatch of a key that is new":                    {aShop(many, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k3", 2, mismatch, 0), false},
		"who has an order meets it":                          {aShop(single, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k2", 1, repeat, 0), true},
		"a repeat of an order that is to come":               {aShop(single, a).buy(2, 3, "a", "k", 1, accepted, 0).buy(0, 1, "a", "k2", 1, repeat, 0), false},
		"who may have several has two":                       {aShop(many, a, again).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k2", 1, accepted, 1), true},
		"who may have one has two":                           {aShop(single, a, again).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k2", 1, accepted, 1), false},
		"beyond the limit":                                   {aShop(many, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k2", 2, limitExceeded, 0), true},
		"beyond a limit that is not reached":                 {aShop(many, a).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 3, "a", "k2", 1, limitExceeded, 0), false},
		"a limit that is passed":                             {aShop(many, a, fact{id: "A2", buyer: "a", key: "k2", units: 2}).at(0, 1, request{kind: arrives, units: 9}, answer{}).buy(2, 3, "a", "k", 1, accepted, 0).buy(4, 5, "a", "k2", 2, accepted, 1), false},
		"who gave it back buys again":                        {cancelledShop(single, a, b, 9, again).buy(10, 11, "a", "k2", 1, accepted, 2), true},
		"who gave it back may not buy again":                 {cancelledShop(once, a, b, 9, again).buy(10, 11, "a", "k2", 1, accepted, 2), false},
		"who gave it back meets it":                          {cancelledShop(once, a, b, 9).buy(10, 11, "a", "k2", 1, repeat, 0), true},
		"cancelled and paid":                                 {cancelledShop(single, a, b, 9).do(4, 9, pays, 0, paid), false},
		"cancelled, and the payment too late":                {cancelledShop(single, a, b, 9).do(6, 9, pays, 0, cancelled), true},
		"seen cancelled before anybody did":                  {cancelledShop(single, a, b, 9).do(2, 3, reads, 0, cancelled), false},
		"an unknown purchase that was made late":             {aShop(single, a, b, c).buy(0, 1, "a", "k", 1, accepted, 0).buy(2, 90, "b", "", 1, accepted, 1).buy(3, 4, "c", "", 1, accepted, 2).at(5, 6, request{kind: arrives, units: 1}, answer{}), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &history{of: tc.history.of, ops: tc.history.ops}
			want := porcupine.Illegal
			if tc.good {
				want = porcupine.Ok
			}
			if got, _ := check(h); got != want {
				t.Errorf("porcupine says %s, want %s", got, want)
			}
		})
	}
}

// cancelledShop is sold out to a and b; then a's order is cancelled, and its unit is
// back between 5 and a time.
func cancelledShop(of terms, a, b fact, back int64, others ...fact) *script {
	return aShop(of, append([]fact{a, b}, others...)...).
		buy(0, 1, a.buyer, a.key, 1, accepted, 0).buy(2, 3, b.buyer, b.key, 1, accepted, 1).
		do(4, 5, cancels, 0, cancelled).do(5, back, comesBack, 0, done)
}

// An answer that was given before anything broke has no excuse.
func TestARepeatIsExcusedOnlyFromWhenSomethingBroke(t *testing.T) {
	for broke, want := range map[time.Duration]porcupine.CheckResult{0: porcupine.Illegal, 20: porcupine.Ok, 30: porcupine.Ok, 41: porcupine.Illegal} {
		var j journal
		j.add(attempt{call: 10, ret: 11, kind: buys, buyer: "a", key: "k", units: 1, order: "A", trace: "first", said: saidAccepted})
		j.add(attempt{call: 30, ret: 40, kind: buys, buyer: "a", key: "k", units: 2, order: "A", trace: "second", said: saidRepeat})
		e := ending{rested: 50, ended: 60, late: func(string) bool { return false }, fates: map[string]fate{
			"A": {id: "A", buyer: "a", trace: "first", units: 1, status: "placed"},
		}}
		h := j.history(&facts{sale: "by hand", stock: 2, terms: terms{Buckets: 1, Limit: 2, Orders: 2}, broke: broke}, e)
		if got, _ := check(h); got != want || len(h.findings) > 0 {
			t.Errorf("broken at %d, the key with another quantity met its order from 30 to 40: porcupine says %s, want %s; %v", broke, got, want, h.findings)
		}
	}
}

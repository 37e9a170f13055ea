package e2e

import (
	"context"
	"errors"
	"sync"
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/redisgate"
)

// starved is a gate on a machine that has no time, until it is well: the next purchases
// do not reach it, and what it says to a Resolve, which is carried out, nobody hears.
type starved struct {
	*redisgate.Gate
	hears bool // all the same

	mu     sync.Mutex
	ill    bool
	detain int                    // how many more purchases are held up on their way
	held   []commands.Reservation // those, in their order
}

var errNoAnswer = &commands.GateError{Unknown: true, Err: errors.New("no answer in time")}

// Reserve holds the purchase up, or asks.
func (s *starved) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	s.mu.Lock()
	late := s.detain > 0
	if late {
		s.detain--
		s.held = append(s.held, r)
	}
	s.mu.Unlock()
	if late {
		return commands.Verdict{}, errNoAnswer
	}
	return s.Gate.Reserve(ctx, r)
}

// Resolve asks, and may lose the answer.
func (s *starved) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (commands.Resolution, error) {
	res, err := s.Gate.Resolve(ctx, ref, buyer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.ill && !s.hears {
		return commands.Resolution{}, errNoAnswer
	}
	return res, err
}

func (s *starved) starve(purchases int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ill, s.detain = true, purchases
}

func (s *starved) recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ill, s.detain = false, 0
}

func (s *starved) heldUp() []commands.Reservation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// TestAPurchaseThatTheGateNeverSawIsAskedForAgain: while Redis lives, no purchase is
// given up because its question, or the answer, was lost on the way.
func TestAPurchaseThatTheGateNeverSawIsAskedForAgain(t *testing.T) {
	rig := NewRig(t)
	var slow *starved
	n := rig.Node(t, NodeOptions{Gate: func(g *redisgate.Gate) commands.Gate { slow = &starved{Gate: g}; return slow }})
	sale := n.Schedule(t, Terms(10))
	accepted := map[string]string{}
	buy := func(buyer string) commands.OrderAnswer {
		t.Helper()
		res, err := n.Buy(sale, buyer)
		if err != nil || res.Outcome != domain.Reserved || res.Order.Status != domain.OrderStatusQueued {
			t.Fatalf("%s: got %v %s, %v; want a queued order", buyer, res.Outcome, res.Order.Status, err)
		}
		accepted[res.Order.ID] = buyer
		return res.Order
	}
	slow.starve(1)
	once := buy("once") // the same question is asked again at once, and answered
	if once.WaitingFor != domain.WaitingForRecorder {
		t.Errorf("asked again it waits for %q, want the recorder", once.WaitingFor)
	}
	slow.starve(1 << 30)
	always := buy("always") // it cannot be seen while the buyer waits
	if always.WaitingFor != domain.WaitingForGate {
		t.Errorf("without any answer it waits for %q, want the gate", always.WaitingFor)
	}
	slow.recover()
	for _, order := range []commands.OrderAnswer{once, always} {
		n.AwaitStatus(t, accepted[order.ID], order.ID, domain.OrderStatusPlaced)
	}
	for _, r := range slow.heldUp() { // what was on its way comes at last
		if v, err := n.Gate.Reserve(t.Context(), r); err != nil || v.Outcome != domain.SameOrder || v.Order != r.Order {
			t.Errorf("%s, late: got %v, %v; want the same order", r.Buyer, v.Outcome, err)
		}
	}
	StandingChecks(t, n, sale, accepted)
}

// TestANoToAQuestionAskedAgainIsFollowedByATombstone: the first question may still
// arrive, and must take nothing from then on.
func TestANoToAQuestionAskedAgainIsFollowedByATombstone(t *testing.T) {
	rig := NewRig(t)
	var slow *starved
	n := rig.Node(t, NodeOptions{Gate: func(g *redisgate.Gate) commands.Gate { slow = &starved{Gate: g, hears: true}; return slow }})
	sale := n.Schedule(t, Terms(1))
	order := n.Placed(t, sale, "first", 1)
	slow.starve(1)
	if res, err := n.Buy(sale, "late"); err != nil || res.Outcome != domain.SoldOut {
		t.Fatalf("nothing is left: got %v, %v; want sold out", res.Outcome, err)
	}
	more := commands.Release{Sale: sale, SKU: "item", Quantity: 1}
	if _, err := n.Operator.Release(t.Context(), more, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	n.WantLeft(t, sale, 1)
	held := slow.heldUp()
	if len(held) != 1 {
		t.Fatalf("%d purchases were held up, want 1", len(held))
	}
	if v, err := n.Gate.Reserve(t.Context(), held[0]); err != nil || v.Outcome != domain.Refused {
		t.Errorf("the first question, late: got %v, %v; want refused", v.Outcome, err)
	}
	n.WantLeft(t, sale, 1)
	StandingChecks(t, n, sale, map[string]string{order: "first"})
}

package e2e

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// shortOnce is a gate of an operator who is held up when it tells him for the first time
// that a bucket has too few units.
type shortOnce struct {
	commands.OperatorGate
	told func()
	once sync.Once
}

func (s *shortOnce) Withdraw(ctx context.Context, w commands.Withdrawal) (commands.WithdrawVerdict, error) {
	v, err := s.OperatorGate.Withdraw(ctx, w)
	if err == nil && v.Outcome == commands.WithdrawShort {
		s.once.Do(s.told)
	}
	return v, err
}

// firstAsked is a gate of an operator that tells of his first question.
type firstAsked struct {
	commands.OperatorGate
	asked func()
	once  sync.Once
}

func (f *firstAsked) Withdraw(ctx context.Context, w commands.Withdrawal) (commands.WithdrawVerdict, error) {
	f.once.Do(f.asked)
	return f.OperatorGate.Withdraw(ctx, w)
}

// seenWaiting are turns that tell of whoever comes for one.
type seenWaiting struct {
	commands.Locks
	came func()
	once sync.Once
}

func (s *seenWaiting) Lock(ctx context.Context, name string) (context.Context, func(), error) {
	s.once.Do(s.came)
	return s.Locks.Lock(ctx, name)
}

// TestTwoRequestsOfOneWithdrawalFollowEachOther: on two processes, while the first
// gathers the units of several buckets. Side by side one of them finds too few left,
// since the other has taken them.
func TestTwoRequestsOfOneWithdrawalFollowEachOther(t *testing.T) {
	rig := NewRig(t)
	n, other := rig.Node(t, NodeOptions{}), rig.Node(t, NodeOptions{APIOnly: true})
	terms := Terms(20)
	terms.Buckets = 4
	sale := n.Schedule(t, terms)
	short, hold := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(hold) })
	n.Operator.Gate = &shortOnce{OperatorGate: n.Gate, told: func() { close(short); <-hold }}
	var ended, early atomic.Bool
	other.Operator.Gate = &firstAsked{OperatorGate: other.Gate, asked: func() { early.Store(!ended.Load()) }}
	if other.Operator.Turns != nil {
		other.Operator.Turns = &seenWaiting{Locks: other.Operator.Turns, came: goOn}
	}
	var all sync.WaitGroup
	withdraw := func(n *Node, who string) {
		if done, err := n.withdraw(sale, "k", 15); err != nil || done != (commands.Released{Released: 20, Available: 5}) {
			t.Errorf("%s: got %+v, %v; want 5 left of 20", who, done, err)
		}
	}
	all.Go(func() {
		withdraw(n, "the first")
		ended.Store(true)
	})
	<-short
	all.Go(func() {
		defer goOn()
		withdraw(other, "the second")
	})
	all.Wait()
	if early.Load() {
		t.Error("the second asked the gate before the first had its answer")
	}
	if events, units := n.withdrawals(t, sale); events != 1 || units != 15 {
		t.Errorf("the log has %d withdrawals of %d units, want one of 15", events, units)
	}
	StandingChecks(t, n, sale, nil)
}

// TestAReleaseWhoseKeyIsTakenIsBusy: nothing is done, and the same again is, later.
func TestAReleaseWhoseKeyIsTakenIsBusy(t *testing.T) {
	rig, n, sale := selling(t, 10)
	other := rig.Node(t, NodeOptions{APIOnly: true})
	taken := make(chan string, 1)
	other.Operator.Turns = remembered{other.Operator.Turns, taken}
	if done, err := other.withdraw(sale, "other key", 1); err != nil || done.Available != 9 {
		t.Fatalf("got %+v, %v; want 9 left", done, err)
	}
	_, leave, err := n.Operator.Turns.Lock(t.Context(), <-taken)
	if err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	again := commands.Release{Sale: sale, SKU: "item", Quantity: -1, Key: "other key"}
	if _, err := other.Operator.Release(wait, again, commands.Actor{By: "test"}); !isProblem(err, domain.CodeBusy) {
		t.Errorf("while somebody works on it: got %v, want busy", err)
	}
	if done, err := other.withdraw(sale, "another one", 1); err != nil || done.Available != 8 {
		t.Errorf("under another key: got %+v, %v; want 8 left", done, err)
	}
	leave()
	if done, err := other.withdraw(sale, "other key", 1); err != nil || done.Available != 8 {
		t.Errorf("afterwards: got %+v, %v; want 8 left", done, err)
	}
	StandingChecks(t, n, sale, nil)
}

// remembered are turns that tell the name of the first.
type remembered struct {
	commands.Locks
	name chan<- string
}

func (r remembered) Lock(ctx context.Context, name string) (context.Context, func(), error) {
	select {
	case r.name <- name:
	default:
	}
	return r.Locks.Lock(ctx, name)
}

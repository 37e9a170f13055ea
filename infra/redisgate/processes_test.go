package redisgate_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// TestB01FourProcessesAndTheLastUnit lets four gates, as four processes have
// them, sell from one Redis at the same time.
func TestB01FourProcessesAndTheLastUnit(t *testing.T) {
	s := newFour(t)
	show := s.Open(nil, 1)
	counts := s.all(500, func(i int) commands.Reservation { return s.Ask(show, fmt.Sprintf("u%d", i), 1) })
	if counts[domain.Reserved] != 1 || counts[domain.SoldOut] != 499 {
		t.Fatalf("outcomes: got %v, want 1 reserved and 499 sold out", counts)
	}
	s.WantLeft(show, "A", 0)
}

func TestB02OneBuyerThroughFourProcesses(t *testing.T) {
	s := newFour(t)
	show := s.Open(nil, 100)
	counts := s.all(50, func(i int) commands.Reservation {
		r := s.Ask(show, "u", 1)
		r.Key, r.BodyHash = fmt.Sprintf("%x", i), "00"
		return r
	})
	if counts[domain.Reserved] != 1 || counts[domain.Repeat] != 49 {
		t.Fatalf("outcomes: got %v, want 1 reserved and 49 repeats", counts)
	}
	s.WantLeft(show, "A", 99)
}

type four struct {
	*gatetest.Stage
	t     *testing.T
	gates []*redisgate.Gate
}

func newFour(t *testing.T) *four {
	t.Helper()
	url, namespace := testenv.Redis(t), testenv.Namespace(t)
	f := &four{t: t}
	for range 4 {
		f.gates = append(f.gates, openGate(t, url, redisgate.Options{Namespace: namespace}))
	}
	f.Stage = gatetest.NewStage(t, gatetest.Subject{Ports: f.gates[0]})
	return f
}

// all sends n purchases at once, each through the next gate.
func (f *four) all(n int, ask func(int) commands.Reservation) map[domain.Outcome]int {
	f.t.Helper()
	asks := make([]commands.Reservation, n)
	for i := range asks {
		asks[i] = ask(i)
	}
	outcomes := make([]domain.Outcome, n)
	var done sync.WaitGroup
	for i := range asks {
		done.Go(func() {
			v, err := f.gates[i%len(f.gates)].Reserve(context.Background(), asks[i])
			if err != nil {
				f.t.Errorf("reserve: %v", err)
			}
			outcomes[i] = v.Outcome
		})
	}
	done.Wait()
	counts := map[domain.Outcome]int{}
	for _, o := range outcomes {
		counts[o]++
	}
	return counts
}

package guard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/guard"
	"seckill/infra/testenv"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// stub is a gate that answers with one error and counts what reaches it.
type stub struct {
	commands.Gate
	err      atomic.Pointer[error]
	asked    atomic.Int64
	resolved atomic.Int64
}

func (s *stub) fail(err error) { s.err.Store(&err) }

func (s *stub) now() error {
	s.asked.Add(1)
	if err := s.err.Load(); err != nil && *err != nil {
		if *err == errBoom {
			panic(errBoom)
		}
		return *err
	}
	return nil
}

var errBoom = errors.New("boom")

func (s *stub) Reserve(context.Context, commands.Reservation) (commands.Verdict, error) {
	return commands.Verdict{Outcome: domain.Reserved}, s.now()
}

func (s *stub) Resolve(context.Context, domain.OrderRef, string) (commands.Resolution, error) {
	s.resolved.Add(1)
	return commands.Resolution{}, nil
}

func (s *stub) SoldOut(context.Context, commands.Reservation) (commands.Shortage, error) {
	return commands.Shortage{Sold: true}, s.now()
}

func (s *stub) Levels(context.Context, []domain.Place, []string) ([]commands.BucketLevel, error) {
	return nil, s.now()
}

func (s *stub) Peek(context.Context, domain.Place, []string) (commands.Peeked, error) {
	return commands.Peeked{}, s.now()
}

func newGate() (*guard.Gate, *stub, *atomic.Int64) {
	s, seen := &stub{}, &atomic.Int64{}
	return guard.NewGate(s, quiet, func(time.Duration) { seen.Add(1) }), s, seen
}

func reserve(g *guard.Gate) error {
	_, err := g.Reserve(context.Background(), commands.Reservation{})
	return err
}

// refusedDial is the error of a gate whose server is not there.
func refusedDial() error {
	return &commands.GateError{Err: fmt.Errorf("run script: %w", &net.OpError{Op: "dial", Err: errors.New("refused")})}
}

func unknown() error {
	return &commands.GateError{Unknown: true, Err: context.DeadlineExceeded}
}

func TestAGateThatFailsRestsAndIsProbedUntilItIsWell(t *testing.T) {
	g, s, seen := newGate()
	if err := reserve(g); err != nil || g.State() != guard.Closed {
		t.Fatalf("a gate that is well: %v, state %d", err, g.State())
	}
	s.fail(refusedDial())
	for range 20 {
		reserve(g)
	}
	asked := s.asked.Load()
	if g.State() != guard.Open || asked > 10 {
		t.Fatalf("after 20 failures the state is %d and %d reached the gate", g.State(), asked)
	}
	err := reserve(g)
	var fault *commands.GateError
	if !errors.As(err, &fault) || fault.Unknown || !errors.Is(err, guard.ErrResting) {
		t.Errorf("while the gate rests: %v, want that nothing happened", err)
	}
	if s.asked.Load() != asked || seen.Load() != asked {
		t.Errorf("%d of %d questions were timed, and %d reached a gate that rests", seen.Load(), asked, s.asked.Load()-asked)
	}
	s.fail(nil)
	testenv.Eventually(t, 20*time.Second, func() error { return errors.Join(reserve(g), closed(g)) })
}

func TestAServerThatFailsKeepsNobodyFromTheOthers(t *testing.T) {
	g, s, _ := newGate()
	sick, well := domain.Place{Store: 1, Sale: "one"}, domain.Place{Store: 1, Sale: "two"}
	for i := 0; well.Lane()%2 == sick.Lane()%2; i++ {
		well.Sale = fmt.Sprintf("two%d", i)
	}
	g.Server = func(lane int) string { return []string{"a:1", "b:1"}[lane%2] }
	s.fail(refusedDial())
	for range 20 {
		g.Peek(t.Context(), sick, nil)
	}
	s.fail(nil)
	if _, err := g.Peek(t.Context(), sick, nil); !errors.Is(err, guard.ErrResting) || g.State() != guard.Open {
		t.Errorf("a server that failed 20 times: got %v, state %d, want that it rests", err, g.State())
	}
	if _, err := g.Peek(t.Context(), well, nil); err != nil {
		t.Errorf("another server: got %v", err)
	}
	g.Server = func(int) string { return "c:1" }
	if _, err := g.Peek(t.Context(), sick, nil); err != nil || g.State() != guard.Closed {
		t.Errorf("after a failover: got %v, state %d", err, g.State())
	}
}

func closed(g *guard.Gate) error {
	if g.State() != guard.Closed {
		return errors.New("the breaker is not closed")
	}
	return nil
}

func TestAnUnknownOutcomeStaysUnknownAndIsAlwaysFoundOut(t *testing.T) {
	g, s, _ := newGate()
	s.fail(unknown())
	for i := range 20 {
		err := reserve(g)
		if rests := errors.Is(err, guard.ErrResting); commands.IsUnknown(err) == rests {
			t.Errorf("question %d: %v", i, err)
		}
	}
	if g.State() != guard.Open {
		t.Errorf("a gate whose answers do not come is still asked")
	}
	if _, err := g.Resolve(t.Context(), domain.OrderRef{}, "b"); err != nil || s.resolved.Load() != 1 {
		t.Errorf("a resolve while the gate rests: %v, %d reached it", err, s.resolved.Load())
	}
}

func TestWhatWasNeverSentAndWhoHangsUpSayNothingAgainstAStore(t *testing.T) {
	g, s, _ := newGate()
	for _, err := range []error{
		&commands.GateError{Err: context.DeadlineExceeded},
		&commands.GateError{Err: errors.New("not an order of ours")},
		&commands.GateError{Unknown: true, Err: context.Canceled},
	} {
		s.fail(err)
		for range 30 {
			reserve(g)
		}
		if g.State() != guard.Closed {
			t.Errorf("%v: the gate rests", err)
		}
	}
}

func TestAPanicFreesTheProbesPlace(t *testing.T) {
	g, s, _ := newGate()
	s.fail(refusedDial())
	for range 20 {
		reserve(g)
	}
	s.fail(errBoom)
	panics := 0
	testenv.Eventually(t, 20*time.Second, func() error {
		defer func() {
			if recover() != nil {
				panics++
			}
		}()
		_ = reserve(g)
		if panics < 2 {
			return errors.New("not probed often enough yet")
		}
		return nil
	})
	s.fail(nil)
	testenv.Eventually(t, 20*time.Second, func() error { return errors.Join(reserve(g), closed(g)) })
}

// log is a log that answers with one error and counts.
type log struct {
	guard.LogReader
	err   error
	asked int
}

func (l *log) Head(context.Context) (eventstore.Mark, error) {
	l.asked++
	return eventstore.Mark{}, l.err
}

func TestADatabaseThatIsAwayRestsAndIsSaidToBeUnavailable(t *testing.T) {
	l := &log{err: fmt.Errorf("read head: %w", eventstore.ErrUnavailable)}
	d := guard.NewDatabase(l, nil, quiet)
	var err error
	for range 50 {
		_, err = d.Head(t.Context())
	}
	if d.State() != guard.Open || l.asked > 10 {
		t.Errorf("state %d, %d of 50 questions reached a database that is away", d.State(), l.asked)
	}
	if !errors.Is(err, eventstore.ErrUnavailable) || !errors.Is(err, guard.ErrResting) {
		t.Errorf("got %v, want that the log is not available", err)
	}
}

func TestARefusalOfTheDatabaseIsAnAnswer(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("read: %w", eventstore.ErrData), domain.Invalid(), context.Canceled,
		fmt.Errorf("read: %w: %w", eventstore.ErrUnavailable, context.Canceled),
	} {
		l := &log{err: err}
		d := guard.NewDatabase(l, nil, quiet)
		for range 30 {
			_, _ = d.Head(t.Context())
		}
		if d.State() != guard.Closed || l.asked != 30 {
			t.Errorf("%v: state %d, %d of 30 questions reached it", err, d.State(), l.asked)
		}
	}
}

package redisgate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// proxied is a stage whose gate reaches its own Redis through a network that
// fails, and a second gate that reaches it directly.
type proxied struct {
	*gatetest.Stage
	server *testenv.RedisServer
	proxy  *testenv.FaultProxy
	direct *redisgate.Gate
}

func newProxied(t *testing.T, opt redisgate.Options) proxied {
	t.Helper()
	server := testenv.PrivateRedis(t, testenv.RedisOptions{})
	proxy := testenv.Proxy(t, server.URL)
	if opt.ReadTimeout == 0 {
		opt.ReadTimeout = 150 * time.Millisecond
	}
	opt.Namespace = testenv.Namespace(t)
	gate := openGate(t, proxy.URL(), opt)
	return proxied{
		Stage: gatetest.NewStage(t, gatetest.Subject{Ports: gate}), server: server, proxy: proxy,
		direct: openGate(t, server.URL, redisgate.Options{Namespace: opt.Namespace}),
	}
}

// try asks the gate for one unit.
func (p proxied) try(show *gatetest.Show, buyer string) (commands.Reservation, commands.Verdict, error) {
	r := p.Ask(show, buyer, 1)
	v, err := p.Subject.Reserve(context.Background(), r)
	return r, v, err
}

func TestB18AScriptSentAgainAfterATimeoutTakesOneUnit(t *testing.T) {
	p := newProxied(t, redisgate.Options{})
	show := p.Open(nil, 6)
	p.Buy(show, "first", domain.Reserved, 1) // loads the script
	p.proxy.DropReplyTo("reserve-me")
	r := p.Ask(show, "u", 1)
	r.TraceID = "reserve-me"
	v, err := p.Subject.Reserve(context.Background(), r)
	if err != nil || v.Outcome != domain.SameOrder || v.Order != r.Order {
		t.Fatalf("reserve whose first reply was lost: got %+v, %v, want the same order", v, err)
	}
	if p.proxy.Dropped() != 1 {
		t.Fatalf("replies lost: got %d, want 1", p.proxy.Dropped())
	}
	p.WantLeft(show, "A", 4)
}

func TestB18ANoAfterAnAttemptWithoutAnswerIsUnknown(t *testing.T) {
	p := newProxied(t, redisgate.Options{})
	show := p.Open(nil, 0)
	p.Buy(show, "first", domain.SoldOut, 1) // loads the script
	p.proxy.DropReplyTo("reserve-me")
	r := p.Ask(show, "u", 1)
	r.TraceID = "reserve-me"
	if v, err := p.Subject.Reserve(context.Background(), r); !commands.IsUnknown(err) {
		t.Fatalf("sold out on the second attempt: got %+v, %v, want unknown: the first may still arrive", v, err)
	}
}

func TestAScriptThatArrivesAfterItsOrderWasResolvedTakesNothing(t *testing.T) {
	p := newProxied(t, redisgate.Options{CallTimeout: 400 * time.Millisecond})
	show := p.Open(nil, 5)
	p.proxy.BlackHole()
	r, v, err := p.try(show, "u")
	if !commands.IsUnknown(err) {
		t.Fatalf("reserve into a black hole: got %+v, %v, want unknown", v, err)
	}
	ref, err := domain.ParseOrderID(r.Order)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.direct.Resolve(context.Background(), ref, "u"); err != nil || got.State != commands.OrderTombstone {
		t.Fatalf("resolve: got %+v, %v, want a tombstone", got, err)
	}
	p.proxy.Heal()
	if v, err := p.Subject.Reserve(context.Background(), r); err != nil || v.Outcome != domain.Refused {
		t.Fatalf("the same order afterwards: got %+v, %v, want refused", v, err)
	}
	p.WantLeft(show, "A", 5)
}

func TestAnUnreachableServerMeansThatNothingHappened(t *testing.T) {
	p := newProxied(t, redisgate.Options{})
	show := p.Open(nil, 5)
	p.server.Kill()
	if _, _, err := p.try(show, "u"); err == nil {
		t.Fatal("a dead server answered")
	}
	direct := gatetest.NewStage(t, gatetest.Subject{Ports: p.direct})
	if v, err := p.direct.Reserve(context.Background(), direct.Ask(show, "v", 1)); err == nil || commands.IsUnknown(err) {
		t.Fatalf("no connection at all: got %+v, %v, want that nothing happened", v, err)
	}
}

func TestACallerThatGivesUpHearsWhetherItsPurchaseWasSent(t *testing.T) {
	p := newProxied(t, redisgate.Options{InFlight: 1, ReadTimeout: 20 * time.Second, CallTimeout: 20 * time.Second})
	show := p.Open(nil, 5)
	p.proxy.BlackHole()
	giveUp := func(buyer string) error {
		t.Helper()
		short, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer stop()
		_, err := p.Subject.Reserve(short, p.Ask(show, buyer, 1))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a caller whose time is up: got %v", err)
		}
		return err
	}
	testenv.Eventually(t, 10*time.Second, func() error {
		if err := giveUp("u"); !commands.IsUnknown(err) {
			return err // on a slow machine it was not sent yet
		}
		return nil
	})
	// From here on a call is under way, and whoever comes waits behind it.
	if err := giveUp("v"); commands.IsUnknown(err) {
		t.Fatalf("a caller that gave up while waiting: got %v, want that nothing happened", err)
	}
	p.proxy.Heal()
	ended, done := context.WithCancel(context.Background())
	done()
	if _, err := p.Subject.Reserve(ended, p.Ask(show, "w", 1)); err == nil || commands.IsUnknown(err) {
		t.Fatalf("a caller that had given up before: got %v, want that nothing happened", err)
	}
}

func TestB19FlushedScriptsAreLoadedAgainUnderLoad(t *testing.T) {
	p := newProxied(t, redisgate.Options{ReadTimeout: 10 * time.Second})
	show := p.Open(nil, 300)
	o := client(t, p.server.URL)
	stop := make(chan struct{})
	var flusher, buyers sync.WaitGroup
	flusher.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := o.ScriptFlush(context.Background()).Err(); err != nil {
					t.Errorf("flush scripts: %v", err)
				}
			}
		}
	})
	outcomes := make([]domain.Outcome, 600)
	asks := make([]commands.Reservation, len(outcomes))
	for i := range asks {
		asks[i] = p.Ask(show, fmt.Sprintf("u%d", i), 1)
	}
	for w := range 20 {
		buyers.Go(func() {
			for i := w; i < len(asks); i += 20 {
				v, err := p.Subject.Reserve(context.Background(), asks[i])
				if err != nil {
					t.Errorf("reserve while scripts are flushed: %v", err)
				}
				outcomes[i] = v.Outcome
			}
		})
	}
	buyers.Wait()
	close(stop)
	flusher.Wait()
	counts := map[domain.Outcome]int{}
	for _, outcome := range outcomes {
		counts[outcome]++
	}
	if counts[domain.Reserved] != 300 || counts[domain.SoldOut] != 300 {
		t.Fatalf("outcomes: got %v, want 300 reserved and 300 sold out", counts)
	}
	p.WantLeft(show, "A", 0)
}

func TestAServerOutOfMemoryMeansThatNothingHappened(t *testing.T) {
	p := newProxied(t, redisgate.Options{})
	show := p.Open(nil, 5)
	o := client(t, p.server.URL)
	limit := func(bytes string) {
		t.Helper()
		if err := o.ConfigSet(context.Background(), "maxmemory", bytes).Err(); err != nil {
			t.Fatalf("set maxmemory: %v", err)
		}
	}
	limit("1")
	r, v, err := p.try(show, "u")
	if err == nil || commands.IsUnknown(err) {
		t.Fatalf("reserve without memory: got %+v, %v, want that nothing happened", v, err)
	}
	if gate, ok := p.Ports.(*redisgate.Gate); !ok || gate.Check(context.Background()) == nil {
		t.Fatal("a server that refuses writes passes the check")
	}
	limit("0")
	if v, err := p.Subject.Reserve(context.Background(), r); err != nil || v.Outcome != domain.Reserved || v.Entry.N != 1 {
		t.Fatalf("the same order afterwards: got %+v, %v, want the first entry", v, err)
	}
	p.WantLeft(show, "A", 4)
}

package linearizability

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli/e2e"
	"seckill/infra/redisgate"
)

// brokenGates make one mistake each, in the place of the gate.
func brokenGates(rig *e2e.Rig) map[string]func(*redisgate.Gate) commands.Gate {
	return map[string]func(*redisgate.Gate) commands.Gate{
		"it reads what is left and then writes": func(g *redisgate.Gate) commands.Gate { return readThenWrite{g, rig.Redis.URL} },
		"it goes on saying sold out":            func(g *redisgate.Gate) commands.Gate { return &soldOutFor{Gate: g} },
		"it forgets idempotency keys":           func(g *redisgate.Gate) commands.Gate { return keyless{g} },
		"it knows no limit":                     func(g *redisgate.Gate) commands.Gate { return limitless{g} },
	}
}

// readThenWrite is the oldest mistake: it looks whether there is enough, and what it
// writes afterwards does not look again. Everything else is judged by the real gate.
type readThenWrite struct {
	*redisgate.Gate
	url string
}

func (g readThenWrite) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	seen, err := g.Peek(ctx, r.Place, []string{"item"})
	if err != nil || len(seen.Stocks) == 0 || seen.Stocks[0].Available < domain.Units(r.Lines) {
		return g.Gate.Reserve(ctx, r)
	}
	time.Sleep(5 * time.Millisecond) // what lies between the two
	v, err := g.Gate.Reserve(ctx, r)
	if err != nil || v.Outcome != domain.SoldOut {
		return v, err
	}
	if err := g.add(ctx, r); err != nil {
		return v, err
	}
	return g.Gate.Reserve(ctx, r)
}

// add makes room for what was read before.
func (g readThenWrite) add(ctx context.Context, r commands.Reservation) error {
	opts, err := redis.ParseURL(g.url)
	if err != nil {
		return err
	}
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }() // a test's own connection
	keys, err := client.Keys(ctx, "*:stock:"+r.Place.Sale+":*").Result()
	if err != nil || len(keys) != 1 {
		return fmt.Errorf("keys of the stock: %v, %w", keys, err)
	}
	return client.HIncrBy(ctx, keys[0], "available", domain.Units(r.Lines)).Err()
}

// soldOutFor goes on saying sold out for a while, whatever came back meanwhile.
type soldOutFor struct {
	*redisgate.Gate
	mu    sync.Mutex
	until time.Time
	last  commands.Verdict
}

func (g *soldOutFor) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.last, nil
	}
	v, err := g.Gate.Reserve(ctx, r)
	if err == nil && v.Outcome == domain.SoldOut {
		g.until, g.last = time.Now().Add(200*time.Millisecond), v
	}
	return v, err
}

// keyless takes every click for a new one.
type keyless struct{ *redisgate.Gate }

func (g keyless) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	r.Key, r.BodyHash = "", ""
	return g.Gate.Reserve(ctx, r)
}

// limitless lets everybody have whatever is there.
type limitless struct{ *redisgate.Gate }

func (g limitless) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	r.Promised = domain.MaxQuantity
	return g.Gate.Reserve(ctx, r)
}

// noStacks is what nobody asks for either.
type noStacks struct{}

// Stacks gives none.
func (noStacks) Stacks() api.StacksView { return api.StacksView{} }

// serveNode serves the API over a node of this process: what a crowd asks for is the
// real thing, the rest nobody asks for.
func serveNode(t *testing.T, n *e2e.Node) *e2e.Client {
	t.Helper()
	verifier, err := api.SecretVerifier([]byte(e2e.TestSecret), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server, err := api.New(api.Deps{
		Purchaser: n.Purchaser, Finder: n.Finder, Orders: n.Orders, Operator: n.Operator, Verifier: verifier,
		Shower: &commands.Shower{Env: n.Env, Sales: n.Sales, Gate: n.Gate, Guards: n.Store},
		Log:    slog.New(slog.DiscardHandler), Now: time.Now,
		Providers: struct{ api.Providers }{}, Prover: struct{ api.Prover }{}, Stater: struct{ api.Stater }{}, Cleanup: struct{ api.Cleanup }{},
		Reviser: struct{ api.Reviser }{}, Preheats: struct{ api.Preheats }{}, Teller: struct{ api.Teller }{}, Reconciler: struct{ api.Reconciler }{},
		Switches: struct{ api.Switches }{}, Tickets: struct{ api.Tickets }{}, Members: struct{ api.Members }{}, Overviews: struct{ api.Overviews }{},
		Stacks: noStacks{}, DeadLetters: struct{ api.DeadLetters }{},
	}, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(server)
	t.Cleanup(served.Close)
	return e2e.NewClient(served.URL).Within(patience)
}

// tryGate plays a history against two nodes over a gate.
func tryGate(t *testing.T, nodes []*e2e.Node, doors []*e2e.Client, s uint64) *history {
	t.Helper()
	var asked atomic.Int64
	chance := rand.New(rand.NewPCG(s, 0))
	m := &market{
		stock: 2 + chance.IntN(3), terms: terms{Strategy: string(domain.StrategyRedisAsync), Buckets: 1, Limit: 2, Orders: 3, Rebuy: true},
		doors: doors, since: time.Now(), seed: s, asked: &asked,
	}
	m.open(t)
	awaitSelling(t, nodes[0], m)
	over := make(chan struct{})
	close(over)
	m.crowd(over, time.Now().Add(time.Minute))
	nodes[0].AwaitDecided(t, m.known())
	e := ending{rested: time.Since(m.since), late: func(string) bool { return false }}
	e.ended = e.rested
	if err := e.read(context.Background(), nodes[0].Store, m.id); err != nil {
		t.Fatal(err)
	}
	return m.history(&facts{sale: m.id, stock: m.stock, terms: m.terms}, e)
}

// overGate gives two nodes over a gate, and the ways to them.
func overGate(t *testing.T, rig *e2e.Rig, gate func(*redisgate.Gate) commands.Gate) (nodes []*e2e.Node, doors []*e2e.Client) {
	t.Helper()
	for i := range 2 {
		n := rig.Node(t, e2e.NodeOptions{APIOnly: i > 0, Gate: gate})
		nodes, doors = append(nodes, n), append(doors, serveNode(t, n))
	}
	return nodes, doors
}

// TestABrokenGateIsCaught plays histories over HTTP on gates of which each makes one
// mistake, until porcupine says that no shop answers so, which it must.
func TestABrokenGateIsCaught(t *testing.T) {
	rig := newRig(t)
	for name, gate := range brokenGates(rig) {
		t.Run(name, func(t *testing.T) {
			nodes, doors := overGate(t, rig, gate)
			const most = 20
			for s := range uint64(most) {
				h := tryGate(t, nodes, doors, s+1)
				result, info := check(h)
				if result == porcupine.Ok {
					continue
				}
				path, err := draw(t.TempDir(), "broken", info)
				picture, missing := os.ReadFile(path)
				if err := errors.Join(err, missing); err != nil || result != porcupine.Illegal || !strings.Contains(string(picture), h.of.sale) {
					t.Errorf("porcupine says %s (%v), want Illegal and a picture of it", result, err)
				}
				t.Logf("caught by history %d", s+1)
				return
			}
			t.Errorf("%d histories are all good", most)
		})
	}
}

// TestAGateAsItIsIsNotCaught is the other half: the same histories over the gate itself.
func TestAGateAsItIsIsNotCaught(t *testing.T) {
	nodes, doors := overGate(t, newRig(t), nil)
	for s := range uint64(4) {
		h := tryGate(t, nodes, doors, s+1)
		for _, finding := range h.findings {
			t.Error(finding)
		}
		want(t, fmt.Sprintf("gate-%d", s+1), h)
	}
}

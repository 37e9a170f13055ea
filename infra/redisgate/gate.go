package redisgate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
)

// Gate is the gate on one Redis, a cluster, or several of them. It is safe for concurrent use; Close ends it.
type Gate struct {
	// servers are where lanes live, and home which of them has a lane.
	servers []server
	home    [domain.Lanes]int
	keys    keys
	scripts scripts
	opt     Options
	lanes   [domain.Lanes]laneQueue
	looks   [domain.Lanes]lookQueue
	parts   [domain.Lanes]partQueue
	spare   sync.Pool // of *look
	asks    sync.Pool // of *ask
	calls   sync.Pool // of *reserveCall
	base    context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// waitAOF: the server was seen to know WAITAOF.
	waitAOF atomic.Bool
}

// Gate offers every port of the gate.
var (
	_ commands.Gate      = (*Gate)(nil)
	_ commands.Journal   = (*Gate)(nil)
	_ commands.Applier   = (*Gate)(nil)
	_ commands.Lanes     = (*Gate)(nil)
	_ commands.Hashes    = (*Gate)(nil)
	_ commands.Preheater = (*Gate)(nil)
	_ commands.Holder    = (*Gate)(nil)
	_ commands.Scanner   = (*Gate)(nil)
	_ commands.Cleaner   = (*Gate)(nil)

	_ commands.Withdrawer = (*Gate)(nil)
	_ commands.Mover      = (*Gate)(nil)
	_ commands.Levels     = (*Gate)(nil)
)

// Open connects to the Redis at url, in a form that redisconn reads, and to those of
// opt.Elsewhere, and checks that they may hold a gate: see Check. The error is a sentence
// for an operator.
func Open(ctx context.Context, url string, opt Options) (*Gate, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("set up the gate: %w", err)
	}
	opt = opt.withDefaults()
	g := &Gate{keys: keys{opt.Namespace, opt.Store}, scripts: newScripts(), opt: opt}
	if err := g.connect(url); err != nil {
		return nil, err
	}
	g.asks.New, g.calls.New = newAsk, newReserveCall
	g.spare.New = func() any { return &look{done: make(chan error, 1)} }
	g.base, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := g.checkFirst(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Pools gives what the pools of connections have seen: that of what buyers ask, and
// that of everything else.
func (g *Gate) Pools() (sale, rest redis.PoolStats) {
	for _, s := range g.servers {
		addStats(&sale, s.sale.PoolStats())
		addStats(&rest, s.rest.PoolStats())
	}
	return sale, rest
}

// Close waits for the calls under way and closes the connections. Purchases
// that still wait are answered with "nothing happened".
func (g *Gate) Close() error {
	for i := range g.lanes {
		g.lanes[i].close()
		g.looks[i].close()
		g.parts[i].close()
	}
	g.running.Wait()
	g.cancel()
	return g.disconnect()
}

// call is one script call: keys of one lane, flat arguments.
type call struct {
	script script
	batch  int
	keys   []string
	args   []any
	// sale: a buyer waits for it.
	sale bool
	// proofs is what the server is asked about what the script wrote, and proven, which
	// is set then, takes what it said.
	proofs proofs
	proven *proofs
	// plain: no proof is asked for, so that the client itself finds the server.
	plain bool
}

// run makes the call and tries again where that helps. doubt tells that an
// earlier attempt had an unknown outcome although err is nil. Errors are
// *commands.GateError.
func (g *Gate) run(ctx context.Context, c call) (reply any, doubt bool, err error) {
	at := g.at(laneOf(c.keys[0]))
	reload, client := false, at.rest
	if c.sale {
		client = at.sale
	}
	for attempt := 1; ; attempt++ {
		began := time.Now()
		var proven proofs
		c.plain = attempt > 1 && at.cluster != nil
		reply, proven, err = g.attempt(ctx, client, c, reload)
		if err == nil {
			if c.proven != nil {
				*c.proven = proven
			}
			g.opt.OnCall(c.script.name, c.batch, time.Since(began))
			return reply, doubt, nil
		}
		f := sortFault(err)
		doubt = doubt || f.unknown
		if reload = f.reload; reload {
			attempt-- // it did not run, and the next attempt brings the script along
		}
		if !f.again || attempt >= g.opt.Attempts || !pause(ctx, f) {
			break
		}
	}
	err = fmt.Errorf("run script %s: %w", c.script.name, err)
	if doubt {
		return nil, true, unknown(err)
	}
	return nil, false, nothing(err)
}

// Bounds of the jitter before another attempt: wide enough that the nodes of an
// installation do not come back in one moment.
const (
	pauseLeast = 50 * time.Millisecond
	pauseMost  = 200 * time.Millisecond
)

// pause waits before another attempt; false when ctx ended or would end before.
func pause(ctx context.Context, f fault) bool {
	if f.reload {
		return ctx.Err() == nil
	}
	wait := pauseLeast + rand.N(pauseMost-pauseLeast)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// runList makes a call that answers with a list of at least n values.
func (g *Gate) runList(ctx context.Context, c call, n int) ([]any, error) {
	reply, _, err := g.run(ctx, c)
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok || len(list) < n {
		return nil, unknown(fmt.Errorf("read the answer of script %s: got %T of %d values, want %d", c.script.name, reply, len(list), n))
	}
	return list, nil
}

// runFlag makes a call that answers 1 or 0.
func (g *Gate) runFlag(ctx context.Context, c call) (bool, error) {
	reply, _, err := g.run(ctx, c)
	if err != nil {
		return false, err
	}
	return number(reply) == 1, nil
}

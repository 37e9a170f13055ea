package redisgate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"seckill/commands"
	"seckill/domain"
)

// Gate is the gate on one Redis. It is safe for concurrent use; Close ends it.
type Gate struct {
	client redis.UniversalClient
	// blocking serves reads that wait, so that they take no connection from
	// purchases.
	blocking redis.UniversalClient
	keys     keys
	scripts  scripts
	opt      Options
	lanes    [domain.Lanes]laneQueue
	base     context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
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
)

// Open connects to the Redis at url (redis://, rediss:// or unix://) and checks
// that it may hold a gate: see Check. The error is a sentence for an operator.
func Open(ctx context.Context, url string, opt Options) (*Gate, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("set up the gate: %w", err)
	}
	opt = opt.withDefaults()
	client, blocking, err := connect(url, opt)
	if err != nil {
		return nil, err
	}
	g := &Gate{client: client, blocking: blocking, keys: keys{opt.Namespace, opt.Store}, scripts: newScripts(), opt: opt}
	g.base, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := g.Check(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func connect(url string, opt Options) (client, blocking redis.UniversalClient, err error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		// The text of err may repeat the URL, and with it a password.
		return nil, nil, errors.New("the Redis URL cannot be read: want redis://host:port/db, rediss:// or unix://, and one address")
	}
	o.MaxRetries = -1 // this package tries again itself: it must remember which attempts were sent
	o.DialerRetries = 1
	o.DialTimeout = time.Second
	o.ReadTimeout, o.WriteTimeout = opt.ReadTimeout, opt.WriteTimeout
	o.ContextTimeoutEnabled = true
	o.PoolSize = opt.PoolSize
	o.PoolTimeout = opt.ReadTimeout
	o.DisableIdentity = true
	o.Protocol = 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	b := *o
	b.PoolSize = 4
	return redis.NewClient(o), redis.NewClient(&b), nil
}

// Close waits for the calls under way and closes the connections. Purchases
// that still wait are answered with "nothing happened".
func (g *Gate) Close() error {
	for i := range g.lanes {
		g.lanes[i].close()
	}
	g.running.Wait()
	g.cancel()
	return errors.Join(g.client.Close(), g.blocking.Close())
}

// call is one script call: keys of one lane, flat arguments.
type call struct {
	script script
	batch  int
	keys   []string
	args   []any
}

// run makes the call and tries again where that helps. doubt tells that an
// earlier attempt had an unknown outcome although err is nil. Errors are
// *commands.GateError.
func (g *Gate) run(ctx context.Context, c call) (reply any, doubt bool, err error) {
	reload := false
	for attempt := 1; ; attempt++ {
		began := time.Now()
		if reload {
			reply, err = g.client.Eval(ctx, c.script.text, c.keys, c.args...).Result()
		} else {
			reply, err = g.client.EvalSha(ctx, c.script.sha, c.keys, c.args...).Result()
		}
		if err == nil {
			g.opt.OnCall(c.script.name, c.batch, time.Since(began))
			return reply, doubt, nil
		}
		f := sortFault(err)
		doubt = doubt || f.unknown
		if reload = f.reload; reload {
			attempt-- // it did not run, and the next attempt brings the script along
		}
		if !f.again || attempt >= g.opt.Attempts || !pause(ctx, attempt, f) {
			break
		}
	}
	err = fmt.Errorf("run script %s: %w", c.script.name, err)
	if doubt {
		return nil, true, unknown(err)
	}
	return nil, false, nothing(err)
}

// pause waits before another attempt; false when ctx ended.
func pause(ctx context.Context, attempt int, f fault) bool {
	if f.reload {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Duration(attempt*attempt) * 4 * time.Millisecond) // 4, 16, 36 ms
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

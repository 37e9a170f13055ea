package cli

import (
	"context"
	"sync"
	"time"

	"seckill/infra/lookout"
	"seckill/infra/obs"
	"seckill/infra/redisgate"
)

// gateWatch looks at the gate's Redis, and remembers what its slow logs told.
type gateWatch struct {
	app     *app
	watcher *redisgate.Watcher

	mu   sync.Mutex
	slow *lookout.Series // commands that came to the slow logs
	came float64
	last map[string]time.Time // when each server was seen last
}

// slowOver is the time that slow commands are counted of.
const slowOver = time.Minute

func newGateWatch(a *app) *gateWatch {
	return &gateWatch{app: a, watcher: a.gate.NewWatcher(), slow: lookout.NewSeries(slowOver), last: map[string]time.Time{}}
}

// look asks every server; those that do not answer keep others from nothing.
func (g *gateWatch) look(ctx context.Context) ([]redisgate.ServerSeen, error) {
	servers, err := g.watcher.Look(ctx)
	if err != nil {
		return nil, err
	}
	now := g.app.env.Now()
	seen := obs.RedisSeen{At: now}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range servers {
		if s.Err != nil {
			if g.last[s.Server].IsZero() {
				g.last[s.Server] = now
			}
			continue
		}
		g.last[s.Server] = now
		seen.Clients += s.Connected
		seen.Blocked += s.Blocked
		seen.SlowCommands += s.SlowNew
		seen.SlowLength += s.SlowLength
		if s.Max > 0 {
			seen.FullestShare = max(seen.FullestShare, float64(s.Connected)/float64(s.Max))
		}
	}
	g.came += float64(seen.SlowCommands)
	g.slow.Add(now, g.came)
	g.app.metrics.Redis(seen)
	return servers, nil
}

// slowPerMinute is how many commands came to the slow logs; nil while that is not known.
func (g *gateWatch) slowPerMinute() *float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	by, over := g.slow.Grown()
	if over == 0 {
		return nil
	}
	perMinute := by[0]
	if over > slowOver {
		perMinute *= slowOver.Seconds() / over.Seconds()
	}
	return &perMinute
}

// lastSeen is when a server was seen last.
func (g *gateWatch) lastSeen(server string) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last[server]
}

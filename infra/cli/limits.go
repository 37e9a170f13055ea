package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"seckill/api"
	"seckill/infra/config"
	"seckill/infra/guard"
	"seckill/infra/limits"
	"seckill/infra/obs"
)

// limiting are the limits of a process as the API asks them.
type limiting struct {
	*limits.Gate
	node      string
	endpoints []api.EndpointLimit
	store     *limits.Store // nil where no limit per buyer is on
	board     *limits.Board // nil with it
	log       *slog.Logger
}

// newLimits makes the limits that are on. Those per buyer are shared over the
// Redis of limits and caches; that it is away keeps nothing from starting.
func (a *app) newLimits(ctx context.Context) (*limiting, error) {
	l := &limiting{node: a.env.Node, log: a.log}
	marks := limits.NewMarks(a.env.Now)
	perBuyer := map[string]config.Count{"purchases": a.settings.LimitPurchases, "polls": a.settings.LimitPolls}
	for _, name := range api.LimitedEndpoints() {
		l.endpoints = append(l.endpoints, api.EndpointLimit{Endpoint: name, PerBuyer: int64(perBuyer[name]), PerNode: int64(a.settings.LimitEndpoint)})
	}
	if a.settings.LimitPurchases > 0 || a.settings.LimitPolls > 0 {
		var err error
		if l.store, err = a.openLimitStore(ctx); err != nil {
			return nil, err
		}
		if l.board, err = limits.OpenBoard(ctx, a.cacheRedis(), a.settings.Namespace, l.node, marks, markEvery); err != nil {
			return nil, err
		}
		a.onClose(func(context.Context) error { return l.board.Close() })
	}
	all := map[string]limits.Endpoint{}
	for _, e := range l.endpoints {
		limited, err := l.endpoint(e)
		if err != nil {
			return nil, err
		}
		all[e.Endpoint] = limited
	}
	l.Gate = limits.NewGate(all, marks, limits.Told{Limited: a.refused, Full: a.metrics.EndpointFull})
	return l, nil
}

// markEvery is how often a node tells the others of its marks.
const markEvery = time.Second

// cacheRedis is the Redis of limits and caches.
func (a *app) cacheRedis() string {
	return string(cmp.Or(a.settings.CacheRedisURL, a.stores.redis))
}

func (a *app) openLimitStore(ctx context.Context) (*limits.Store, error) {
	store, err := limits.OpenStore(ctx, a.cacheRedis(), limits.StoreOptions{
		Namespace: a.settings.Namespace, OnUp: a.limitStoreUp, OnCall: a.metrics.LimitCall,
	})
	if err != nil {
		return nil, err
	}
	a.onClose(func(context.Context) error { return store.Close() })
	a.metrics.Breaker("limits", func() int {
		if store.Up() {
			return guard.Closed
		}
		return guard.Open
	})
	a.metrics.Pool("redis_limits", func() obs.PoolStats { return redisStats(*store.Stats()) })
	return store, nil
}

// endpoint makes the limits of an endpoint. The store is asked from the second
// purchase of a buyer within a second on, and from the quarter of a limit of polls.
func (l *limiting) endpoint(e api.EndpointLimit) (limits.Endpoint, error) {
	var made limits.Endpoint
	if e.PerBuyer > 0 {
		window, err := limits.NewWindow(limits.Options{Limit: int(e.PerBuyer)})
		if err != nil {
			return made, fmt.Errorf("limit %s: %w", e.Endpoint, err)
		}
		free := min(max(int(e.PerBuyer)/4, 1), int(e.PerBuyer)-1)
		if made.Buyer, err = limits.NewShared(window, l.store, e.Endpoint, free); err != nil {
			return made, fmt.Errorf("limit %s: %w", e.Endpoint, err)
		}
	}
	if e.PerNode > 0 {
		total, err := limits.NewTotal(limits.Options{Limit: int(e.PerNode)})
		if err != nil {
			return made, fmt.Errorf("limit %s: %w", e.Endpoint, err)
		}
		made.Total = total
	}
	return made, nil
}

// limited gives the limits to the API, none where there are none.
func (a *app) limited() api.Limits {
	if a.limits == nil {
		return nil
	}
	return a.limits
}

func (a *app) markedBuyers() int {
	if a.limits == nil {
		return 0
	}
	return a.limits.Marks().Size()
}

// refused counts who was refused, and says it once for each time that a buyer
// becomes marked.
func (a *app) refused(endpoint, buyer string, fresh bool) {
	a.metrics.Limited(endpoint)
	if fresh {
		a.log.Warn("a buyer asks too often", "buyer_id", buyer, "endpoint", endpoint)
	}
}

func (a *app) limitStoreUp(up bool, why error) {
	a.metrics.LimitStore(up)
	if up {
		a.log.Info("limits per buyer are shared")
		return
	}
	a.log.Warn("limits per buyer are held by each node alone: their store is away", "store", "redis", "error", why)
}

// Look shows the limits of this node, and whom any node refused.
func (l *limiting) Look(ctx context.Context) api.LimitsView {
	v := api.LimitsView{Node: l.node, Endpoints: l.endpoints, Marked: []api.LimitMark{}}
	v.Shared = l.store != nil && l.store.Up()
	if _, v.Unlisted = l.Marks().List(); l.board == nil {
		return v
	}
	marks, err := l.board.All(ctx)
	if v.AllNodes = err == nil; err != nil {
		l.log.Warn("marks of other nodes not shown", "store", "redis", "error", err)
	}
	for _, m := range marks[:min(len(marks), maxShownMarks)] {
		v.Marked = append(v.Marked, api.LimitMark{BuyerID: m.Buyer, Node: m.Node, Endpoint: m.Endpoint, Refused: m.Refused, FirstAt: m.First, LastAt: m.Last, Until: m.Until})
	}
	return v
}

// maxShownMarks bounds one look.
const maxShownMarks = 1000

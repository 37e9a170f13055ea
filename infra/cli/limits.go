package cli

import (
	"cmp"
	"context"
	"fmt"

	"seckill/api"
	"seckill/infra/config"
	"seckill/infra/limits"
)

// limiting are the limits of a process as the API asks them.
type limiting struct {
	*limits.Gate
	node      string
	endpoints []api.EndpointLimit
	store     *limits.Store // nil where no limit per buyer is on
}

// newLimits makes the limits that are on. Those per buyer are shared over the
// Redis of limits and caches; that it is away keeps nothing from starting.
func (a *app) newLimits(ctx context.Context) (*limiting, error) {
	l := &limiting{node: a.env.Node}
	perBuyer := map[string]config.Count{"purchases": a.settings.LimitPurchases, "polls": a.settings.LimitPolls}
	for _, name := range api.LimitedEndpoints() {
		l.endpoints = append(l.endpoints, api.EndpointLimit{Endpoint: name, PerBuyer: int64(perBuyer[name]), PerNode: int64(a.settings.LimitEndpoint)})
	}
	if a.settings.LimitPurchases > 0 || a.settings.LimitPolls > 0 {
		var err error
		if l.store, err = a.openLimitStore(ctx); err != nil {
			return nil, err
		}
	}
	all := map[string]limits.Endpoint{}
	for _, e := range l.endpoints {
		limited, err := l.endpoint(e)
		if err != nil {
			return nil, err
		}
		all[e.Endpoint] = limited
	}
	l.Gate = limits.NewGate(all, limits.NewMarks(a.env.Now), limits.Told{Limited: a.refused, Full: a.metrics.EndpointFull})
	return l, nil
}

func (a *app) openLimitStore(ctx context.Context) (*limits.Store, error) {
	store, err := limits.OpenStore(ctx, string(cmp.Or(a.settings.CacheRedisURL, a.stores.redis)), limits.StoreOptions{
		Namespace: a.settings.Namespace, OnUp: a.limitStoreUp, OnCall: a.metrics.LimitCall,
	})
	if err != nil {
		return nil, err
	}
	a.onClose(func(context.Context) error { return store.Close() })
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

// Look shows the limits and whom they refused.
func (l *limiting) Look() api.LimitsView {
	v := api.LimitsView{Node: l.node, Endpoints: l.endpoints, Marked: []api.LimitMark{}}
	v.Shared = l.store != nil && l.store.Up()
	marks, unlisted := l.Marks().List()
	v.Unlisted = unlisted
	for _, m := range marks[:min(len(marks), maxShownMarks)] {
		v.Marked = append(v.Marked, api.LimitMark{BuyerID: m.Buyer, Endpoint: m.Endpoint, Refused: m.Refused, FirstAt: m.First, LastAt: m.Last, Until: m.Until})
	}
	return v
}

// maxShownMarks bounds one look.
const maxShownMarks = 1000

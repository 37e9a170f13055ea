package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/infra/bus"
	"seckill/infra/config"
	"seckill/infra/pg"
	"seckill/infra/preflight"
	"seckill/infra/redisconn"
)

// preflightAsks bounds one answer of a store.
const preflightAsks = 3 * time.Second

// seen lets a look ahead see what this application does.
func (a *app) seen(ctx context.Context, site *preflight.Site) error {
	server, err := a.newServer(roles{roleAPI}, front{verifier: insideVerifier{operatorName()}})
	if err != nil {
		return err
	}
	if err := a.switches.Refresh(ctx); err != nil {
		return err
	}
	if _, err := domain.ParseSaleID(site.SaleID); err != nil {
		return &domain.Problem{Code: domain.CodeSaleNotFound}
	}
	sale, err := a.sales.Fold(ctx, site.SaleID)
	if err != nil {
		return err
	}
	site.Sale, site.DB, site.Page = &sale.Sale, a.pool, server.PageVersion(sale.Sale)
	site.Preheat = func(ctx context.Context) (commands.PreheatReport, error) { return a.preheats.Verify(ctx, site.SaleID) }
	site.Strength = a.strengthOf
	site.Views = a.progress.Stats
	site.Switches = a.switches.Everywhere
	site.Lead = func(ctx context.Context, task string) (bool, error) {
		return pg.NewLeader(a.pool, a.settings.Namespace, task).Held(ctx)
	}
	site.Leads = append([]string{relayLead}, a.taskLeads()...)
	site.Recorded = a.recorded
	site.Tickets = func(ctx context.Context) (commands.BookState, error) { return a.tickets.Book.Look(ctx, site.SaleID) }
	if a.settings.JWKSURL != "" {
		site.Keys = func(ctx context.Context) error { return readKeys(ctx, a.settings) }
	}
	if len(a.settings.KafkaBrokers) > 0 {
		site.Kafka = func(ctx context.Context) (bus.TopicState, error) {
			return bus.Survey(ctx, bus.OneTopic(a.busName())(0), a.kafka())
		}
	}
	return nil
}

// readKeys reads the keys of tokens once.
func readKeys(ctx context.Context, s config.Settings) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	verifier, err := api.JWKSVerifier(ctx, api.JWKS{URL: s.JWKSURL}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return err
	}
	if ready, ok := verifier.(interface{ Ready(context.Context) error }); ok {
		return ready.Ready(ctx)
	}
	return nil
}

// recorded tells how many groups of lanes have a recorder; one that leads all of them
// alone has all.
func (a *app) recorded(ctx context.Context) (held, of int, err error) {
	if held, err = pg.NewShares(a.pool, a.settings.Namespace, roleRecorder, laneGroups).Taken(ctx); err != nil || held > 0 {
		return held, laneGroups, err
	}
	alone, err := pg.NewLeader(a.pool, a.settings.Namespace, roleRecorder).Held(ctx)
	if alone {
		held = laneGroups
	}
	return held, laneGroups, err
}

// strengthOf gives what keeps a server of the gate from what a sale promises, "" where
// nothing does.
func (a *app) strengthOf(ctx context.Context, sale domain.Sale) (string, error) {
	for _, place := range commands.Places(a.env.Store, sale) {
		given, err := a.gate.Strength(ctx, place)
		if err != nil {
			return "", err
		}
		if why := given[sale.Terms.Acknowledged()]; why != "" {
			return why, nil
		}
	}
	return "", nil
}

// seenWithout lets it see what there is where the application cannot be opened. Call
// close in the end.
func (c console) seenWithout(ctx context.Context, site *preflight.Site) (close func()) {
	if c.settings.NeedsPrivatePostgres() {
		return func() {}
	}
	pool, err := pg.Open(ctx, string(c.settings.DatabaseURL), pg.Options{Namespace: c.settings.Namespace, MaxConns: 2, StatementTimeout: c.settings.Deadlines.Recorder})
	if err != nil {
		return func() {} // why nothing could be opened is told already
	}
	site.DB = pool
	return pool.Close
}

// seenRedis lets it see the servers of the gate. Call close in the end, also after an
// error.
func (c console) seenRedis(ctx context.Context, site *preflight.Site, a *app) (close func(), err error) {
	urls := []config.URL{c.settings.RedisURL}
	if a != nil {
		urls[0] = a.stores.redis
		if a.stores.miniredis {
			return func() {}, nil // it says nothing of itself
		}
	}
	elsewhere, err := c.settings.RedisLanes.Ranges()
	for _, r := range elsewhere {
		urls = append(urls, r.URL)
	}
	var clients []redis.UniversalClient
	close = func() {
		for _, client := range clients {
			_ = client.Close() // nothing is on its way
		}
	}
	for _, address := range urls {
		if address == "" || err != nil {
			continue
		}
		at, fault := redisconn.Parse(string(address))
		if fault != nil {
			return close, fault
		}
		client := at.Open(redisconn.Tuning{Dial: preflightAsks, Read: preflightAsks, Write: preflightAsks, Pool: preflightAsks, Conns: 2})
		clients = append(clients, client)
		site.Redis = append(site.Redis, mastersOf(ctx, client, at.String())...)
	}
	return close, err
}

// mastersOf gives the servers behind a client: the masters of a cluster, or the one.
func mastersOf(ctx context.Context, client redis.UniversalClient, name string) []preflight.RedisServer {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return []preflight.RedisServer{{Name: name, Client: client}}
	}
	var mu sync.Mutex
	var all []preflight.RedisServer
	err := cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, preflight.RedisServer{Name: master.Options().Addr, Client: master})
		return nil
	})
	if err != nil || len(all) == 0 {
		return []preflight.RedisServer{{Name: fmt.Sprintf("a cluster at %s", strings.TrimSpace(name)), Client: client}}
	}
	return all
}

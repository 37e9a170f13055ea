package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/redis/go-redis/v9"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/infra/bench"
	"seckill/infra/config"
	"seckill/infra/embedded"
	"seckill/infra/plan"
	"seckill/infra/redisconn"
)

// scenarioUnit is the scenario that measures what single things cost.
const scenarioUnit = "unit"

// Where units are measured: on private stores of their own, in a namespace that is
// dropped before and after.
const (
	unitDir       = "unit"
	unitNamespace = "seckill_unit"
)

// runUnit measures, keeps and prints.
func (c console) runUnit(asJSON bool) error {
	ctx, done := c.stoppable()
	defer done()
	m, err := c.measureUnits(ctx, true)
	if err != nil {
		return err
	}
	if asJSON {
		return c.json(m)
	}
	t := newTable("unit cost", "measured here", "built in", "")
	numbers(t, 2, 3)
	built := plan.Measured().All()
	for i, cost := range m.Costs().All() {
		if _, ok := m.Values[cost.Key]; ok {
			t.AppendRow(table.Row{cost.Name, plan.Number(cost.Value), plan.Number(built[i].Value), cost.Unit})
		}
	}
	if err := c.print(t); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "Kept in %s, where `seckill plan` finds it. Taken in %.0f s with %s.\n", c.unitFile(), m.Seconds, m.Source().With)
	return err
}

func (c console) unitFile() string { return filepath.Join(c.settings.DataDir, plan.MeasurementFile) }

// lastUnits gives the measurement in the data folder; ok is false where there is none.
func (c console) lastUnits() (m plan.Measurement, ok bool, err error) {
	ok, err = bench.ReadJSON(c.unitFile(), &m)
	if err == nil && ok {
		err = m.Validate()
	}
	return m, ok && err == nil, err
}

// measureUnits measures on private stores of this machine, and keeps the result in the
// data folder. Unless it is to be a new one, that of somebody who measured just before
// will do.
func (c console) measureUnits(ctx context.Context, anew bool) (m plan.Measurement, err error) {
	free, err := lockUnits(ctx, c.settings.DataDir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, free()) }()
	if m, ok, err := c.lastUnits(); err == nil && ok && !anew {
		return m, nil
	}
	c.say("Measuring what single things cost on this machine, on private stores, for about 10 s.")
	inner := c
	inner.settings = unitSettings(c.settings)
	u := &units{console: inner, values: map[string]float64{}}
	if m, err = u.measure(ctx); err != nil {
		return m, fmt.Errorf("measure unit costs: %w", err)
	}
	return m, bench.WriteJSON(c.unitFile(), m)
}

// unitSettings are those of this machine's private stores, whatever is configured.
func unitSettings(s config.Settings) config.Settings {
	dir := filepath.Join(s.DataDir, unitDir)
	u := config.Settings{
		Namespace: unitNamespace, DataDir: dir, PostgresBin: s.PostgresBin, RedisBin: s.RedisBin, HTTPAddr: "127.0.0.1:0",
		Deadlines: s.Deadlines, Admission: s.Admission, SealEvery: s.SealEvery, SealAfter: s.SealAfter,
		SealDir: filepath.Join(dir, "seals"), StatementDir: filepath.Join(dir, "statements"),
	}
	return u
}

// units is a measurement under way.
type units struct {
	console
	stores *embedded.Stores
	redis  redis.UniversalClient
	app    *app
	node   *child
	op     bench.Operator
	tokens []string
	values map[string]float64
	sales  map[domain.Strategy]unitSale
	began  time.Time
}

// unitSale is what is bought.
type unitSale struct{ id, sku string }

// measure starts everything, measures, and takes everything away again.
func (u *units) measure(ctx context.Context) (m plan.Measurement, err error) {
	s := u.settings
	if u.stores, err = embedded.Start(ctx, embedded.Options{
		DataDir: s.DataDir, PostgresBin: s.PostgresBin, RedisBin: s.RedisBin, NeedPostgres: true, NeedRedis: true, Logger: warnings(u.console),
	}); err != nil {
		return m, err
	}
	cleaning := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, u.stores.Stop(cleaning)) }()
	address, err := redisconn.Parse(u.stores.RedisURL)
	if err != nil {
		return m, err
	}
	u.redis = address.Open(redisconn.Tuning{Dial: askWithin, Read: askWithin, Write: askWithin, Pool: askWithin, Conns: 2})
	defer func() { err = errors.Join(err, u.redis.Close()) }()
	if err := u.clear(ctx); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, u.clear(cleaning)) }()
	quiet := u.console
	if u.app, err = quiet.openApp(ctx, warnings(quiet)); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, u.app.close(cleaning)) }()
	stop := u.run(ctx, u.app.keeper.Run)
	defer func() { err = errors.Join(err, stop()) }()
	if u.node, err = startNode(ctx, u.env(), roleAPI); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, u.node.stop()) }()
	return u.all(ctx)
}

// env gives the child the same installation.
func (u *units) env() []string {
	s := u.settings
	return plainEnv("SECKILL_NAMESPACE="+s.Namespace, "SECKILL_DATA_DIR="+s.DataDir, "SECKILL_POSTGRES_BIN="+s.PostgresBin, "SECKILL_REDIS_BIN="+s.RedisBin,
		"SECKILL_LIMIT_PURCHASES=0", "SECKILL_LIMIT_POLLS=0")
}

// clear takes away what is measured with. The stores are private and hold nothing else.
func (u *units) clear(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, u.stores.DatabaseURL)
	if err != nil {
		return fmt.Errorf("clear the private database: %w", err)
	}
	_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{unitNamespace}.Sanitize()+" CASCADE")
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("clear the private database: %w", err)
	}
	if err := u.redis.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("clear the private Redis: %w", err)
	}
	return nil
}

// run runs a part until the function it gives is called.
func (u *units) run(ctx context.Context, part func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	return func() error {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}

// all measures one thing after the other.
func (u *units) all(ctx context.Context) (plan.Measurement, error) {
	if err := u.prepare(ctx); err != nil {
		return plan.Measurement{}, err
	}
	u.began = time.Now()
	for _, step := range []func(context.Context) error{u.accepted, u.refused, u.direct} {
		if err := step(ctx); err != nil {
			return plan.Measurement{}, err
		}
	}
	m := plan.NewMeasurement(u.values)
	m.At, m.Seconds, m.Module, m.Go = time.Now().UTC().Truncate(time.Second), time.Since(u.began).Seconds(), moduleVersion(), runtime.Version()
	m.Machine = fmt.Sprintf("%d cores, %s/%s", runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
	if err := u.app.pool.QueryRow(ctx, "SHOW server_version").Scan(&m.Postgres); err != nil {
		return m, fmt.Errorf("ask for the version of PostgreSQL: %w", err)
	}
	m.Redis = "imitated"
	if !u.stores.Miniredis {
		info, err := redisconn.Info(ctx, u.redis, "server")
		if err != nil {
			return m, fmt.Errorf("ask for the version of Redis: %w", err)
		}
		m.Redis = info["redis_version"]
	}
	return m, m.Validate()
}

// Sizes of a measurement.
const (
	unitBuyers = 40_000
	unitSpan   = 1500 * time.Millisecond
	unitConns  = 256
)

// prepare signs tokens and makes the sales.
func (u *units) prepare(ctx context.Context) error {
	secret, err := signingSecret(u.settings)
	if err != nil {
		return err
	}
	admin, err := api.SignToken(secret, benchOperator, api.RoleAdmin, "", tokenLife)
	if err != nil {
		return err
	}
	if u.tokens, err = signAll(ctx, secret, "unit-%07d", domain.RehearsalTier, unitBuyers); err != nil {
		return err
	}
	u.op = bench.Operator{URL: u.node.url, Token: admin, Client: bench.NewClient(nil)}
	u.sales = map[domain.Strategy]unitSale{}
	for _, strategy := range []domain.Strategy{domain.StrategyRedisAsync, domain.StrategyPostgres} {
		sale, err := u.op.MakeSale(ctx, bench.SaleWish{Stock: unitBuyers + 1, SKUs: 1, Strategy: string(strategy), Buckets: 1, Life: time.Hour})
		if err != nil {
			return err
		}
		u.sales[strategy] = unitSale{sale.ID, sale.Items[0].SKU}
	}
	return u.awaitDoor(ctx, u.sales[domain.StrategyRedisAsync])
}

// awaitDoor waits until a sale sells, by buying one unit.
func (u *units) awaitDoor(ctx context.Context, s unitSale) error {
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		seen, err := u.buy(within, s, u.tokens[len(u.tokens)-1:], time.Minute)
		if err != nil || seen.m.OK+seen.m.Outcomes["repeat"] > 0 {
			return err
		}
		if pause(within, watchEvery); within.Err() != nil {
			return fmt.Errorf("the sale to measure at does not open: %v", seen.m.Outcomes)
		}
	}
}

// places are those of the sale that has a gate.
func (u *units) places(ctx context.Context) ([]domain.Place, error) {
	sale, err := u.app.sales.Fold(ctx, u.sales[domain.StrategyRedisAsync].id)
	if err != nil {
		return nil, err
	}
	return commands.Places(u.app.env.Store, sale.Sale), nil
}

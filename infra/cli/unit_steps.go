package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"seckill/domain"
	"seckill/infra/bench"
	"seckill/infra/lifecycle"
	"seckill/infra/load"
	"seckill/infra/plan"
	"seckill/infra/redisconn"
)

// bought is what a crowd of a measurement met.
type bought struct {
	m      *load.Measurement
	orders map[int]string
	took   time.Duration
	// node and redis are the processor time they used, sent and received bytes as HTTP.
	node, redis    float64
	sent, received int64
	memory         float64 // that Redis uses more
}

// buy lets buyers buy one unit each, as fast as they are answered, for a while.
func (u *units) buy(ctx context.Context, s unitSale, tokens []string, span time.Duration) (*bought, error) {
	crowd := load.NewCrowd(strings.TrimPrefix(u.node.url, "http://"), s.id, s.sku, tokens)
	crowd.Tries = 1
	b, err := u.attack(ctx, load.Attack{Arrivals: make([]time.Duration, len(tokens)), Build: crowd.Build, Judge: crowd.Judge}, span)
	if err == nil {
		b.orders = crowd.Orders()
	}
	return b, err
}

// attack sends for a while and sees what the node and Redis spend on it.
func (u *units) attack(ctx context.Context, a load.Attack, span time.Duration) (*bought, error) {
	before, err := u.spent(ctx)
	if err != nil {
		return nil, err
	}
	a.Addr, a.Conns, a.Account = strings.TrimPrefix(u.node.url, "http://"), unitConns, load.NewAccount(time.Second)
	within, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	start := time.Now()
	run, err := load.Start(within, a, start)
	if err != nil {
		return nil, err
	}
	b := &bought{m: run.Wait(), took: time.Since(start)}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	after, err := u.spent(ctx)
	if err != nil {
		return nil, err
	}
	b.node, b.redis, b.memory = after.node-before.node, after.redis-before.redis, after.memory-before.memory
	b.sent, b.received = a.Account.Bytes()
	return b, nil
}

// spending is what was used since the processes started: seconds, and bytes of memory.
type spending struct{ node, redis, memory float64 }

// metricCPU is the processor time of a process.
const metricCPU = "seckill_process_cpu_seconds_total"

func (u *units) spent(ctx context.Context) (s spending, err error) {
	values, err := bench.ReadMetrics(ctx, u.op.Client, u.node.url+"/metrics")
	if err != nil {
		return s, err
	}
	var ok bool
	if s.node, ok = values[metricCPU]; !ok {
		return s, fmt.Errorf("the node does not say %s", metricCPU)
	}
	if u.stores.Miniredis {
		return s, nil
	}
	info, err := redisconn.Info(ctx, u.redis)
	if err != nil {
		return s, fmt.Errorf("ask Redis what it uses: %w", err)
	}
	number := func(name string) float64 {
		v, _ := strconv.ParseFloat(info[name], 64) // what is no number is 0, and is not measured
		return v
	}
	s.redis, s.memory = number("used_cpu_user")+number("used_cpu_sys"), number("used_memory")
	return s, nil
}

// set keeps a value that could be measured.
func (u *units) set(key string, value float64) {
	if value > 0 {
		u.values[key] = value
	}
}

// enough is how many of a thing make a measurement.
const enough = 200

// microsOf gives the microseconds of one of n.
func microsOf(seconds float64, n int) float64 { return seconds * 1e6 / float64(n) }

// accepted measures acceptances over HTTP, recording and projecting them, and looks at
// them.
func (u *units) accepted(ctx context.Context) error {
	size, err := u.tables(ctx)
	if err != nil {
		return err
	}
	b, err := u.buy(ctx, u.sales[domain.StrategyRedisAsync], u.tokens[:unitBuyers-1], unitSpan)
	if err != nil {
		return err
	}
	if b.m.OK < enough {
		return fmt.Errorf("only %d purchases were accepted: %v", b.m.OK, b.m.Outcomes)
	}
	u.set(plan.KeyAPIAccepted, microsOf(b.node, b.m.OK))
	u.set(plan.KeyGateAccepted, microsOf(b.redis, b.m.OK))
	u.set(plan.KeyGateBytes, b.memory/float64(b.m.OK))
	if err := u.record(ctx); err != nil {
		return err
	}
	if err := u.project(ctx); err != nil {
		return err
	}
	grown, err := u.tables(ctx)
	if err != nil {
		return err
	}
	u.set(plan.KeyLogBytes, float64(grown-size)/float64(b.m.OK))
	return u.look(ctx, b.orders)
}

// tables gives the bytes of everything in the database.
func (u *units) tables(ctx context.Context) (n int64, err error) {
	const sql = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`
	if err := u.app.pool.QueryRow(ctx, sql, unitNamespace).Scan(&n); err != nil {
		return 0, fmt.Errorf("ask for the size of the tables: %w", err)
	}
	return n, nil
}

// record measures how fast the log takes what the gate accepted.
func (u *units) record(ctx context.Context) error {
	places, err := u.places(ctx)
	if err != nil {
		return err
	}
	var lanes []int
	for _, p := range places {
		lanes = append(lanes, p.Lane())
	}
	before, err := u.app.sink.Head(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	stop := u.run(ctx, u.app.newRecorder(lanes).Run)
	err = u.awaitRecorded(ctx, places)
	took := time.Since(start)
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	after, err := u.app.sink.Head(ctx)
	if err != nil {
		return err
	}
	const events = 2 // of a purchase
	u.set(plan.KeyRecorded, float64(after.Number-before.Number)/events/took.Seconds())
	return nil
}

func (u *units) awaitRecorded(ctx context.Context, places []domain.Place) error {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, p := range places {
		for {
			done, err := u.app.caughtUp(within, p)
			if err != nil {
				return err
			}
			if done {
				break
			}
			pause(within, 5*time.Millisecond)
		}
	}
	return nil
}

// project measures how fast relay and views take what the log has.
func (u *units) project(ctx context.Context) error {
	a := u.app
	carrier, err := a.carrier(ctx, roles{roleRelay, roleProjector})
	if err != nil {
		return err
	}
	consumers, err := a.consumers(carrier)
	if err != nil {
		return err
	}
	relay, err := a.relay(carrier)
	if err != nil {
		return err
	}
	head, err := a.sink.Head(ctx)
	if err != nil {
		return err
	}
	var start time.Time
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	waiting := lifecycle.NewLoop(func(ctx context.Context) error {
		err := a.progress.WaitFor(ctx, head.Number)
		if err == nil {
			u.set(plan.KeyProjected, float64(head.Number)/time.Since(start).Seconds())
		}
		cancel()
		return err
	})
	start = time.Now()
	return lifecycle.Run(ctx, lifecycle.Options{}, lifecycle.Entry{Name: "projector", Part: lifecycle.NewLoop(a.projector.Run)},
		lifecycle.Entry{Name: "consumers", Part: consumers}, lifecycle.Entry{Name: "relay", Part: lifecycle.NewLoop(relay.Run)},
		lifecycle.Entry{Name: "wait", Part: waiting})
}

// look measures looks at orders.
func (u *units) look(ctx context.Context, orders map[int]string) error {
	host := strings.TrimPrefix(u.node.url, "http://")
	f := &load.Followers{Host: host}
	for buyer, order := range orders {
		f.Orders, f.Tokens = append(f.Orders, order), append(f.Tokens, u.tokens[buyer])
	}
	judge := func(_ int, a load.Answer) load.Next {
		var order struct {
			Status string `json:"status"`
		}
		if a.Err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &order) != nil {
			return load.Next{Outcome: fmt.Sprintf("status %d", a.Status), Failed: true}
		}
		return load.Next{Outcome: order.Status, OK: order.Status == string(domain.OrderStatusPlaced)}
	}
	b, err := u.attack(ctx, load.Attack{Arrivals: make([]time.Duration, len(f.Orders)), Build: f.Build, Judge: judge}, unitSpan/2)
	if err != nil {
		return err
	}
	if b.m.OK < enough {
		return fmt.Errorf("only %d orders were seen placed: %v", b.m.OK, b.m.Outcomes)
	}
	u.set(plan.KeyAPIPoll, microsOf(b.node, b.m.OK))
	return nil
}

// refused measures refusals of a sale that is sold out.
func (u *units) refused(ctx context.Context) error {
	sale, err := u.op.MakeSale(ctx, bench.SaleWish{Stock: 1, SKUs: 1, Strategy: string(domain.StrategyRedisAsync), Buckets: 1, Life: time.Hour})
	if err != nil {
		return err
	}
	s := unitSale{sale.ID, sale.Items[0].SKU}
	if err := u.awaitDoor(ctx, s); err != nil {
		return err
	}
	b, err := u.buy(ctx, s, u.tokens[:unitBuyers-1], unitSpan)
	if err != nil {
		return err
	}
	n := b.m.Outcomes["sold_out"]
	if n < enough {
		return fmt.Errorf("only %d purchases were refused: %v", n, b.m.Outcomes)
	}
	u.set(plan.KeyAPIRefused, microsOf(b.node, n))
	u.set(plan.KeyGateRefused, microsOf(b.redis, n))
	u.set(plan.KeyRequestBytes, float64(b.sent)/float64(n))
	u.set(plan.KeyAnswerBytes, float64(b.received)/float64(n))
	return nil
}

// direct measures a sale without a gate.
func (u *units) direct(ctx context.Context) error {
	b, err := u.buy(ctx, u.sales[domain.StrategyPostgres], u.tokens[:unitBuyers-1], unitSpan)
	if err != nil {
		return err
	}
	if b.m.OK < enough/10 {
		return fmt.Errorf("only %d purchases of the strategy postgres were placed: %v", b.m.OK, b.m.Outcomes)
	}
	u.set(plan.KeyDirect, float64(b.m.OK)/b.took.Seconds())
	return nil
}

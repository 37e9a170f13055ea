package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/cli"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
	"seckill/projections"
)

// Rig is one installation under test: a migrated namespace on a real Postgres
// and a Redis of its own. Nodes are the processes of it, here in one process.
type Rig struct {
	Pool      *pgxpool.Pool
	URL       string
	Namespace string
	Redis     *testenv.RedisServer
}

// NewRig makes an empty installation that ends with the test.
func NewRig(t testing.TB) *Rig {
	t.Helper()
	pool, url, namespace := pgtest.New(t)
	return &Rig{Pool: pool, URL: url, Namespace: namespace, Redis: testenv.PrivateRedis(t, testenv.RedisOptions{})}
}

// NodeOptions say what a node does and by which ways it reaches its stores.
type NodeOptions struct {
	RedisURL string // "" for the rig's own
	// Elsewhere are the lanes that live on another Redis.
	Elsewhere []redisgate.LaneRange
	// ProcessToken is that of a miniredis, else "".
	ProcessToken string
	// APIOnly: the node buys and finds, and neither records, keeps lanes nor projects.
	APIOnly bool
	// Roles are what else the node does; nil: it records, keeps lanes and projects.
	Roles []Role
	Step  func(string)
	// AppendStep is called at the points inside an append.
	AppendStep func(string)
	// Ahead is how far the node's clock is ahead of this machine's, Later how much
	// more from when a test says so.
	Ahead   time.Duration
	Later   func() time.Duration
	Journal func(commands.Journal) commands.Journal
	// Gate stands between the node's purchases and its gate.
	Gate func(*redisgate.Gate) commands.Gate
}

// Node is one process of an installation.
type Node struct {
	Env        *commands.Env
	Store      *pgstore.Store
	Gate       *redisgate.Gate
	Direct     *commands.Direct
	Sales      *commands.Sales
	Purchaser  *commands.Purchaser
	Clock      *commands.GateClock
	Known      counts       // answers without the gate's Reserve, by kind
	calls      atomic.Int64 // of the gate's script that reserves
	Moved      moves        // between buckets, by this node
	Finder     *commands.Finder
	Orders     *commands.Orders
	Views      *cli.Views
	Kept       *commands.Kept
	Awaited    *commands.Placed
	Lost       *commands.Lost
	Operator   *commands.Operator
	Keeper     *commands.Keeper
	Follower   *commands.Follower
	Leveller   *commands.Leveller
	Reconciler *commands.Reconciler
	Repairer   *commands.Repairer
	Projector  *projections.Projector
	Alarms     *Alarms
	Broken     *commands.BrokenLanes // that the node's keeper recovered
	// Patience bounds what the standing checks wait for; 0: as long as only a broken
	// program takes.
	Patience time.Duration

	pool  *pgxpool.Pool
	locks *pg.Holder
	stop  func()
}

// counts counts by kind.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[kind]++
}

func (c *counts) of(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[kind]
}

// moves counts moves between buckets and their units.
type moves struct{ count, units atomic.Int64 }

func (m *moves) add(units int64) {
	m.count.Add(1)
	m.units.Add(units)
}

// Alarms collects what was raised.
type Alarms struct {
	mu  sync.Mutex
	all []commands.Alarm
}

// Raise keeps an alarm.
func (a *Alarms) Raise(alarm commands.Alarm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, alarm)
}

// Count is how many of a kind were raised.
func (a *Alarms) Count(kind string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, alarm := range a.all {
		if alarm.Kind == kind {
			n++
		}
	}
	return n
}

// Node starts a process of the installation; it stops with the test, or by Stop.
func (r *Rig) Node(t testing.TB, opts NodeOptions) *Node {
	t.Helper()
	ctx := context.Background()
	pool, err := pg.Open(ctx, r.URL, pg.Options{Namespace: r.Namespace, AppName: "e2e"})
	if err != nil {
		t.Fatalf("open the event store: %v", err)
	}
	identity, err := pg.LoadIdentity(ctx, pool)
	if err != nil {
		t.Fatalf("load identity: %v", err)
	}
	n := &Node{Alarms: &Alarms{}, Broken: commands.NewBrokenLanes()}
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := pgstore.New(pool, r.Namespace, pgstore.Options{Logger: log, Step: opts.AppendStep, OnStored: func(stored []eventstore.Record) {
		n.Sales.Heard(stored)
		n.Awaited.Heard(stored)
		n.Projector.Changes().Stored(stored)
	}})
	if err != nil {
		t.Fatalf("make the event store: %v", err)
	}
	url := opts.RedisURL
	if url == "" {
		url = r.Redis.URL
	}
	gate, err := redisgate.Open(ctx, url, redisgate.Options{Namespace: r.Namespace, Store: uint8(identity.Store), ProcessToken: opts.ProcessToken, Elsewhere: opts.Elsewhere, OnCall: n.called})
	if err != nil {
		t.Fatalf("open the gate: %v", err)
	}
	n.Store, n.Gate, n.pool = store, gate, pool
	if opts.Later == nil {
		opts.Later = func() time.Duration { return 0 }
	}
	n.Env = &commands.Env{
		Store: uint8(identity.Store), Keys: cli.OrderKeys(identity), Now: func() time.Time { return time.Now().Add(opts.Ahead + opts.Later()) }, Random: rand.Reader,
		NewID: uuid.New, Log: log, Step: opts.Step,
	}
	n.assemble(t, pool, r, opts)
	return n
}

// called counts the calls of a script.
func (n *Node) called(script string, _ int, _ time.Duration) {
	if script == "reserve" {
		n.calls.Add(1)
	}
}

func (n *Node) assemble(t testing.TB, pool *pgxpool.Pool, r *Rig, opts NodeOptions) {
	var err error
	source := projections.Source{Store: int16(n.Env.Store), Log: n.Store}
	n.Projector, err = projections.NewProjector(pool, source, projections.All(), projections.Options{Log: n.Env.Log, Step: opts.Step})
	if err != nil {
		t.Fatalf("make the projector: %v", err)
	}
	views := cli.NewViews(pool, int16(n.Env.Store))
	n.Views = views
	n.Sales = commands.NewSales(n.Store, n.Env.Now, commands.SalesOptions{News: n.Store})
	n.Direct = commands.NewDirect(n.Env, n.Sales, n.Store, commands.DirectOptions{})
	judges := commands.ByStrategy{Sales: n.Sales, Gate: n.Gate, Direct: n.Direct}
	if opts.Gate != nil {
		judges.Gate = opts.Gate(n.Gate)
	}
	n.Follower = commands.NewFollower(n.Env, n.Store, n.Gate)
	n.Follower.Gateless = n.Sales.Gateless
	n.Lost = &commands.Lost{Env: n.Env, Gate: judges, Log: n.Store}
	n.Kept = commands.NewKept(n.Env, judges, n.Store, n.Lost)
	n.Leveller = commands.NewLeveller(n.Env, n.Gate, n.Store, n.Follower, commands.LevellerOptions{OnMove: n.Moved.add})
	n.Kept.Sales, n.Kept.Buckets = n.Sales, n.Leveller
	n.Kept.Promises = &commands.Promises{Env: n.Env, Sales: n.Sales, Gate: n.Gate, Log: n.Store, Follow: n.Follower}
	n.Finder = &commands.Finder{
		Env: n.Env, View: views, Changes: n.Projector.Changes(), Log: n.Store, Gate: judges, Journal: n.Gate, Lost: n.Lost, Holds: n.Kept.Holds,
	}
	n.Clock = commands.NewGateClock(n.Env, n.Gate)
	n.Orders = &commands.Orders{Env: n.Env, Log: n.Store, Follow: n.Follower, Finder: n.Finder}
	n.Awaited = commands.NewPlaced(n.Env, n.Store, commands.PlacedOptions{})
	n.Purchaser = commands.NewPurchaser(n.Env, n.Sales, judges, n.Finder, n.Kept, commands.PurchaserOptions{
		Clock: n.Clock, Shortages: n.Gate, Buckets: n.Leveller, BringBudget: time.Second, OnKnown: n.Known.add, Placed: n.Awaited,
	})
	n.locks = pg.NewHolder(pool, r.Namespace)
	n.Keeper = commands.NewKeeper(n.Env, n.Sales, n.Gate, n.Store, n.Follower,
		cli.LaneLocks{Holder: n.locks}, commands.KeeperOptions{Alarm: n.Alarms.Raise, Broken: n.Broken.Add})
	n.Operator = &commands.Operator{Env: n.Env, Sales: n.Sales, Log: n.Store, Gate: n.Gate, Follow: n.Follower, Buckets: n.Leveller, Turns: cli.LaneLocks{Holder: n.locks}, Preheat: n.Keeper.Preheat, Strengths: n.Gate}
	n.Reconciler = &commands.Reconciler{Env: n.Env, Sales: n.Sales, Log: n.Store, Gate: n.Gate, Views: views}
	n.Repairer = n.newRepairer(pool, r, source)

	n.run(t, pool, append([]func(context.Context) error{n.Kept.Run, n.Clock.Run, n.Awaited.Run}, n.roles(t, pool, opts)...))
}

// run starts the parts of the node and says how they stop.
func (n *Node) run(t testing.TB, pool *pgxpool.Pool, parts []func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() {
			if err := part(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("a part of the node ended: %v", err)
			}
		})
	}
	var once sync.Once
	n.stop = func() {
		once.Do(func() {
			cancel()
			n.Leveller.Close()
			running.Wait()
			n.locks.Close()
			closing, done := context.WithTimeout(context.Background(), 10*time.Second)
			defer done()
			if err := errors.Join(n.Store.Close(closing), n.Gate.Close()); err != nil {
				t.Logf("close the node: %v", err)
			}
			pool.Close()
		})
	}
	t.Cleanup(n.stop)
}

// Stop ends the node and waits for it.
func (n *Node) Stop() { n.stop() }

// Abandon ends a node whose stores are out of its reach for good: nothing that it was
// doing is waited for.
func (n *Node) Abandon() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.Store.Close(over) // that it gives up is the point
	n.stop()
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}

// Terms gives the terms of a sale of one item that is open from now on.
func Terms(stock int64) domain.SaleTerms {
	return domain.SaleTerms{
		Title: "Test sale", OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour), AutoOpen: true,
		Items: []domain.ItemTerms{{SKU: "item", Title: "Item", Price: domain.Money{Minor: 1990, Currency: "CNY"}, Stock: stock}},
	}
}

// Schedule makes a sale and waits until it sells.
func (n *Node) Schedule(t testing.TB, terms domain.SaleTerms) string {
	t.Helper()
	sale, err := n.Operator.Schedule(context.Background(), terms, commands.Actor{By: "test"})
	if err != nil {
		t.Fatalf("schedule a sale: %v", err)
	}
	n.AwaitOpen(t, sale.ID)
	return sale.ID
}

// AwaitOpen waits until every bucket of a sale sells.
func (n *Node) AwaitOpen(t testing.TB, sale string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		folded, err := n.Sales.Fold(context.Background(), sale)
		if err != nil {
			return err
		}
		for _, place := range commands.Places(n.Env.Store, folded.Sale) {
			seen, err := n.Gate.Peek(context.Background(), place, folded.SKUs())
			if err != nil {
				return err
			}
			if !seen.Lane.Selling() || seen.Sale.State != commands.HashOpen || seen.Stocks[0].State != commands.HashOpen {
				return errors.New("the gate is not open")
			}
		}
		return nil
	})
}

// selling is a new installation with one node and one sale that is open.
func selling(t testing.TB, stock int64) (r *Rig, n *Node, sale string) {
	t.Helper()
	r = NewRig(t)
	n = r.Node(t, NodeOptions{})
	return r, n, n.Schedule(t, Terms(stock))
}

// Buy asks for one unit of the test item.
func (n *Node) Buy(sale, buyer string) (commands.PurchaseResult, error) {
	return n.BuyLines(sale, buyer, "", domain.Line{SKU: "item", Quantity: 1})
}

// BuyLines asks for lines under an idempotency key, "" for none.
func (n *Node) BuyLines(sale, buyer, key string, lines ...domain.Line) (commands.PurchaseResult, error) {
	return n.Purchaser.Purchase(context.Background(), commands.PurchaseRequest{
		Buyer: buyer, Sale: sale, Lines: lines, IdempotencyKey: key, Route: "purchase", BodyHash: bodyOf(lines), TraceID: "trace-" + buyer,
	})
}

// lane is the lane of bucket 0 of a sale as the gate has it.
func (n *Node) lane(t testing.TB, sale string) commands.LaneState {
	t.Helper()
	state, err := n.Gate.Lane(context.Background(), domain.Place{Store: n.Env.Store, Sale: sale}.Lane())
	if err != nil {
		t.Fatalf("look at the lane: %v", err)
	}
	return state
}

// deleteKeys makes Redis forget every key that matches.
func (r *Rig) deleteKeys(t testing.TB, pattern string) {
	t.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }() // a test's own connection
	keys, err := client.Keys(context.Background(), pattern).Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("no key matches %s (%v)", pattern, err)
	}
	if err := client.Del(context.Background(), keys...).Err(); err != nil {
		t.Fatalf("delete %v: %v", keys, err)
	}
}

package linearizability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// patience is how long a client waits for an answer: longer than a node works on one.
const patience = 15 * time.Second

// house is one installation: API processes and others of the built program, a proxy
// before each store and each API process, and an observer that reaches the stores
// directly.
type house struct {
	t          testing.TB
	rig        *e2e.Rig
	redis, log *testenv.FaultProxy
	apis       []*e2e.Child
	backs      []*e2e.Child
	ways       []*testenv.FaultProxy // to the API processes
	doors      []*e2e.Client
	observer   *e2e.Node
	since      time.Time
}

// deadlines are wide enough for a machine that does other things too, and narrow enough
// for a fault to pass them.
func deadlines() []string {
	return []string{"SECKILL_GATEWAY_TIMEOUT=6s", "SECKILL_HANDLER_TIMEOUT=5s", "SECKILL_QUEUE_TIMEOUT=2s", "SECKILL_GATE_TIMEOUT=1s", "SECKILL_REDIS_TIMEOUT=500ms"}
}

// newRig gives stores of which Redis forgets nothing when it is killed: each of its
// writes reaches the operating system before its answer, whatever the disk does.
func newRig(t testing.TB) *e2e.Rig {
	t.Helper()
	rig := *e2e.NewRig(t)
	rig.Redis = testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"appendfsync no"}})
	return &rig
}

func newHouse(t testing.TB) *house {
	t.Helper()
	e2e.Binary(t)
	h := &house{t: t, rig: newRig(t), since: time.Now()}
	h.redis, h.log = testenv.Proxy(t, h.rig.Redis.URL), testenv.Proxy(t, h.rig.URL)
	through := *h.rig
	through.URL = h.log.URL()
	for range 2 {
		env := append(through.Settings(t), append(deadlines(), "SECKILL_REDIS_URL="+h.redis.URL())...)
		h.apis = append(h.apis, e2e.NewChild(t, e2e.ChildOptions{Env: env, Args: []string{"--roles", "api"}}))
		h.backs = append(h.backs, e2e.NewChild(t, e2e.ChildOptions{Env: env, Args: []string{"--roles", "recorder,relay,projector,scheduler"}}))
	}
	for _, c := range h.children() {
		c.Start()
	}
	h.awake()
	for _, c := range h.apis {
		way := testenv.Proxy(t, c.URL)
		h.ways = append(h.ways, way)
		h.doors = append(h.doors, e2e.NewClient(way.URL()).Within(patience))
	}
	h.observer = h.rig.Node(t, e2e.NodeOptions{APIOnly: true})
	return h
}

func (h *house) children() []*e2e.Child { return append(append([]*e2e.Child{}, h.apis...), h.backs...) }

// awake waits until every process takes requests.
func (h *house) awake() {
	h.t.Helper()
	for _, c := range h.children() {
		if !c.Alive() {
			c.Start()
		}
	}
	for _, c := range h.children() {
		h.keepUp(c)
	}
}

// keepUp waits until a process takes requests. One that gave up, since a store did not
// answer it in time, is started again, as whoever keeps processes running does.
func (h *house) keepUp(c *e2e.Child) {
	h.t.Helper()
	testenv.Eventually(h.t, 2*time.Minute, func() error {
		if !c.Alive() {
			c.Start()
		}
		return c.Ready()
	})
}

// market opens a sale.
func (h *house) market(of terms, stock int, seed uint64, asked *atomic.Int64) *market {
	h.t.Helper()
	m := &market{stock: stock, terms: of, doors: h.doors, since: h.since, seed: seed, asked: asked}
	m.open(h.t)
	h.selling(m)
	return m
}

// selling waits until a sale sells.
func (h *house) selling(m *market) { awaitSelling(h.t, h.observer, m) }

// late tells whether a node said that the gate gets what came back later: of an order,
// or of a sale's release.
func (h *house) late(id string) bool {
	for _, c := range h.apis {
		for line := range strings.Lines(c.Log()) {
			if (strings.Contains(line, "the gate follows later") || strings.Contains(line, "the gate gets them later")) && strings.Contains(line, `"`+id+`"`) {
				return true
			}
		}
	}
	return false
}

// awaitSelling waits until every bucket of a sale sells, and what has no gate is known.
func awaitSelling(t testing.TB, observer *e2e.Node, m *market) {
	t.Helper()
	if m.terms.Strategy != string(domain.StrategyPostgres) {
		observer.AwaitOpen(t, m.id)
	}
}

// awaitRest waits until nothing of a sale is on its way: every order that a buyer knows
// of is decided, the log has recorded what the journals hold, and the gate has applied
// what the log says.
func awaitRest(t testing.TB, observer *e2e.Node, m *market) {
	t.Helper()
	awaitSelling(t, observer, m)
	observer.AwaitDecided(t, m.known())
	testenv.Eventually(t, 60*time.Second, func() error { return resting(context.Background(), observer, m.id) })
}

// resting gives what is still on its way.
func resting(ctx context.Context, n *e2e.Node, sale string) error {
	folded, err := n.Sales.Fold(ctx, sale)
	if err != nil {
		return err
	}
	for _, place := range commands.Places(n.Env.Store, folded.Sale) {
		guards, err := n.Store.Guards(ctx, []string{domain.StockStream(sale, "item", place.Bucket)})
		if err != nil {
			return err
		}
		cursors, err := n.Store.Cursors(ctx, []int{place.Lane()})
		if err != nil {
			return err
		}
		seen, err := n.Gate.Peek(ctx, place, []string{"item"})
		if err != nil {
			return err
		}
		lane, c := seen.Lane, cursors[0]
		if !lane.Selling() || lane.Epoch != c.Epoch || lane.N != c.N || seen.Stocks[0].Available != guards[0].Left() {
			return fmt.Errorf("bucket %d: the journal is at %d-%d, its record at %d-%d; the gate has %d left, the log %d",
				place.Bucket, lane.Epoch, lane.N, c.Epoch, c.N, seen.Stocks[0].Available, guards[0].Left())
		}
	}
	return nil
}

// fates reads what the log says of all orders of a sale.
func fates(ctx context.Context, log eventstore.Reader, sale string) (map[string]fate, error) {
	all, orders := map[string]fate{}, map[string]domain.Order{}
	for after := int64(0); ; {
		page, err := log.Find(ctx, eventstore.Filter{SaleID: sale, Prefix: "order-"}, after, 500)
		if err != nil {
			return nil, err
		}
		for i := range page {
			r := &page[i]
			after = r.Position
			ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
			if err != nil {
				return nil, err
			}
			var meta commands.Meta
			if err := json.Unmarshal(r.Metadata, &meta); err != nil {
				return nil, errors.New("an event without a trace: " + err.Error())
			}
			o := orders[r.OrderID].FoldOrder(ev)
			orders[r.OrderID] = o
			f := all[r.OrderID]
			if f.id == "" {
				f = fate{id: r.OrderID, buyer: o.BuyerID, trace: meta.TraceID}
				for _, line := range o.Lines {
					f.units += int(line.Quantity)
				}
			}
			f.status, f.reason = string(o.Status), string(o.Reason)
			all[r.OrderID] = f
		}
		if len(page) == 0 {
			return all, nil
		}
	}
}

// withdrawn reads the traces of all withdrawals of a sale that were made.
func withdrawn(ctx context.Context, log eventstore.Reader, sale string) (map[string]bool, error) {
	made := map[string]bool{}
	page, err := log.Find(ctx, eventstore.Filter{SaleID: sale, Type: (&domain.StockWithdrawn{}).EventType()}, 0, 1000)
	for i := range page {
		var meta commands.Meta
		if err := json.Unmarshal(page[i].Metadata, &meta); err != nil {
			return nil, err
		}
		made[meta.TraceID] = true
	}
	return made, err
}

// read fills in what the log says in the end.
func (e *ending) read(ctx context.Context, log eventstore.Reader, sale string) (err error) {
	if e.fates, err = fates(ctx, log, sale); err == nil {
		e.withdrawn, err = withdrawn(ctx, log, sale)
	}
	return err
}

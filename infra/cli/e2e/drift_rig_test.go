package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
	"seckill/projections"
)

// plant is a quiet installation whose stores a test changes by hand: nothing runs
// that would mend anything by itself.
type plant struct {
	t     testing.TB
	rig   *Rig
	node  *Node
	sale  string
	place domain.Place
	redis *redis.Client
	// orders by buyer, recorded and in the views
	orders map[string]string
}

// newPlant sells units to buyers b-0 … and stops everything that works by itself.
func newPlant(t *testing.T, buyers int) *plant {
	t.Helper()
	rig := NewRig(t)
	node := rig.Node(t, NodeOptions{})
	terms := Terms(100)
	terms.PaymentWindow, terms.RequireTicket = int64(plantWindow.Seconds()), true
	sale := node.Schedule(t, terms)
	c := newTally()
	for i := range buyers {
		buyer := fmt.Sprintf("b-%d", i)
		res, err := node.BuyByTicket(sale, buyer)
		if err != nil || res.Outcome != domain.Reserved {
			t.Fatalf("buyer %s: got %v, %v; want reserved", buyer, res.Outcome, err)
		}
		c.add(buyer, res, err)
	}
	StandingChecks(t, node, sale, c.accepted)
	awaitViews(t, rig, node, 30*time.Second)
	node.Stop()
	p := &plant{t: t, rig: rig, sale: sale, orders: map[string]string{}}
	p.node = rig.Node(t, NodeOptions{APIOnly: true})
	p.place = domain.Place{Store: p.node.Env.Store, Sale: sale}
	for order, buyer := range c.accepted {
		p.orders[buyer] = order
	}
	p.connect()
	return p
}

func (p *plant) connect() {
	p.t.Helper()
	opts, err := redis.ParseURL(p.rig.Redis.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	p.redis = redis.NewClient(opts)
	p.t.Cleanup(func() { _ = p.redis.Close() })
}

// key gives a key of the sale's lane in Redis.
func (p *plant) key(name string) string {
	return fmt.Sprintf("%s:{s%dl%d}:%s", p.rig.Namespace, p.place.Store, p.place.Lane(), name)
}

func (p *plant) saleKey() string  { return p.key("sale:" + p.sale + ":0") }
func (p *plant) stockKey() string { return p.key("stock:" + p.sale + ":item:0") }

// keyField is the field of the key that a buyer came with.
func (p *plant) keyField(buyer string) string {
	return "k:" + commands.KeyDigest(buyer, p.sale, "purchase", "key-"+buyer)
}

// ticketField is the field of the ticket that a buyer came with.
func (p *plant) ticketField(buyer string) string {
	p.t.Helper()
	fields, err := p.redis.HGetAll(context.Background(), p.saleKey()).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	for field, order := range fields {
		if strings.HasPrefix(field, "t:") && order == p.orders[buyer] {
			return field
		}
	}
	p.t.Fatalf("no ticket of %s", buyer)
	return ""
}

// ghost is an order id of ours that no store knows.
func (p *plant) ghost(buyer string) string {
	p.t.Helper()
	id, err := domain.NewOrderID(p.node.Env.Keys, p.place, buyer, [10]byte{1, 2, 3})
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// body is the digest of the body that every purchase of a plant has.
func (p *plant) body() string { return bodyOf([]domain.Line{{SKU: "item", Quantity: 1}}) }

func (p *plant) do(args ...any) {
	p.t.Helper()
	if err := p.redis.Do(context.Background(), args...).Err(); err != nil {
		p.t.Fatalf("%v: %v", args, err)
	}
}

// sql changes a table as its owner.
func (p *plant) sql(query string, args ...any) {
	p.t.Helper()
	conn, err := pgx.Connect(context.Background(), p.rig.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "set search_path = "+p.rig.Namespace); err != nil {
		p.t.Fatal(err)
	}
	tag, err := conn.Exec(context.Background(), query, args...)
	if err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	if tag.RowsAffected() == 0 {
		p.t.Fatalf("%s changed nothing", query)
	}
}

// buy makes a purchase that no recorder sees.
func (p *plant) buy(buyer string) string {
	p.t.Helper()
	res, err := p.node.BuyByTicket(p.sale, buyer)
	if err != nil || res.Outcome != domain.Reserved {
		p.t.Fatalf("buyer %s: got %v, %v; want reserved", buyer, res.Outcome, err)
	}
	return res.Order.ID
}

// reconcile gives the kinds found and how often.
func (p *plant) reconcile() (commands.SaleReport, map[string]int) {
	p.t.Helper()
	report, err := p.node.Reconciler.Reconcile(context.Background(), p.sale)
	if err != nil {
		p.t.Fatalf("reconcile: %v", err)
	}
	return report.Sales[0], kindsOf(report.Sales[0])
}

func kindsOf(s commands.SaleReport) map[string]int {
	kinds := map[string]int{}
	for _, f := range s.Findings {
		kinds[f.Kind]++
	}
	return kinds
}

func (p *plant) repair() commands.SaleReport {
	p.t.Helper()
	report, err := p.node.Repairer.Repair(context.Background(), p.sale, commands.Actor{By: "tester", Note: "planted"})
	if err != nil {
		p.t.Fatalf("repair: %v", err)
	}
	return report.Sales[0]
}

// projected waits until every view of the node has what the log has.
func (p *plant) projected(n *Node) {
	p.t.Helper()
	awaitViews(p.t, p.rig, n, 30*time.Second)
}

// head is the number of events.
func (p *plant) head() int64 {
	p.t.Helper()
	head, err := p.node.Store.Head(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	return head.Number
}

// standing runs a whole node again and holds it to the standing checks.
func (p *plant) standing(except ...string) {
	p.t.Helper()
	n := p.rig.Node(p.t, NodeOptions{})
	n.AwaitOpen(p.t, p.sale)
	p.projected(n)
	accepted := map[string]string{}
	for _, buyer := range slices.Sorted(maps.Keys(p.orders)) {
		if !slices.Contains(except, buyer) {
			accepted[p.orders[buyer]] = buyer
		}
	}
	StandingChecks(p.t, n, p.sale, accepted)
	n.Stop()
}

// skipJournal lets the log's cursor pass what the lane has written, and takes the
// journal away, as if a recorder had passed over it.
func (p *plant) skipJournal() {
	p.t.Helper()
	lane := p.node.lane(p.t, p.sale)
	p.sql(`insert into cursors (lane, epoch, n, digest) values ($1, $2, $3, $4)`, p.place.Lane(), lane.Epoch, lane.N, lane.Digest)
	p.do("DEL", p.key("journal"))
}

// park sets an order aside in order_view, as a projector that could not apply it.
func (p *plant) park(order string) {
	p.t.Helper()
	for _, projection := range projections.All() {
		if projection.Name == "order_view" {
			p.sql(`insert into dead_letters (projection, version, store, shard, sequence, position, hash, type, state, reason, tries, parked_at)
				select 'order_view', $1, $2, $3, order_id, position, hash, type, 'parked', 'planted', 1, now() from events where stream = $4`,
				projection.Version, p.place.Store, eventstore.ShardOf(order, eventstore.DefaultShards), "order-"+order)
		}
	}
	p.sql(`delete from order_view where order_id = $1`, order)
}

// unpaid waits until the time to pay is over.
func (p *plant) unpaid() {
	p.t.Helper()
	over := time.Now().Add(plantWindow + 2*time.Second)
	testenv.Eventually(p.t, 30*time.Second, func() error {
		if time.Now().Before(over) {
			return errors.New("not yet")
		}
		return nil
	})
}

// plantWindow is the time to pay in a plant's sale.
const plantWindow = 3 * time.Second

// oversell writes more into the log than was ever released, around its guard.
func (p *plant) oversell() {
	p.t.Helper()
	stream := domain.StockStream(p.sale, "item", 0)
	name, schema, payload, err := domain.Encode(&domain.StockWithdrawn{SaleID: p.sale, SKU: "item", WithdrawID: "by-hand", Quantity: 500})
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = p.node.Store.Submit(context.Background(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
		return &eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{
			{ID: uuid.New(), Type: name, Schema: schema, SaleID: p.sale, Payload: payload, Metadata: []byte(`{}`)},
		}}}}, nil
	}})
	if err != nil {
		p.t.Fatal(err)
	}
}

// readAllRecords reads the whole log.
func readAllRecords(t testing.TB, n *Node) []eventstore.Record {
	t.Helper()
	var all []eventstore.Record
	for after := int64(0); ; after = all[len(all)-1].Position {
		page, err := n.Store.ReadAll(context.Background(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

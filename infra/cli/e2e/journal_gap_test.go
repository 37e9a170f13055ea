package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// heldJournal shows a recorder nothing until it is let go.
type heldJournal struct {
	commands.Journal
	open chan struct{}
}

func (j *heldJournal) Read(ctx context.Context, after []eventstore.Cursor, max int, wait time.Duration) ([]commands.JournalEntry, error) {
	select {
	case <-j.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return j.Journal.Read(ctx, after, max, wait)
}

// torn is an installation in which three buyers were told yes, none is recorded yet,
// and nobody repairs by hand.
type torn struct {
	*plant
	held *heldJournal
}

func newTorn(t *testing.T) *torn {
	rig := NewRig(t)
	held := &heldJournal{open: make(chan struct{})}
	n := rig.Node(t, NodeOptions{Journal: func(j commands.Journal) commands.Journal {
		held.Journal = j
		return held
	}})
	terms := Terms(10)
	terms.RequireTicket = true
	p := &plant{t: t, rig: rig, node: n, sale: n.Schedule(t, terms), orders: map[string]string{}}
	p.place = domain.Place{Store: n.Env.Store, Sale: p.sale}
	p.connect()
	// What every process has that keeps lanes; nobody leads the comparing of books.
	watch := &commands.DriftWatch{
		Env: n.Env, Sales: n.Sales, Reconcile: n.Reconciler.Reconcile, Operator: n.Operator, Settle: n.Repairer.Settle,
		Alarm: n.Alarms.Raise,
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = watch.RunBroken(ctx, n.Broken) }) // it ends with ctx
	t.Cleanup(func() { cancel(); running.Wait() })
	for i := range 3 {
		buyer := fmt.Sprintf("t-%d", i)
		p.orders[buyer] = p.buy(buyer) // each in an entry of its own
	}
	return &torn{p, held}
}

func TestAQueuedOrderWhoseEntryIsDeletedEndsByItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose func(p *torn, epoch int64)
		want map[string]domain.OrderStatus // other than placed
	}{
		"the last entry":           {lose: func(p *torn, epoch int64) { p.delete(epoch, 3) }},
		"an entry before the last": {lose: func(p *torn, epoch int64) { p.delete(epoch, 2) }},
		"the first entry":          {lose: func(p *torn, epoch int64) { p.delete(epoch, 1) }},
		"the whole journal":        {lose: func(p *torn, _ int64) { p.do("DEL", p.key("journal")) }},
		"the last entry and its units": {lose: func(p *torn, epoch int64) {
			p.do("HDEL", p.stockKey(), "h:"+p.orders["t-2"])
			p.do("HINCRBY", p.stockKey(), "available", 1)
			p.delete(epoch, 3)
		}, want: map[string]domain.OrderStatus{"t-2": domain.OrderStatusRejected}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTorn(t)
			lane := p.node.lane(t, p.sale)
			if lane.N != 3 {
				t.Fatalf("the lane has %d entries, want one for each purchase", lane.N)
			}
			c.lose(p, lane.Epoch)
			close(p.held.open)
			accepted := map[string]string{}
			for buyer, order := range p.orders {
				want := c.want[buyer]
				if want == "" {
					want = domain.OrderStatusPlaced
				}
				answer := p.node.AwaitStatus(t, buyer, order, want)
				if want == domain.OrderStatusRejected && answer.Reason != domain.RejectedLost {
					t.Errorf("%s is rejected for %s, want lost", buyer, answer.Reason)
				}
				accepted[order] = buyer
			}
			if p.node.Alarms.Count(commands.AlarmJournal) == 0 {
				t.Error("no alarm says that the journal lost an entry")
			}
			p.projected(p.node)
			testenv.Eventually(t, 60*time.Second, func() error { // the lane may just be recovering
				report, err := p.node.Reconciler.Reconcile(context.Background(), p.sale)
				if err == nil && report.Drift() > 0 {
					err = fmt.Errorf("found %+v", report.Sales[0].Findings)
				}
				return err
			})
			for buyer, order := range p.orders {
				if c.want[buyer] != "" {
					continue
				}
				// What is placed out of the gate's record keeps its key.
				if again, err := p.node.BuyByTicket(p.sale, buyer); err != nil || again.Order.ID != order {
					t.Errorf("%s asks again: got %s %s, %v; want %s", buyer, again.Outcome, again.Order.ID, err, order)
				}
			}
			StandingChecks(t, p.node, p.sale, accepted)
		})
	}
}

// delete takes an entry out of the journal.
func (p *torn) delete(epoch, n int64) {
	p.t.Helper()
	gone, err := p.redis.XDel(context.Background(), p.key("journal"), fmt.Sprintf("%d-%d", epoch, n)).Result()
	if err != nil || gone != 1 {
		p.t.Fatalf("delete entry %d-%d: %d gone, %v", epoch, n, gone, err)
	}
}

func TestMoreSuspectsThanARunLooksAtAreAFindingAndTheNextRunGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlant(t, 8)
	p.sql(`delete from claims where sale_id = $1`, p.sale)
	p.node.Reconciler.ReconcilerOptions = commands.ReconcilerOptions{Suspects: 1}
	s, kinds := p.reconcile()
	if s.Drift != 2 || kinds[commands.FindingClaim] != 1 || kinds[commands.FindingMore] != 1 {
		t.Fatalf("got %+v, want one of eight and that there are more", s.Findings)
	}
	for _, f := range s.Findings {
		if f.Kind == commands.FindingMore && !strings.Contains(f.Detail, "nothing is said of the other 7") {
			t.Errorf("said: %s", f.Detail)
		}
	}
	left := p.repair()
	if kinds := kindsOf(left); kinds[commands.FindingMore] != 1 || len(left.Repairs) == 0 {
		t.Fatalf("a repair that did not come to all: got %+v after %d repairs, want that it is to run again", left.Findings, len(left.Repairs))
	}
	for range 3 {
		left = p.repair()
	}
	if left.Drift != 0 {
		t.Errorf("run again: got %+v, want nothing", left.Findings)
	}
	p.node.Reconciler.ReconcilerOptions = commands.ReconcilerOptions{}
	p.standing()
}

// TestARecorderByItselfDecidesTheOrdersOfAJournalThatBroke: no scheduler runs, so nobody
// will ever compare the books; the process that recovers the lane does at once.
func TestARecorderByItselfDecidesTheOrdersOfAJournalThatBroke(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	start := func(roles string) *Child {
		c := NewChild(t, ChildOptions{Env: rig.Settings(t), Args: []string{"--roles", roles}})
		c.Start()
		c.AwaitReady()
		return c
	}
	recorder, api := start("recorder"), start("api,projector")
	client := NewClient(api.URL)
	n := rig.Node(t, NodeOptions{APIOnly: true})
	p := &plant{t: t, rig: rig, node: n, sale: client.CreateSale(t, 5), orders: map[string]string{}}
	p.place = domain.Place{Store: n.Env.Store, Sale: p.sale}
	p.connect()
	testenv.Eventually(t, 30*time.Second, func() error { // the gate learns of the sale
		answer, err := client.Buy(p.sale, "first", "k")
		if err == nil && answer.Status != http.StatusAccepted {
			err = errStatus(answer)
		}
		if err == nil {
			p.orders["first"] = answer.Text("order_id")
		}
		return err
	})
	n.AwaitStatus(t, "first", p.orders["first"], domain.OrderStatusPlaced)
	recorder.Freeze()
	testenv.Eventually(t, 30*time.Second, func() error { // else its last read would still hear of the entry
		info, err := p.redis.Info(t.Context(), "clients").Result()
		if err == nil && !strings.Contains(info, "blocked_clients:0\r") {
			err = errors.New("the recorder still waits for entries")
		}
		return err
	})
	answer, err := client.Buy(p.sale, "late", "k")
	if err != nil || answer.Status != http.StatusAccepted {
		t.Fatalf("got %d %s, %v", answer.Status, answer.Raw, err)
	}
	p.orders["late"] = answer.Text("order_id")
	lane := n.lane(t, p.sale)
	(&torn{plant: p}).delete(lane.Epoch, lane.N)
	recorder.Thaw()
	n.AwaitStatus(t, "late", p.orders["late"], domain.OrderStatusPlaced)
	StandingChecks(t, n, p.sale, map[string]string{p.orders["first"]: "first", p.orders["late"]: "late"})
}

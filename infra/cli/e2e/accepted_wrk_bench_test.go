package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/infra/figures"
	"seckill/infra/testenv"
)

var (
	acceptedStock  = flag.Int("accepted.stock", 2000, "units of a sale whose buyers are counted until they are gone")
	acceptedRounds = flag.Int("accepted.rounds", 1, "how often both sides are driven")
	acceptedConns  = flag.Int("accepted.conns", 128, "connections of the buyers")
)

// backRoles are what a process does that answers no buyer.
const backRoles = "recorder,relay,projector,scheduler"

// rushes are rounds in which each of so many buyers presses once: at the yardstick, and
// at a sale that has a unit for each.
type rushes struct {
	b      *testing.B
	rig    *Rig
	node   *Child
	client *Client
	bare   *side
	tokens string
	buyers int

	bareRate, bareCost []float64
	rate, cost         []float64 // until the last had pressed
	again              int64     // who were told to come again
}

func newRushes(b *testing.B, r *Rig, node *Child, buyers int) *rushes {
	return &rushes{b: b, rig: r, node: node, client: NewClient(node.URL), bare: startBare(b), tokens: tokenFile(b, buyers), buyers: buyers}
}

// openSale makes a sale of a unit for each buyer, and one for whoever finds out that it
// sells.
func (x *rushes) openSale() string {
	x.b.Helper()
	sale := x.client.CreateSale(x.b, x.buyers+1)
	testenv.Eventually(x.b, time.Minute, func() error {
		return statusOf(x.client.Buy(sale, "the-first", "k"))
	})
	return sale
}

// yardstick drives the bare handler.
func (x *rushes) yardstick() {
	x.b.Helper()
	rate, cost := x.bare.press(x.b, x.tokens, x.buyers, *acceptedConns).answered()
	x.bareRate, x.bareCost = append(x.bareRate, rate), append(x.bareCost, cost)
}

// rush drives a sale. There is a unit for each; who is told to come again, which a busy
// machine does, counts as not accepted, and what that took counts all the same.
func (x *rushes) rush(sale string) presses {
	x.b.Helper()
	at := &side{url: x.node.URL, path: "/api/v1/sales/" + sale + "/purchases", pid: x.node.cmd.Process.Pid}
	ours := at.press(x.b, x.tokens, x.buyers, *acceptedConns)
	if ours.accepted() == 0 {
		x.b.Fatalf("none of %d was accepted", x.buyers)
	}
	rate, cost := ours.of(x.buyers - int(ours.refused))
	x.rate, x.cost = append(x.rate, rate), append(x.cost, cost)
	x.again += ours.refused
	return ours
}

// beside makes the figure of a row out of our rates and costs.
func (x *rushes) beside(row string, rates, costs []float64, details ...figures.Detail) figures.Figure {
	rate, cost := median(rates)/median(x.bareRate), median(x.bareCost)/median(costs)
	return figures.Figure{
		Row: row, Ours: median(rates), Yardstick: median(x.bareRate), Value: min(rate, cost), Settings: x.rig.settings(x.b),
		Details: append([]figures.Detail{
			{Name: "ratio of rates", Value: rate, Unit: "×"},
			{Name: "ratio of the server's processor time a request", Value: cost, Unit: "×"},
			{Name: "processor time of our process a purchase", Value: median(costs), Unit: "µs"},
			{Name: "processor time of the bare handler a request", Value: median(x.bareCost), Unit: "µs"},
			{Name: "told to come again, in all rounds", Value: float64(x.again)},
			{Name: "buyers of a round, connections", Value: float64(x.buyers), Unit: fmt.Sprintf("over %d", *acceptedConns)},
		}, details...),
	}
}

// BenchmarkAcceptedBesideABareHandler is how many purchases an API process accepts (202)
// until the stock ends, beside how many requests a bare handler answers. The recorder
// has another process and begins when the stock has ended; then the log must have
// every order.
func BenchmarkAcceptedBesideABareHandler(b *testing.B) {
	r := durableRig(b)
	back := Serve(b, ChildOptions{Env: append(r.Settings(b), gatesOn[:]...), Args: []string{"--roles", backRoles}})
	node := Serve(b, ChildOptions{Env: append(r.Settings(b), gatesOn[:]...), Args: []string{"--roles", "api"}})
	x := newRushes(b, r, node, *acceptedStock)
	var redis []float64
	for range b.N {
		var sales []string
		for range *acceptedRounds {
			sales = append(sales, x.openSale())
		}
		back.Stop()
		seen := map[string]int{}
		for _, sale := range sales {
			x.yardstick()
			before := r.spentBy(b, node)
			seen[sale] = x.rush(sale).accepted()
			redis = append(redis, r.spentBy(b, node).each(before, x.buyers).redis)
		}
		back.Start()
		back.AwaitReady()
		for sale, accepted := range seen {
			r.awaitRecorded(b, sale, accepted)
		}
	}
	figures.Tell(b, x.beside("accepted", x.rate, x.cost, figures.Detail{Name: "processor time of Redis a purchase", Value: median(redis), Unit: "µs"}))
}

// awaitRecorded waits until the log has so many orders of a sale.
func (r *Rig) awaitRecorded(b *testing.B, sale string, orders int) {
	b.Helper()
	testenv.Eventually(b, 10*time.Minute, func() error {
		var placed int
		err := r.Pool.QueryRow(b.Context(), "select count(*) from claims where sale_id = $1", sale).Scan(&placed)
		if err == nil && placed < orders {
			err = fmt.Errorf("%d of %d orders are in the log", placed, orders)
		}
		return err
	})
}

// BenchmarkPlacedBesideABareHandler is how many purchases come from the first request to
// the last row of all views in a second, by one process with every role, on the same
// cores as its stores and its load, beside a bare handler.
func BenchmarkPlacedBesideABareHandler(b *testing.B) {
	r := durableRig(b)
	node := ServeRig(b, r, gatesOn[:]...)
	x := newRushes(b, r, node, *acceptedStock)
	var placed, nodeCost, redis, postgres []float64
	for range b.N {
		for range *acceptedRounds {
			sale := x.openSale()
			r.awaitProjected(b, sale, 1)
			x.yardstick()
			before := r.spentBy(b, node)
			p := x.rush(sale)
			r.awaitProjected(b, sale, p.accepted())
			took := time.Since(p.began)
			each := r.spentBy(b, node).each(before, p.accepted())
			placed = append(placed, float64(p.accepted())/took.Seconds())
			nodeCost, redis, postgres = append(nodeCost, each.node), append(redis, each.redis), append(postgres, each.postgres)
		}
	}
	figures.Tell(b, x.beside("accepted-beside", x.rate, x.cost))
	figures.Tell(b, x.beside("placed", placed, nodeCost,
		figures.Detail{Name: "processor time of Redis a purchase", Value: median(redis), Unit: "µs"},
		figures.Detail{Name: "processor time of PostgreSQL a purchase", Value: median(postgres), Unit: "µs"}))
}

// statusOf gives an error for an answer that is no success.
func statusOf(a Answer, err error) error {
	if err == nil && a.Status/100 != http.StatusOK/100 {
		err = errStatus(a)
	}
	return err
}

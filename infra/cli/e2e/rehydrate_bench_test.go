package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/figures"
)

// rehydrateOrders are the sizes of BenchmarkRehydrate: make bench-rehydrate goes up
// to a million.
var rehydrateOrders = flag.String("rehydrate.orders", "20000", "orders of the sale in BenchmarkRehydrate, separated by commas")

// BenchmarkRehydrate builds the gate of a sale again from its log, on a Redis that
// was emptied, and once more with everything in place. Memory is the largest
// resident set of this process beyond that of before.
func BenchmarkRehydrate(b *testing.B) {
	for _, text := range strings.Split(*rehydrateOrders, ",") {
		orders, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("orders=%d", orders), func(b *testing.B) {
			rig := durableRig(b)
			node := rig.Node(b, NodeOptions{APIOnly: true})
			sale, err := node.Operator.Schedule(context.Background(), Terms(int64(orders)), commands.Actor{By: "test"})
			if err != nil {
				b.Fatal(err)
			}
			node.seed(b, sale.ID, orders)
			for b.Loop() {
				rig.Redis.Wipe()
				emptied, most := rehydrateOnce(b, node, sale.ID, orders)
				again, mostAgain := rehydrateOnce(b, node, sale.ID, orders)
				b.ReportMetric(emptied.Seconds(), "s")
				b.ReportMetric(again.Seconds(), "s-again")
				b.ReportMetric(float64(orders)/emptied.Seconds(), "orders/s")
				b.ReportMetric(float64(max(most, mostAgain))/(1<<20), "MiB-more")
				b.ReportMetric(0, "ns/op")
				figures.Tell(b, figures.Figure{Row: "rehydrate", Ours: float64(orders) / emptied.Seconds(), Value: float64(orders) / emptied.Seconds(),
					Settings: rig.durability(b), Details: []figures.Detail{
						{Name: "orders", Value: float64(orders)}, {Name: "an emptied Redis", Value: emptied.Seconds(), Unit: "s"},
						{Name: "again, with everything in place", Value: again.Seconds(), Unit: "s"},
						{Name: "memory more than before", Value: float64(max(most, mostAgain)) / (1 << 20), Unit: "MiB"},
					}})
			}
		})
	}
}

// rehydrateOnce gives the time of a rehydration, and how much memory it took.
func rehydrateOnce(b *testing.B, n *Node, sale string, orders int) (took time.Duration, more int64) {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	before := resident()
	peak := watchResident()
	began := time.Now()
	done, err := n.Keeper.Rehydrate(context.Background(), sale, nil)
	took = time.Since(began)
	more = peak() - before
	if err != nil || done.Events != int64(orders)+1 {
		b.Fatalf("got %+v, %v; want %d events", done, err, orders+1)
	}
	seen, err := n.Gate.Peek(context.Background(), domain.Place{Store: n.Env.Store, Sale: sale}, []string{"item"})
	if err != nil || !seen.Lane.Selling() || seen.Stocks[0].State != commands.HashOpen || seen.Stocks[0].Available != 0 {
		b.Fatalf("afterwards the gate has %+v (%v), want it open and sold out", seen, err)
	}
	return took, more
}

// seed stores that many orders of one unit each, as the recorder does.
func (n *Node) seed(b *testing.B, sale string, orders int) {
	b.Helper()
	const group = 1000
	stream := domain.StockStream(sale, "item", 0)
	place := domain.Place{Store: n.Env.Store, Sale: sale}
	for at := 0; at < orders; at += group {
		size := min(group, orders-at)
		work := eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Expected: eventstore.AnyVersion}},
			Guards: []eventstore.Guard{{Stream: stream, Released: int64(orders), Reserved: int64(at + size)}}}
		for i := at; i < at+size; i++ {
			var random [10]byte
			copy(random[:], fmt.Sprintf("%010d", i))
			buyer := fmt.Sprintf("buyer-%d", i)
			order, err := domain.NewOrderID(n.Env.Keys, place, buyer, random)
			if err != nil {
				b.Fatal(err)
			}
			entry := fmt.Sprintf("1-%d.%d", at/group+1, i-at+1)
			price := domain.Money{Minor: 1990, Currency: "CNY"}
			key, ticket := buyer+":purchase:key", buyer+"-"+strconv.Itoa(i)
			work.Appends[0].Events = append(work.Appends[0].Events, n.seedEvent(b, sale, order, &domain.StockReserved{
				SaleID: sale, SKU: "item", OrderID: order, BuyerID: buyer, Quantity: 1, Entry: entry,
				Key: key, BodyHash: "body", Ticket: ticket,
			}))
			work.Appends = append(work.Appends, eventstore.Append{Stream: domain.OrderStream(order), Events: []eventstore.NewEvent{
				n.seedEvent(b, sale, order, &domain.OrderPlaced{
					OrderID: order, SaleID: sale, BuyerID: buyer, Lines: []domain.OrderLine{{SKU: "item", Quantity: 1, Price: price}}, Amount: price,
					AcceptedAt: time.Now(), PayBy: time.Now().Add(24 * time.Hour), Entry: entry, Ordinal: 1, Key: key, BodyHash: "body",
				})}})
			work.Claims = append(work.Claims, eventstore.Claim{SaleID: sale, BuyerID: buyer, Ordinal: 1, OrderID: order, Quantity: 1, Live: true,
				Key: key, BodyHash: "body"})
		}
		if _, err := n.Store.Submit(context.Background(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) { return &work, nil }}); err != nil {
			b.Fatal(err)
		}
	}
}

func (n *Node) seedEvent(b *testing.B, sale, order string, e domain.Event) eventstore.NewEvent {
	b.Helper()
	name, schema, payload, err := domain.Encode(e)
	if err != nil {
		b.Fatal(err)
	}
	return eventstore.NewEvent{ID: n.Env.NewID(), Type: name, Schema: schema, SaleID: sale, OrderID: order, Payload: payload, Metadata: []byte(`{"by":"recorder"}`)}
}

// resident is what this process holds in memory, in bytes.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// watchResident finds the largest resident set until peak is called.
func watchResident() (peak func() int64) {
	var most atomic.Int64
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most.Store(max(most.Load(), resident()))
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 { close(quit); <-done; return most.Load() }
}

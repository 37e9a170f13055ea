package pgstore_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg/pgtest"
)

// BenchmarkAppend appends works of a hundred events of 300 bytes each, from
// eight submitters at once, and reports events per second.
func BenchmarkAppend(b *testing.B) {
	store := open(b, pgstore.Options{})
	const perWork, submitters = 100, 8
	payload := bytes.Repeat([]byte("x"), 300)
	b.ResetTimer()
	var todo sync.WaitGroup
	works := make(chan int)
	for range submitters {
		todo.Go(func() {
			for i := range works {
				a := eventstore.Append{Stream: fmt.Sprintf("order-%d", i)}
				for range perWork {
					a.Events = append(a.Events, eventstore.NewEvent{ID: newID(b), Type: "order.placed", Schema: 1, SaleID: "s1", OrderID: "o1", Payload: payload})
				}
				submit(b, store, eventstore.Work{
					Needs: eventstore.Needs{Streams: []string{a.Stream}},
					Decide: func(eventstore.Look) (*eventstore.Group, error) {
						return &eventstore.Group{Appends: []eventstore.Append{a}}, nil
					},
				})
			}
		})
	}
	for i := range b.N {
		works <- i
	}
	close(works)
	todo.Wait()
	b.ReportMetric(float64(b.N*perWork)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkPurchases records purchases in works of 500, each purchase an event
// in its order's stream, one in the stock stream and a claim.
func BenchmarkPurchases(b *testing.B) {
	store := open(b, pgstore.Options{})
	const perWork = 500
	payload := bytes.Repeat([]byte("x"), 300)
	works := make([]eventstore.Work, 0, b.N/perWork+1)
	for n := 0; n < b.N; n += perWork {
		works = append(works, purchases(b, n, min(perWork, b.N-n), payload))
	}
	b.ResetTimer()
	var todo sync.WaitGroup
	for _, w := range works {
		todo.Go(func() { submit(b, store, w) })
	}
	todo.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "purchases/s")
}

func purchases(b *testing.B, from, count int, payload []byte) eventstore.Work {
	const stock = "stock-s1-sku-0"
	w := eventstore.Work{Needs: eventstore.Needs{Streams: []string{stock}, Guards: []string{stock}, Lanes: []int{1}}}
	g := &eventstore.Group{}
	reserved := eventstore.Append{Stream: stock, Expected: eventstore.AnyVersion}
	for i := from; i < from+count; i++ {
		order, buyer := fmt.Sprintf("o%012d", i), fmt.Sprintf("buyer-%d", i)
		w.Needs.Streams = append(w.Needs.Streams, "order-"+order)
		w.Needs.Claims = append(w.Needs.Claims, eventstore.ClaimKey{SaleID: "s1", BuyerID: buyer})
		event := func(name string) eventstore.NewEvent {
			return eventstore.NewEvent{ID: newID(b), Type: name, Schema: 1, SaleID: "s1", OrderID: order, Payload: payload, Metadata: []byte(`{"trace":"0123456789abcdef"}`)}
		}
		g.Appends = append(g.Appends, eventstore.Append{Stream: "order-" + order, Events: []eventstore.NewEvent{event("order.placed")}})
		reserved.Events = append(reserved.Events, event("stock.reserved"))
		g.Claims = append(g.Claims, eventstore.Claim{SaleID: "s1", BuyerID: buyer, Ordinal: 1, OrderID: order, Quantity: 1, Live: true})
	}
	g.Appends = append(g.Appends, reserved)
	w.Decide = func(l eventstore.Look) (*eventstore.Group, error) {
		guard, cursor := l.Guard(stock), l.Cursor(1)
		guard.Released += int64(count)
		guard.Reserved += int64(count)
		g.Guards = []eventstore.Guard{guard}
		cursor.N++
		g.Cursors = []eventstore.Cursor{cursor}
		return g, nil
	}
	return w
}

func open(t testing.TB, opts pgstore.Options) *pgstore.Store {
	t.Helper()
	pool, _, ns := pgtest.New(t)
	return start(t, pool, ns, opts)
}

func submit(t testing.TB, s eventstore.Appender, w eventstore.Work) eventstore.Receipt {
	t.Helper()
	r, err := s.Submit(context.Background(), w)
	if err != nil {
		t.Errorf("submit: %v", err)
	}
	return r
}

func newID(t testing.TB) uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

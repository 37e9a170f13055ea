package projections_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg/pgtest"
	"seckill/projections"
)

const patience = 30 * time.Second

// house is a database with a log and its views.
type house struct {
	t     testing.TB
	pool  *pgxpool.Pool
	store *pgstore.Store
	sale  string
	made  int
}

func newHouse(t testing.TB) *house {
	t.Helper()
	pool, _, namespace := pgtest.New(t)
	store, err := pgstore.New(pool, namespace, pgstore.Options{})
	if err != nil {
		t.Fatalf("open the event store: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := store.Close(ctx); err != nil {
			t.Errorf("close the event store: %v", err)
		}
	})
	return &house{t: t, pool: pool, store: store, sale: domain.SaleNumber(1).ID()}
}

func (h *house) source() projections.Source { return projections.Source{Store: 1, Log: h.store} }

func (h *house) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

// quiet drops log lines of faults that a test makes on purpose.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func quick() projections.Options {
	return projections.Options{Backoff: time.Millisecond, Poll: 20 * time.Millisecond, Log: quiet()}
}

func (h *house) projector(list []projections.Projection, o projections.Options) *projections.Projector {
	h.t.Helper()
	return h.projectorOn(h.pool, list, o)
}

func (h *house) projectorOn(db projections.DB, list []projections.Projection, o projections.Options) *projections.Projector {
	h.t.Helper()
	p, err := projections.NewProjector(db, h.source(), list, o)
	if err != nil {
		h.t.Fatalf("make projector: %v", err)
	}
	if err := p.Prepare(h.ctx()); err != nil {
		h.t.Fatalf("prepare projector: %v", err)
	}
	return p
}

// run runs p until the test ends or stop is called.
func (h *house) run(p *projections.Projector) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				h.t.Errorf("projector ended with %v", err)
			}
		case <-time.After(patience):
			h.t.Error("projector does not stop")
		}
	}
	h.t.Cleanup(stop)
	return stop
}

func (h *house) progress(list []projections.Projection) projections.Progress {
	all := append([]projections.Projection(nil), list...)
	for i := range all {
		all[i].Core = true // wait for every one
	}
	return projections.Progress{DB: h.pool, Source: h.source(), Projections: all}
}

// settle waits until all of list has reached the head of the log, without
// telling anybody to hurry.
func (h *house) settle(list []projections.Projection) eventstore.Mark {
	h.t.Helper()
	head := h.head()
	if err := h.progress(list).WaitFor(h.ctx(), head.Number); err != nil {
		h.t.Fatal(err)
	}
	return head
}

func (h *house) head() eventstore.Mark {
	h.t.Helper()
	head, err := h.store.Head(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	return head
}

func (h *house) records() []eventstore.Record {
	h.t.Helper()
	var all []eventstore.Record
	for {
		page, err := h.store.ReadAll(h.ctx(), int64(len(all)), 2000)
		if err != nil {
			h.t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

// orderID makes an id from a number, the same in each run.
func (h *house) orderID(n int, buyer string) string {
	var random [10]byte
	binary.BigEndian.PutUint64(random[:], uint64(n))
	keys := domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of thirty-two bytes....")}}
	id, err := domain.NewOrderID(keys, domain.Place{Store: 1, Sale: h.sale}, buyer, random)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// append stores groups of events, each event at the end of its stream.
func (h *house) append(appends ...eventstore.Append) {
	h.t.Helper()
	for i := range appends {
		appends[i].Expected = eventstore.AnyVersion
	}
	receipt, err := h.store.Submit(h.ctx(), eventstore.Work{
		Needs: eventstore.Needs{Streams: streamsOf(appends)},
		Decide: func(eventstore.Look) (*eventstore.Group, error) {
			return &eventstore.Group{Appends: appends}, nil
		},
	})
	if err != nil || receipt.Outcome != eventstore.Stored {
		h.t.Fatalf("append: outcome %v, error %v", receipt.Outcome, err)
	}
}

func streamsOf(appends []eventstore.Append) []string {
	names := make([]string, len(appends))
	for i := range appends {
		names[i] = appends[i].Stream
	}
	return names
}

func (h *house) event(e domain.Event, order, trace string) eventstore.NewEvent {
	h.t.Helper()
	name, schema, payload, err := domain.Encode(e)
	if err != nil {
		h.t.Fatal(err)
	}
	return eventstore.NewEvent{
		ID: uuid.New(), Type: name, Schema: schema, SaleID: h.sale, OrderID: order, Payload: payload,
		Metadata: []byte(fmt.Sprintf(`{"trace_id":%q}`, trace)),
	}
}

func (h *house) stock() string { return "stock-" + h.sale + "-cup-0" }

func (h *house) release(quantity int64) {
	h.t.Helper()
	e := &domain.StockReleased{SaleID: h.sale, SKU: "cup", Quantity: quantity, By: "op"}
	h.append(eventstore.Append{Stream: h.stock(), Events: []eventstore.NewEvent{h.event(e, "", "setup")}})
}

// placed is the group of one recorded purchase.
func (h *house) placed(n int) (id string, group []eventstore.Append) {
	buyer := fmt.Sprintf("buyer-%d", n%7)
	id = h.orderID(n, buyer)
	at := time.Date(2026, 11, 11, 0, 0, n%60, 123456000, time.UTC)
	price := domain.Money{Minor: 1990, Currency: "CNY"}
	amount, _ := price.Times(int64(n%3 + 1))
	order := &domain.OrderPlaced{
		OrderID: id, SaleID: h.sale, BuyerID: buyer, Lines: []domain.OrderLine{{SKU: "cup", Quantity: int64(n%3 + 1), Price: price}},
		Amount: amount, AcceptedAt: at, PayBy: at.Add(15 * time.Minute), Entry: fmt.Sprintf("1-%d.1", n+1), Ordinal: 1,
	}
	taken := &domain.StockReserved{SaleID: h.sale, SKU: "cup", OrderID: id, BuyerID: buyer, Quantity: int64(n%3 + 1), Entry: order.Entry}
	trace := fmt.Sprintf("trace-%d", n)
	return id, []eventstore.Append{
		{Stream: domain.OrderStream(id), Events: []eventstore.NewEvent{h.event(order, id, trace)}},
		{Stream: h.stock(), Events: []eventstore.NewEvent{h.event(taken, id, trace)}},
	}
}

func (h *house) then(id string, events ...domain.Event) {
	h.t.Helper()
	for _, e := range events {
		h.append(eventstore.Append{Stream: domain.OrderStream(id), Events: []eventstore.NewEvent{h.event(e, id, "later")}})
	}
}

// live appends what happens to count orders: every kind of event there is.
func (h *house) live(count int) {
	h.t.Helper()
	for range count {
		n := h.made
		h.made++
		id, group := h.placed(n)
		if n%5 == 4 {
			buyer := "loser"
			id = h.orderID(n, buyer)
			rejected := &domain.OrderRejected{OrderID: id, SaleID: h.sale, BuyerID: buyer, Reason: domain.RejectedGuard, Lines: []domain.Line{{SKU: "cup", Quantity: 2}}, Entry: "1-1.1"}
			refused := &domain.StockRefused{SaleID: h.sale, SKU: "cup", OrderID: id, BuyerID: buyer, Quantity: 2, Entry: "1-1.1", Reason: domain.RejectedGuard}
			group = []eventstore.Append{
				{Stream: domain.OrderStream(id), Events: []eventstore.NewEvent{h.event(rejected, id, "lost")}},
				{Stream: h.stock(), Events: []eventstore.NewEvent{h.event(refused, id, "lost")}},
			}
			h.append(group...)
			continue
		}
		h.append(group...)
		back := &domain.StockReturned{SaleID: h.sale, SKU: "cup", OrderID: id, Quantity: int64(n%3 + 1), Reason: "over"}
		giveBack := eventstore.Append{Stream: h.stock(), Events: []eventstore.NewEvent{h.event(back, id, "later")}}
		switch n % 4 {
		case 1:
			h.then(id, &domain.OrderPaid{OrderID: id, PaymentID: "p", Amount: domain.Money{Minor: 1, Currency: "CNY"}})
		case 2:
			h.then(id, &domain.OrderCancelled{OrderID: id, By: "buyer", Restock: true}, &domain.OrderPaid{OrderID: id, PaymentID: "late"})
			h.append(giveBack)
		case 3:
			h.then(id, &domain.OrderExpired{OrderID: id}, &domain.OrderRefundDue{OrderID: id, PaymentID: "late", Reason: domain.RefundLate})
			h.append(giveBack)
		}
	}
}

// eventually polls until ok, or fails the test with what was awaited.
func (h *house) eventually(what string, ok func() bool) {
	h.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			h.t.Fatalf("waited %v in vain until %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// batches cuts all records of a shard into batches of at most size records.
func batches(records []eventstore.Record, shard, shards, size int) []eventstore.Batch {
	var out []eventstore.Batch
	var prev eventstore.Mark
	var held []eventstore.Record
	flush := func(last eventstore.Mark) {
		if len(held) > 0 {
			out = append(out, eventstore.Batch{Store: 1, Shard: shard, Shards: shards, Prev: prev, Last: last, Records: held})
			prev, held = last, nil
		}
	}
	for i := range records {
		if records[i].Shard(shards) != shard {
			continue
		}
		held = append(held, records[i])
		if len(held) == size {
			flush(records[i].Head())
		}
	}
	if len(held) > 0 {
		flush(records[len(records)-1].Head())
	}
	return out
}

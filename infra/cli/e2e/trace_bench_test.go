package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

// traceEvents is how large the log of BenchmarkTrace is: make bench-trace uses ten
// million.
var traceEvents = flag.Int("trace.events", 20_000, "events in the log of BenchmarkTrace")

// bulk fills a log with purchases of one sale, each of two events, chained as a store
// would chain them.
type bulk struct {
	t      testing.TB
	n      *Node
	sale   string
	terms  domain.SaleTerms
	last   eventstore.Record
	stock  int64 // version of the stock stream
	at     time.Time
	events [][]any
	claims [][]any
}

// bulkPage is how many purchases go in at once.
const bulkPage = 1_000

func (b *bulk) buyer(i int) string { return fmt.Sprintf("buyer-%08d", i) }

func (b *bulk) traceID(i int) string {
	return fmt.Sprintf("%016x%016x", uint64(i)*0x9E3779B97F4A7C15, i+1) // spread, as ids are
}

func (b *bulk) order(i int) string {
	var random [10]byte
	for n, at := uint64(i)*0x9E3779B97F4A7C15, 0; at < 8; at++ {
		random[at] = byte(n >> (8 * at))
	}
	id, err := domain.NewOrderID(b.n.Env.Keys, domain.Place{Store: b.n.Env.Store, Sale: b.sale}, b.buyer(i), random)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bulk) add(stream string, version int64, order, trace, entry string, ev domain.Event) {
	name, schema, payload, err := domain.Encode(ev)
	if err != nil {
		b.t.Fatal(err)
	}
	metadata, err := json.Marshal(commands.Meta{TraceID: trace, By: "recorder", Entry: entry, Node: "bulk"})
	if err != nil {
		b.t.Fatal(err)
	}
	r := eventstore.Record{
		Position: b.last.Position + 1, ID: uuid.New(), Stream: stream, Version: version, Type: name, Schema: schema, SaleID: b.sale, OrderID: order,
		RecordedAt: b.at, Payload: payload, Metadata: metadata,
	}
	r.Hash = eventstore.ComputeHash(b.last.Hash, &r)
	b.last = r
	b.events = append(b.events, []any{r.Position, r.ID, r.Stream, r.Version, r.Type, int32(r.Schema), r.SaleID, r.OrderID, r.RecordedAt, r.Payload, r.Metadata, r.Hash[:]})
}

// purchase adds one purchase.
func (b *bulk) purchase(i int) {
	order, trace, entry := b.order(i), b.traceID(i), fmt.Sprintf("1-%d.1", i+1)
	b.at = b.at.Add(10 * time.Microsecond)
	b.stock++
	item := b.terms.Items[0]
	b.add(domain.StockStream(b.sale, item.SKU, 0), b.stock, order, trace, entry, &domain.StockReserved{
		SaleID: b.sale, SKU: item.SKU, OrderID: order, BuyerID: b.buyer(i), Quantity: 1, Entry: entry,
	})
	b.add(domain.OrderStream(order), 1, order, trace, entry, &domain.OrderPlaced{
		OrderID: order, SaleID: b.sale, BuyerID: b.buyer(i), Lines: []domain.OrderLine{{SKU: item.SKU, Quantity: 1, Price: item.Price}}, Amount: item.Price,
		AcceptedAt: b.at.Add(-5 * time.Millisecond), PayBy: b.at.Add(time.Hour), Entry: entry, Ordinal: 1, TermsVersion: 1,
	})
	b.claims = append(b.claims, []any{b.sale, b.buyer(i), int32(1), order, int64(1), true, "", ""})
}

// flush stores what was added.
func (b *bulk) flush(r *Rig) {
	ctx := context.Background()
	conn, err := r.Pool.Acquire(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "set statement_timeout = 0"); err != nil {
		b.t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "select ensure_partitions($1, 1000000)", b.last.Position+1_000_000); err != nil {
		b.t.Fatalf("make room: %v", err)
	}
	columns := strings.Split("position event_id stream version type schema sale_id order_id recorded_at payload metadata hash", " ")
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"events"}, columns, pgx.CopyFromRows(b.events)); err != nil {
		b.t.Fatalf("store events up to %d: %v", b.last.Position, err)
	}
	columns = strings.Split("sale_id buyer_id ordinal order_id quantity live key body_hash", " ")
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"claims"}, columns, pgx.CopyFromRows(b.claims)); err != nil {
		b.t.Fatalf("store claims: %v", err)
	}
	b.events, b.claims = b.events[:0], b.claims[:0]
}

// fillLog makes a log of about so many events and folds the views from it.
func fillLog(t testing.TB, r *Rig, events int) *bulk {
	n := r.Node(t, NodeOptions{})
	terms := Terms(int64(events))
	sale := n.Schedule(t, terms)
	n.Stop()
	n = r.Node(t, NodeOptions{APIOnly: true}) // nobody else writes
	b := &bulk{t: t, n: n, sale: sale, terms: terms.WithDefaults(), stock: 1}
	head, err := n.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last, _, err := n.Store.At(t.Context(), head.Number)
	if err != nil {
		t.Fatal(err)
	}
	b.last, b.at = last, last.RecordedAt
	purchases := (events - int(head.Number)) / 2
	for i := range purchases {
		b.purchase(i)
		if len(b.events) >= 2*bulkPage || i == purchases-1 {
			b.flush(r)
		}
	}
	for _, sql := range []string{"analyze events", "analyze claims"} {
		if _, err := r.Pool.Exec(t.Context(), sql); err != nil {
			t.Logf("%s: %v", sql, err) // the application may not; autovacuum does
		}
	}
	source := projections.Source{Store: int16(n.Env.Store), Log: n.Store}
	if _, err := projections.Rebuild(t.Context(), r.Pool, source, projections.All(), projections.RebuildOptions{}); err != nil {
		t.Fatalf("fold the views: %v", err)
	}
	return b
}

// BenchmarkTrace measures how long the command takes, its start included, from an order
// id, a trace id and a buyer to the story, in a log of many events. `make bench-trace`.
func BenchmarkTrace(b *testing.B) {
	r := NewRig(b)
	made := time.Now()
	log := fillLog(b, r, *traceEvents)
	b.Logf("a log of %d events with its views, made in %s", log.last.Position, time.Since(made).Round(time.Second))
	settings := r.Settings(b)
	Binary(b) // is built once, which is nobody's waiting
	chosen := int(log.last.Position) / 5
	for _, by := range []struct{ name, id string }{{"order", log.order(chosen)}, {"trace id", log.traceID(chosen)}, {"buyer", log.buyer(chosen)}} {
		b.Run(by.name, func(b *testing.B) {
			var longest time.Duration
			for b.Loop() {
				began := time.Now()
				done := Run(b, settings, "trace", by.id, "--json")
				longest = max(longest, time.Since(began))
				if done.Code != 0 || !strings.Contains(done.Stdout, log.order(chosen)) {
					b.Fatalf("exit code %d: %s%s", done.Code, done.Stdout, done.Stderr)
				}
			}
			b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
			b.ReportMetric(float64(log.last.Position), "events")
		})
	}
}

// The log that is made in bulk is one that an audit accepts: what is measured on it is
// measured on the real thing.
func TestTheLogOfTheTraceBenchmarkIsChained(t *testing.T) {
	r := NewRig(t)
	log := fillLog(t, r, 400)
	done := Run(t, r.Settings(t), "trace", log.order(7), "--json")
	p := told(t, wantJSON[commands.Story](t, done))
	if p.Status != "placed" || p.TraceID != log.traceID(7) || len(p.Steps) != 3 {
		t.Errorf("got %+v", p)
	}
	at := eventstore.Mark{}
	records, err := log.n.Store.ReadAll(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := eventstore.CheckNext(at, &records[i]); err != nil {
			t.Fatal(err)
		}
		at = records[i].Head()
	}
	if at.Number != log.last.Position {
		t.Errorf("the log ends at %d, want %d", at.Number, log.last.Position)
	}
}

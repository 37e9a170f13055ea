package projections_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/figures"
	"seckill/infra/pg"
	"seckill/projections"
)

// benchEvents is how large the log of BenchmarkRebuild is: make bench-rebuild
// uses a million.
var benchEvents = flag.Int("rebuild.events", 20_000, "events in the log of BenchmarkRebuild")

// The same fold as SQL that a person would write for it: one statement a table,
// in one session. Every order of the benchmark's log has what happened to it.
var sqlFold = map[string]string{
	"order_view": `
insert into %s (order_id, sale_id, buyer_id, bucket, lines, units, amount_minor, currency, status, reason,
  refund_due, placed_at, accepted_at, pay_by, entry, version, trace_id, position)
select o.order_id, o.first ->> 'sale_id', o.first ->> 'buyer_id', (o.first ->> 'bucket')::int, l.lines, l.units,
  (o.first -> 'amount' ->> 'amount')::numeric * 100, o.first -> 'amount' ->> 'currency',
  case o.last when 'order.placed' then 'placed' when 'order.paid' then 'paid' when 'order.cancelled' then 'cancelled' else 'expired' end, '',
  o.paid and o.last = 'order.cancelled', o.placed_at, (o.first ->> 'accepted_at')::timestamptz, (o.first ->> 'pay_by')::timestamptz,
  o.first ->> 'entry', o.version, o.trace, o.position
from (
  select order_id, min(convert_from(payload, 'UTF8')) filter (where version = 1)::jsonb as first,
    (array_agg(type order by version desc))[1] as last, bool_or(type = 'order.paid') as paid,
    min(recorded_at) as placed_at, max(version) as version, max(position) as position,
    min(convert_from(metadata, 'UTF8')) filter (where version = 1)::jsonb ->> 'trace_id' as trace
  from events where type like 'order.%%' group by order_id) o
cross join lateral (
  select jsonb_agg(jsonb_build_object('sku', x ->> 'sku', 'quantity', (x ->> 'quantity')::bigint,
    'price_minor', ((x -> 'price' ->> 'amount')::numeric * 100)::bigint, 'currency', x -> 'price' ->> 'currency')) as lines,
    sum((x ->> 'quantity')::bigint) as units
  from jsonb_array_elements(o.first -> 'lines') x) l`,
	"stock_log": `
insert into %s (store, position, sale_id, sku, quantity, order_id, at)
select 1, position, p ->> 'sale_id', p ->> 'sku',
  (p ->> 'quantity')::bigint * case when type in ('stock.reserved', 'stock.withdrawn', 'stock.moved_out') then -1 else 1 end, order_id, recorded_at
from (select position, type, order_id, recorded_at, convert_from(payload, 'UTF8')::jsonb as p from events
  where type like 'stock.%%' and type <> 'stock.refused') e`,
	"sale_summary": `
insert into %s (store, sale_id, shard, currency, placed, rejected, paid, cancelled, expired, units, amount_minor)
select 1, sale_id, 0, currency, count(*) filter (where type = 'order.placed'), 0, count(*) filter (where type = 'order.paid'),
  count(*) filter (where type = 'order.cancelled'), count(*) filter (where type = 'order.expired'), coalesce(sum(units), 0), coalesce(sum(amount), 0)
from (select sale_id, type, coalesce(p -> 'amount' ->> 'currency', '') as currency, (p -> 'amount' ->> 'amount')::numeric * 100 as amount,
    (select sum((x ->> 'quantity')::bigint) from jsonb_array_elements(p -> 'lines') x) as units
  from (select sale_id, type, case when type = 'order.placed' then convert_from(payload, 'UTF8')::jsonb end as p
    from events where type like 'order.%%') f) e
group by sale_id, currency`,
}

// BenchmarkRebuild compares a rebuild of all views with the same fold as pure SQL,
// over the same log in the same run: into tables with their indexes, as an
// INSERT … SELECT into the view would be, and into bare tables that are indexed
// afterwards, which is the best that SQL can do. The ratios are rates: 1 is as
// fast. Memory is the largest resident set of this process.
func BenchmarkRebuild(b *testing.B) {
	h := newHouse(b)
	h.seed(*benchEvents)
	events := float64(h.head().Number)
	ctx := context.Background()
	for b.Loop() {
		bare := h.inSQL(ctx, false)
		indexed := h.inSQL(ctx, true)
		runtime.GC()
		debug.FreeOSMemory()
		before := resident()
		peak, stop := watchResident()
		began := time.Now()
		report, err := projections.Rebuild(ctx, h.pool, h.source(), projections.All(), projections.RebuildOptions{})
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		stop()
		if report.Events != int64(events) {
			b.Fatalf("%d events were rebuilt of %.0f", report.Events, events)
		}
		b.ReportMetric(events/took.Seconds(), "events/s")
		b.ReportMetric(events/bare.Seconds(), "sql-events/s")
		b.ReportMetric(events/indexed.Seconds(), "sql-indexed-events/s")
		b.ReportMetric(bare.Seconds()/took.Seconds(), "ratio")
		b.ReportMetric(indexed.Seconds()/took.Seconds(), "ratio-indexed")
		b.ReportMetric(float64(peak()-before)/(1<<20), "MiB-more")
		b.ReportMetric(0, "ns/op")
		sql := min(bare, indexed) // the faster of the two ways
		figures.Tell(b, figures.Figure{Row: "rebuild", Ours: events / took.Seconds(), Yardstick: events / sql.Seconds(), Value: sql.Seconds() / took.Seconds(),
			Settings: []string{"the tests' PostgreSQL for both sides: fsync=off", "chain and versions verified by ours alone"}, Details: []figures.Detail{
				{Name: "events", Value: events},
				{Name: "of SQL into tables without indexes, made afterwards", Value: bare.Seconds() / took.Seconds(), Unit: "×"},
				{Name: "of SQL into tables with their indexes", Value: indexed.Seconds() / took.Seconds(), Unit: "×"},
				{Name: "memory more than before", Value: float64(peak()-before) / (1 << 20), Unit: "MiB"},
			}})
	}
}

// inSQL folds with SQL and gives the time it takes.
func (h *house) inSQL(ctx context.Context, indexed bool) time.Duration {
	h.t.Helper()
	ctx = pg.Patient(ctx)
	conn, err := h.pool.Acquire(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Release()
	exec := func(sql string) {
		if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			h.t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("set statement_timeout = 0; set maintenance_work_mem = '256MB'; set work_mem = '256MB'")
	defer exec("reset statement_timeout; reset maintenance_work_mem; reset work_mem")
	var took time.Duration
	timed := func(sql string) {
		began := time.Now()
		exec(sql)
		took += time.Since(began)
	}
	for table, fold := range sqlFold {
		exec("select make_shadow('" + table + "')")
		index := func() {
			for more := true; more; {
				if err := conn.QueryRow(ctx, "select index_shadow($1)", table).Scan(&more); err != nil {
					h.t.Fatal(err)
				}
			}
		}
		if indexed {
			index()
		}
		timed(fmt.Sprintf(fold, table+"__next"))
		if !indexed {
			began := time.Now()
			index()
			took += time.Since(began)
		}
		h.sameCount(ctx, table)
		exec("select drop_shadow('" + table + "')")
	}
	return took
}

// sameCount makes sure that SQL has folded what there is.
func (h *house) sameCount(ctx context.Context, table string) {
	want := "select count(*) from events where type = 'order.placed'"
	switch table {
	case "stock_log":
		want = "select count(*) from events where type like 'stock.%'"
	case "sale_summary":
		want = "select 2" // what is placed has a currency, all else has none
	}
	var have, expected int64
	if err := h.pool.QueryRow(ctx, "select (select count(*) from "+table+"__next), ("+want+")").Scan(&have, &expected); err != nil || have != expected {
		h.t.Fatalf("SQL made %d rows of %s, want %d (%v)", have, table, expected, err)
	}
}

// seed stores a log of n events as fast as it goes, with a true chain: purchases
// of two events of about 300 bytes, every fifth order paid, every fiftieth
// cancelled.
func (h *house) seed(n int) {
	h.t.Helper()
	h.release(1 << 40)
	if _, err := h.pool.Exec(h.ctx(), "select ensure_partitions($1, 1000000)", n+1000); err != nil {
		h.t.Fatal(err)
	}
	records, at := h.records(), h.head()
	version := records[len(records)-1].Version
	var rows [][]any
	flush := func() {
		_, err := h.pool.CopyFrom(h.ctx(), pgx.Identifier{"events"}, []string{"position", "event_id", "stream", "version", "type", "schema",
			"sale_id", "order_id", "recorded_at", "payload", "metadata", "hash"}, pgx.CopyFromRows(rows))
		if err != nil {
			h.t.Fatal(err)
		}
		rows = rows[:0]
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	add := func(stream string, version int64, e eventstore.NewEvent) {
		r := eventstore.Record{Position: at.Number + 1, ID: e.ID, Stream: stream, Version: version, Type: e.Type, Schema: e.Schema, SaleID: e.SaleID,
			OrderID: e.OrderID, RecordedAt: now.Add(time.Duration(at.Number) * time.Microsecond), Payload: e.Payload, Metadata: e.Metadata}
		r.Hash = eventstore.ComputeHash(at.Hash, &r)
		at = r.Head()
		hash := r.Hash
		rows = append(rows, []any{r.Position, [16]byte(r.ID), r.Stream, r.Version, r.Type, r.Schema, r.SaleID, r.OrderID, r.RecordedAt, r.Payload, r.Metadata, hash[:]})
	}
	for i := 0; at.Number < int64(n); i++ {
		id, group := h.placed(i)
		add(group[0].Stream, 1, group[0].Events[0])
		version++
		add(group[1].Stream, version, group[1].Events[0])
		if i%5 == 0 {
			add(group[0].Stream, 2, h.event(&domain.OrderPaid{OrderID: id, PaymentID: uuid.NewString(), Amount: domain.Money{Minor: 1, Currency: "CNY"}}, id, "t"))
		}
		if i%50 == 0 {
			add(group[0].Stream, 3, h.event(&domain.OrderCancelled{OrderID: id, By: "buyer", Restock: false}, id, "t"))
		}
		if len(rows) > 20_000 {
			flush()
		}
	}
	flush()
	if _, err := h.pool.Exec(context.Background(), "select 1"); err != nil {
		h.t.Fatal(err)
	}
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

// watchResident finds the largest resident set until it is stopped.
func watchResident() (peak func() int64, stop func()) {
	var most int64
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, resident())
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	var once sync.Once
	return func() int64 { <-done; return most }, func() { once.Do(func() { close(quit); <-done }) }
}

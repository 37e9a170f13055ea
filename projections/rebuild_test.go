package projections_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

func (h *house) rebuild(o projections.RebuildOptions) projections.RebuildReport {
	h.t.Helper()
	report, err := projections.Rebuild(h.ctx(), h.pool, h.source(), projections.All(), o)
	if err != nil {
		h.t.Fatalf("rebuild: %v", err)
	}
	return report
}

// leftovers are tables of a rebuild that nobody uses.
func (h *house) leftovers() int {
	return h.count("pg_tables", "schemaname = current_schema and tablename like '%\\_\\_next'") + h.count("rebuilds", "true")
}

func TestARebuildGivesTheSameRowsWhateverItsWorkersAndPages(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.live(120)
	stop := h.run(h.projector(projections.All(), quick()))
	head := h.settle(projections.All())
	stop()
	want, indexes := h.dump(), h.shape()
	for _, o := range []projections.RebuildOptions{{}, {Workers: 1, Page: 1, Batch: 1}, {Workers: 3, Page: 7, Batch: 5}, {Workers: 8, Page: 100, Batch: 1000}} {
		if _, err := h.pool.Exec(h.ctx(), "update order_view set status = 'wrong'; delete from stock_log where position % 2 = 0; update sale_summary set units = units + 1"); err != nil {
			t.Fatal(err)
		}
		report := h.rebuild(o)
		h.sameRows(h.dump(), want)
		if report.Events != head.Number || report.At != head || len(report.Views) != 3 || report.Views[0].Rows != 120 {
			t.Errorf("report %+v, want %d events up to the head and 120 orders", report, head.Number)
		}
		if got := h.shape(); got != indexes {
			t.Errorf("the tables are now\n%s\nand were\n%s", got, indexes)
		}
		if n := h.leftovers(); n != 0 {
			t.Errorf("%d leftovers", n)
		}
	}
	// And it goes on from there.
	h.run(h.projector(projections.All(), quick()))
	h.live(20)
	h.settle(projections.All())
	h.sameAsQuietReplay()
}

// shape describes tables, columns, indexes, constraints, settings and rights.
func (h *house) shape() string {
	h.t.Helper()
	var text string
	err := h.pool.QueryRow(h.ctx(), `
select string_agg(line, E'\n' order by line) from (
  select indexdef as line from pg_indexes where schemaname = current_schema and tablename in (select name from view_tables)
  union all select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
    where conrelid in (select name::regclass from view_tables)
  union all select relname || ' ' || coalesce(reloptions::text, '') || relacl::text || pg_get_userbyid(relowner) from pg_class
    where oid in (select name::regclass from view_tables)
  union all select attrelid::regclass || ' ' || attname || ' ' || attnum || ' ' || atttypid::regtype || attnotnull || coalesce(col_description(attrelid, attnum), '')
    from pg_attribute where attrelid in (select name::regclass from view_tables) and attnum > 0) as t`).Scan(&text)
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

func TestARebuildStopsAtTheFirstFaultOfTheLogWithItsPosition(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.live(50)
	stop := h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	stop()
	before := h.dump()
	for what, spoil := range map[string]func([]eventstore.Record) []eventstore.Record{
		"a changed byte": func(p []eventstore.Record) []eventstore.Record {
			for i := range p {
				if p[i].Position == 77 {
					p[i].Payload = append([]byte(" "), p[i].Payload...)
				}
			}
			return p
		},
		"a missing row": func(p []eventstore.Record) []eventstore.Record {
			var out []eventstore.Record
			for _, r := range p {
				if r.Position != 77 {
					out = append(out, r)
				}
			}
			return out
		},
	} {
		source := projections.Source{Store: 1, Log: spoiled{h.store, spoil}}
		_, err := projections.Rebuild(h.ctx(), h.pool, source, projections.All(), projections.RebuildOptions{Page: 10, Batch: 3})
		var fault *projections.FaultError
		if !errors.As(err, &fault) || fault.Position != 77 || fault.Projection != "" || !errors.Is(err, eventstore.ErrLogChanged) {
			t.Errorf("%s: got %v, want a fault of the log at position 77", what, err)
		}
		h.sameRows(h.dump(), before)
		if n := h.leftovers(); n != 0 {
			t.Errorf("%s: %d leftovers", what, n)
		}
	}
}

type spoiled struct {
	projections.Log
	spoil func([]eventstore.Record) []eventstore.Record
}

func (s spoiled) ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error) {
	page, err := s.Log.ReadAll(ctx, after, max)
	return s.spoil(page), err
}

// B57: an unknown type, or bytes that cannot be read, stop a rebuild with their
// position, unless the sequence is set aside already.
func TestB57ADecodeFaultStopsARebuildWithItsPosition(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.live(40)
	id, _ := h.placed(2)
	first := h.broken(id)
	other, _ := h.placed(5)
	h.append(eventstore.Append{Stream: domain.OrderStream(other), Events: []eventstore.NewEvent{{
		ID: uuid.New(), Type: "order.teleported", Schema: 1, SaleID: h.sale, OrderID: other, Payload: []byte(`{}`), Metadata: []byte(`{}`)}}})
	h.live(40)
	for _, o := range []projections.RebuildOptions{{}, {Workers: 2, Page: 3, Batch: 1}, {Workers: 4, Page: 1000, Batch: 50}} {
		_, err := projections.Rebuild(h.ctx(), h.pool, h.source(), projections.All(), o)
		var fault *projections.FaultError
		if !errors.As(err, &fault) || fault.Position != first || fault.Sequence != id || fault.Type != "order.paid" {
			t.Fatalf("got %v, want a fault at position %d", err, first)
		}
	}
	stop := h.run(h.projector(projections.All(), quick())) // parks both
	h.settle(projections.All())
	before, parked := h.dump(), h.parked("")
	if len(parked) != 4 {
		t.Fatalf("parked: %+v, want two sequences in two projections", parked)
	}
	report := h.rebuild(projections.RebuildOptions{})
	h.sameRows(h.dump(), before)
	if got := report.Views[0].Remembered; len(got) != 2 || got[0].First != first {
		t.Errorf("remembered: %+v, want the two that are parked", got)
	}
	if after := h.parked(""); fmt.Sprint(after) != fmt.Sprint(parked) {
		t.Errorf("after the rebuild %+v is parked, before it was %+v", after, parked)
	}
	h.then(id, &domain.OrderCancelled{OrderID: id, By: "buyer"}) // still set aside by the live shard
	h.settle(projections.All())
	if after := h.parked("order_view"); after[0].Events != parked[0].Events+1 {
		t.Errorf("after the rebuild a later event is not parked: %+v", after)
	}
	stop()
}

func TestARebuildThatIsStoppedLeavesNothingAndOneAtATimeRuns(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.fill(300)
	h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	before := h.dump()
	ctx, cancel := context.WithCancel(context.Background())
	var pages atomic.Int64
	source := projections.Source{Store: 1, Log: spoiled{h.store, func(p []eventstore.Record) []eventstore.Record {
		if pages.Add(1) == 5 {
			cancel()
		}
		return p
	}}}
	if _, err := projections.Rebuild(ctx, h.pool, source, projections.All(), projections.RebuildOptions{Page: 20}); !errors.Is(err, context.Canceled) {
		t.Errorf("a rebuild that was stopped gives %v", err)
	}
	h.sameRows(h.dump(), before)
	if n := h.leftovers(); n != 0 {
		t.Errorf("%d leftovers", n)
	}
	if _, err := h.pool.Exec(h.ctx(), "select make_shadow('order_view')"); err != nil { // of a process that was killed
		t.Fatal(err)
	}
	h.rebuild(projections.RebuildOptions{})
	h.sameRows(h.dump(), before)

	taken := projections.RebuildOptions{Lead: func(ctx context.Context, name string) (context.Context, func(), bool, error) {
		return ctx, func() {}, name != "rebuild stock_log", nil
	}}
	if _, err := projections.Rebuild(h.ctx(), h.pool, h.source(), projections.All(), taken); !errors.Is(err, projections.ErrRebuilding) {
		t.Errorf("while another one runs: got %v", err)
	}
}

func TestARebuildThatReadsNothingOfALogIsNoSuccess(t *testing.T) {
	h := newHouse(t)
	h.release(10)
	source := projections.Source{Store: 1, Log: spoiled{h.store, func([]eventstore.Record) []eventstore.Record { return nil }}}
	if _, err := projections.Rebuild(h.ctx(), h.pool, source, projections.All(), projections.RebuildOptions{}); !errors.Is(err, projections.ErrNothingRead) {
		t.Errorf("got %v, want that nothing was read", err)
	}
}

// A fold that loses, doubles or invents is found before anybody reads its rows.
func TestWhatDisagreesWithAQuietFoldIsNotSwappedIn(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.fill(50)
	h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	before := h.dump()
	for i, p := range projections.All() {
		list := []projections.Projection{p}
		list[0].Fold = func(s projections.Share, facts []projections.Fact) (projections.Rows, error) {
			for n := range facts {
				if facts[n].Record.OrderID == h.orderID(7, "buyer-0") {
					facts = append(facts[:n:n], facts[n+1:]...)
					break
				}
			}
			return p.Fold(s, facts)
		}
		_, err := projections.Rebuild(h.ctx(), h.pool, h.source(), list, projections.RebuildOptions{})
		var proof *projections.ProofError
		if !errors.As(err, &proof) || proof.Projection != p.Name {
			t.Errorf("projection %d that loses an event: got %v, want a ProofError", i, err)
		}
	}
	h.sameRows(h.dump(), before)
}

func TestANewVersionIsBuiltBesideTheOldWhichGoesOnServing(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.live(40)
	old := h.projector(projections.All(), quick())
	h.run(old)
	h.settle(projections.All())
	want := h.dump()
	list := projections.All()
	for i := range list {
		list[i].Version++
	}
	o := quick()
	o.Shards = 4 // and another number of shards
	p, err := projections.NewProjector(h.pool, h.source(), list, o)
	if err != nil {
		t.Fatal(err)
	}
	h.run(p)
	var version *projections.VersionError
	if err := p.Prepare(h.ctx()); !errors.As(err, &version) || version.Have != 1 || version.Want != 2 {
		t.Fatalf("before the rebuild: got %v, want that the rows are of version 1", err)
	}
	h.live(10)
	h.settle(projections.All()) // by the old one
	h.sameRowsBut(h.dump(), want, 10)
	if _, err := projections.Rebuild(h.ctx(), h.pool, h.source(), list, projections.RebuildOptions{Shards: 4}); err != nil {
		t.Fatal(err)
	}
	h.live(10)
	progress := h.progress(list)
	progress.Shards = 4
	if err := progress.WaitFor(h.ctx(), h.head().Number); err != nil {
		t.Fatal(err)
	}
	if n := h.count("checkpoints", "version = 1 and projection <> 'relay'"); n != 0 {
		t.Errorf("%d checkpoints of the old version are left", n)
	}
	if n := h.count("order_view", "true"); n != 60 {
		t.Errorf("%d orders, want 60", n)
	}
}

func (h *house) sameRowsBut(got, before []string, more int) {
	h.t.Helper()
	if len(got) < len(before)+more {
		h.t.Errorf("%d rows after %d more orders, before there were %d", len(got), more, len(before))
	}
}

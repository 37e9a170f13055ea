package pgstore_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
)

func TestB51ASlowCommitterIsNotOvertakenAndTheReaderGetsItFirst(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	written, release := make(chan struct{}), make(chan struct{})
	var onlyOnce sync.Once
	letGo := func() { onlyOnce.Do(func() { close(release) }) }
	slow := start(t, pool, ns, pgstore.Options{Step: once(pgstore.StepBeforeCommit, func() { close(written); <-release })})
	quick := start(t, pool, ns, pgstore.Options{})
	t.Cleanup(letGo) // before the stores are closed, also when the test fails
	var todo sync.WaitGroup
	todo.Go(func() { submit(t, slow, placed("order-slow")) })
	<-written
	todo.Go(func() { submit(t, quick, placed("order-quick")) })
	waiting := func() bool {
		var n int
		err := pool.QueryRow(t.Context(), `
select count(*) from pg_locks where locktype = 'advisory' and not granted
and ((classid::bigint << 32) | objid::bigint) = $1`, pg.LockKey(ns, "log")).Scan(&n)
		return err == nil && n == 1
	}
	poll(t, "the quick writer to wait for the log lock", waiting)
	if early := storetest.ReadAll(t, quick); len(early) != 0 {
		t.Errorf("while the first writer has not committed: got %d events, want none", len(early))
	}
	letGo()
	todo.Wait()
	all := storetest.ReadAll(t, quick)
	if len(all) != 2 || all[0].Stream != "order-slow" || all[1].Stream != "order-quick" {
		t.Errorf("got %d events, want the slow writer's and then the quick one's", len(all))
	}
}

func TestTwoProcessesShareOneLog(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	stores := []*pgstore.Store{start(t, pool, ns, pgstore.Options{PartitionSize: 100}), start(t, pool, ns, pgstore.Options{PartitionSize: 150})}
	var todo sync.WaitGroup
	for i, store := range stores {
		for j := range 8 {
			todo.Go(func() {
				for k := range 25 {
					submit(t, store, storetest.Plain(
						storetest.To(fmt.Sprintf("order-%d-%d-%d", i, j, k), 0, storetest.NewEvent("order.placed")),
						storetest.To("stock-x", eventstore.AnyVersion, storetest.NewEvent("stock.reserved"))))
				}
			})
		}
	}
	todo.Wait()
	if n := len(storetest.ReadAll(t, stores[0])); n != 800 {
		t.Errorf("got %d events, want 800", n)
	}
}

func TestTheDatabaseRefusesToChangeTheLogEvenForASuperuser(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{PartitionSize: 100})
	for i := range 3 {
		storetest.MustSubmit(t, store, storetest.Plain(storetest.To(fmt.Sprintf("order-%d", i), 0, storetest.NewEvents("order.placed", 60)...)), eventstore.Stored)
	}
	tables := []string{"events", "events_000000000001", "events_000000000101"}
	for _, table := range tables {
		for _, change := range []string{"update %s set type = 'x'", "delete from %s", "delete from %s where false", "truncate %s"} {
			statement := fmt.Sprintf(change, ns+"."+table)
			_, err := pool.Exec(t.Context(), statement)
			if pg.SQLState(err) != "42501" {
				t.Errorf("as the application, %s: got %v, want it refused", statement, err)
			}
			_, err = owner(t, url).Exec(t.Context(), "set session_replication_role = replica; "+statement)
			if err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("as a superuser, %s: got %v, want it refused by the trigger", statement, err)
			}
		}
	}
	if n := len(storetest.ReadAll(t, store)); n != 180 {
		t.Errorf("got %d events, want all 180", n)
	}
}

func TestTheLogCanBeReadByPeopleAsJSON(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{})
	good, odd := storetest.NewEvent("order.placed"), storetest.NewEvent("order.paid")
	good.Payload, odd.Payload, odd.Metadata = []byte(`{"sku":"衣"}`), []byte{0xff, 0}, nil
	storetest.MustSubmit(t, store, storetest.Plain(storetest.To("order-a", 0, good, odd)), eventstore.Stored)
	var sku, odder string
	var noMetadata bool
	err := pool.QueryRow(t.Context(), `
select (select payload->>'sku' from events_json where position = 1), payload->>'base64', metadata is null
from events_json where position = 2`).Scan(&sku, &odder, &noMetadata)
	if err != nil || sku != "衣" || odder != "/wA=" || !noMetadata {
		t.Errorf("got %q, %q, %t, %v, want the payload, base64 of what is no JSON, and nothing for nothing", sku, odder, noMetadata, err)
	}
}

func TestTimeNeverGoesBackEvenWhenTheClockDoes(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{})
	first := storetest.MustSubmit(t, store, placed("order-a"), eventstore.Stored).Records[0]
	ahead := first
	ahead.Position, ahead.Version, ahead.Stream = 2, 1, "order-b"
	ahead.RecordedAt = first.RecordedAt.Add(time.Hour)
	ahead.ID = newID(t)
	ahead.Hash = eventstore.ComputeHash(first.Hash, &ahead)
	_, err := pool.Exec(t.Context(), `
insert into events (position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		ahead.Position, [16]byte(ahead.ID), ahead.Stream, ahead.Version, ahead.Type, ahead.Schema, ahead.SaleID, ahead.OrderID,
		ahead.RecordedAt, ahead.Payload, ahead.Metadata, ahead.Hash[:])
	if err != nil {
		t.Fatal(err)
	}
	next := storetest.MustSubmit(t, store, placed("order-c"), eventstore.Stored).Records[0]
	if !next.RecordedAt.Equal(ahead.RecordedAt) {
		t.Errorf("recorded at %s, want the predecessor's %s", next.RecordedAt, ahead.RecordedAt)
	}
	storetest.ReadAll(t, store)
}

func TestPartitionsAreMadeAheadAndOldVersionsOfHotStreamsGo(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{PartitionSize: 100, CleanEvery: 5 * time.Millisecond})
	count := func(sql string) (n int64) {
		if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range int64(60) {
		storetest.MustSubmit(t, store, storetest.Always(&eventstore.Group{
			Appends: []eventstore.Append{storetest.To("stock-x", i, storetest.NewEvent("stock.released"))},
			Guards:  []eventstore.Guard{{Stream: "stock-x", Released: i}},
			Cursors: []eventstore.Cursor{{Lane: 1, Epoch: 1 + i/30, N: i % 30, Digest: "d"}},
		}), eventstore.Stored)
	}
	poll(t, "the partition after the next half", func() bool {
		return count("select max(next_position) from event_partitions") == 201
	})
	poll(t, "one row per stream, guard and lane", func() bool {
		return count("select count(*) from streams") == 1 && count("select count(*) from guards") == 1 && count("select count(*) from cursors") == 1
	})
	guards, err := store.Guards(t.Context(), []string{"stock-x"})
	if want := (eventstore.Guard{Stream: "stock-x", Version: 60, Released: 59}); err != nil || guards[0] != want {
		t.Errorf("guard: got %+v, %v, want %+v", guards, err, want)
	}
	cursors, err := store.Cursors(t.Context(), []int{1})
	if want := (eventstore.Cursor{Lane: 1, Epoch: 2, N: 29, Digest: "d"}); err != nil || cursors[0] != want {
		t.Errorf("cursor: got %+v, %v, want %+v", cursors, err, want)
	}
}

func TestAPositionThatIsTakenIsTheStoresFaultAndNotTheDatas(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{RetryFor: time.Millisecond})
	storetest.MustSubmit(t, store, placed("order-a"), eventstore.Stored)
	if _, err := owner(t, url).Exec(t.Context(), "delete from "+ns+".streams"); err != nil {
		t.Fatal(err)
	}
	_, err := store.Submit(t.Context(), placed("order-a"))
	if err == nil || strings.Contains(err.Error(), eventstore.ErrData.Error()) {
		t.Errorf("got %v, want a fault of the store: data must not be thrown away for it", err)
	}
}

func TestEveryWrongOptionIsReportedAtOnce(t *testing.T) {
	err := pgstore.Options{MaxBatch: -1, PartitionSize: 5, RetryFor: -1}.Validate()
	for _, want := range []string{"MaxBatch", "PartitionSize", "time"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

package pgstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
)

func TestB51ASlowCommitterIsNotOvertakenAndTheReaderGetsItFirst(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	slow := start(t, pool, ns, pgstore.Options{LockTimeout: 20 * time.Second})
	quick := start(t, pool, ns, pgstore.Options{LockTimeout: 20 * time.Second})
	gate := pg.LockKey(ns, "gate")
	letGo := commitsWait(t, url, ns, "order-slow", gate)
	var todo sync.WaitGroup
	todo.Go(func() { submit(t, slow, placed("order-slow")) })
	poll(t, "the slow writer, which has written, to wait with its commit", func() bool { return waitsFor(t, pool, gate) })
	todo.Go(func() { submit(t, quick, placed("order-quick")) })
	poll(t, "the quick writer to wait for the log lock", func() bool { return waitsFor(t, pool, pg.LockKey(ns, "log")) })
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

// commitsWait lets a transaction that wrote to a stream wait, when everything
// is written, within its commit, until it is let go.
func commitsWait(t testing.TB, url, ns, stream string, gate int64) (letGo func()) {
	t.Helper()
	conn, err := owner(t, url).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), fmt.Sprintf(`
set search_path = %[1]s;
create function wait_at_commit() returns trigger language plpgsql as $$
begin perform pg_advisory_xact_lock(%[2]d); return null; end $$;
create constraint trigger wait_at_commit after insert on streams deferrable initially deferred
for each row when (new.stream = '%[3]s') execute function wait_at_commit();
select pg_advisory_lock(%[2]d)`, ns, gate, stream))
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	letGo = func() {
		once.Do(func() {
			_ = conn.Hijack().Close(context.Background()) // ends the lock as well
		})
	}
	t.Cleanup(letGo) // before the stores are closed, also when the test fails
	return letGo
}

const selectWaiters = `
select pid from pg_locks where locktype = 'advisory' and not granted and ((classid::bigint << 32) | objid::bigint) = $1`

// waitsFor tells whether one session waits for an advisory lock.
func waitsFor(t testing.TB, pool *pgxpool.Pool, key int64) bool {
	var n int
	err := pool.QueryRow(t.Context(), "select count(*) from ("+selectWaiters+") w", key).Scan(&n)
	return err == nil && n == 1
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

func TestALogThatWentBackUnderALivingStoreGoesOnFromItsEnd(t *testing.T) {
	for name, kept := range map[string]int64{"to its first event": 1, "to nothing": 0} {
		t.Run(name, func(t *testing.T) {
			pool, url, ns := pgtest.New(t)
			store := start(t, pool, ns, pgstore.Options{})
			for i := range 3 {
				storetest.MustSubmit(t, store, placed(fmt.Sprintf("order-%d", i)), eventstore.Stored)
			}
			_, err := owner(t, url).Exec(t.Context(), fmt.Sprintf(`
set search_path = %s;
alter table events disable trigger events_append_only;
alter table events_000000000001 disable trigger events_000000000001_append_only;
delete from streams where hash in (select hash from events where position > %[2]d);
delete from events where position > %[2]d;
alter table events enable always trigger events_append_only;
alter table events_000000000001 enable always trigger events_000000000001_append_only`, ns, kept))
			if err != nil {
				t.Fatal(err)
			}
			r := storetest.MustSubmit(t, store, placed("order-2"), eventstore.Stored)
			if r.Records[0].Position != kept+1 {
				t.Errorf("got position %d, want %d", r.Records[0].Position, kept+1)
			}
			if n := len(storetest.ReadAll(t, store)); int64(n) != kept+1 {
				t.Errorf("got %d events, want %d in one chain", n, kept+1)
			}
		})
	}
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

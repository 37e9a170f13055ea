package pgstore_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/embedded"
	"seckill/infra/figures"
	"seckill/infra/pg"
	"seckill/infra/testenv"
)

var (
	appendEvents = flag.Int("append.events", 20_000, "events that a round of the yardstick appends: few in CI")
	appendRounds = flag.Int("append.rounds", 1, "how often both sides append")
)

// durable starts a PostgreSQL that is as durable as in use: fsync is on.
func durable(b *testing.B) (url string) {
	b.Helper()
	stores, err := embedded.Start(context.Background(), embedded.Options{DataDir: b.TempDir(), NeedPostgres: true})
	if err != nil {
		b.Fatalf("start PostgreSQL: %v", err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := stores.Stop(ctx); err != nil {
			b.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return stores.DatabaseURL
}

// fresh migrates a namespace and opens a store on it.
func fresh(b *testing.B, url, namespace string) *pgstore.Store {
	b.Helper()
	ctx := context.Background()
	if err := pg.Migrate(ctx, url, namespace); err != nil {
		b.Fatal(err)
	}
	pool, err := pg.Open(ctx, url, pg.Options{Namespace: namespace})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return start(b, pool, namespace, pgstore.Options{})
}

// BenchmarkAppendAgainstCopy appends events of 300 bytes through the appender,
// then lets psql's \copy put the same rows into the same kind of table of a
// fresh namespace of the same server, and reports both rates and their ratio.
//
//	go test ./eventstore/pgstore -run '^$' -bench AppendAgainstCopy -benchtime 1x -args -append.events 200000 -append.rounds 3
func BenchmarkAppendAgainstCopy(b *testing.B) {
	psql := testenv.Program(b, "postgresql-client", "psql")
	url, n := durable(b), *appendEvents
	var ours, theirs time.Duration
	rounds := b.N * *appendRounds
	for i := range rounds {
		from, into := fmt.Sprintf("ours%d", i), fmt.Sprintf("copy%d", i)
		store := fresh(b, url, from)
		works := eventWorks(b, n)
		warm(b, store)
		began := time.Now()
		appendAll(b, store, works)
		ours += time.Since(began)
		theirs += copyRows(b, psql, url, from, into)
	}
	rate := func(d time.Duration) float64 { return float64(n*rounds) / d.Seconds() }
	figures.Tell(b, figures.Figure{Row: "append", Ours: rate(ours), Yardstick: rate(theirs), Value: theirs.Seconds() / ours.Seconds(),
		Settings: []string{"fsync=on", "full_page_writes=on", "synchronous_commit=on"},
		Details:  []figures.Detail{{Name: "rounds", Value: float64(rounds), Unit: fmt.Sprintf("of %d events", n)}}})
}

// eventWorks makes works of 250 events in streams of 10, with payload and
// metadata of 300 bytes that do not compress.
func eventWorks(b *testing.B, n int) []eventstore.Work {
	const perWork, perStream = 250, 10
	var works []eventstore.Work
	for done := 0; done < n; done += perWork {
		group, needs := &eventstore.Group{}, eventstore.Needs{}
		for s := 0; s < perWork; s += perStream {
			a := eventstore.Append{Stream: "order-" + uuid.NewString()}
			for range perStream {
				payload := make([]byte, 240)
				if _, err := rand.Read(payload); err != nil {
					b.Fatal(err)
				}
				a.Events = append(a.Events, eventstore.NewEvent{ID: newID(b), Type: "order.placed", Schema: 1, SaleID: "s1", OrderID: a.Stream[6:],
					Payload: payload, Metadata: []byte(`{"trace_id":"0123456789abcdef0123456789abcdef","by":"bench"}`)})
			}
			group.Appends, needs.Streams = append(group.Appends, a), append(needs.Streams, a.Stream)
		}
		works = append(works, eventstore.Work{Needs: needs, Decide: func(eventstore.Look) (*eventstore.Group, error) { return group, nil }})
	}
	return works
}

// warm makes the first partition, which a copy does not have to.
func warm(b *testing.B, store *pgstore.Store) {
	w := eventWorks(b, 250)[0]
	submit(b, store, w)
}

func appendAll(b *testing.B, store *pgstore.Store, works []eventstore.Work) {
	queue := make(chan eventstore.Work)
	var todo sync.WaitGroup
	for range 32 {
		todo.Go(func() {
			for w := range queue {
				submit(b, store, w)
			}
		})
	}
	for _, w := range works {
		queue <- w
	}
	close(queue)
	todo.Wait()
}

// copyRows writes the rows of one namespace to a file and lets psql copy them
// into the log of another; it gives the time that took.
func copyRows(b *testing.B, psql, url, from, into string) time.Duration {
	b.Helper()
	warm(b, fresh(b, url, into))
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }() // it only read
	// The partition is emptied by its owner's superuser, as no application can.
	if _, err := conn.Exec(ctx, "set session_replication_role = replica; alter table "+into+".events disable trigger all"); err != nil {
		b.Fatal(err)
	}
	var part string
	if err := conn.QueryRow(ctx, "select name from "+into+".event_partitions order by first_position limit 1").Scan(&part); err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "alter table "+into+"."+part+" disable trigger all; truncate "+into+"."+part); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), from+".copy")
	const columns = "(position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash)"
	run(b, psql, url, fmt.Sprintf(`\copy (select position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash from %s.events order by position) to '%s'`, from, file))
	began := time.Now()
	run(b, psql, url, fmt.Sprintf(`\copy %s.events %s from '%s'`, into, columns, file))
	return time.Since(began)
}

func run(b *testing.B, psql, url, command string) {
	b.Helper()
	cmd := exec.Command(psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", command)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		b.Fatalf("psql: %v: %s", err, out.String())
	}
}

const plainInsert = `
insert into %s.events (position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash)
values ($1, $2, $3, 1, 'order.placed', 1, 's1', $4, clock_timestamp(), $5, $6, $7)`

// BenchmarkOneAtATime appends one event after the other, each its own commit,
// and does the same with a plain INSERT into the same kind of table.
func BenchmarkOneAtATime(b *testing.B) {
	url := durable(b)
	ctx := context.Background()
	store := fresh(b, url, "ours")
	warm(b, store)
	warm(b, fresh(b, url, "plain"))
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }() // the benchmark is over
	payload, metadata := bytes.Repeat([]byte("x"), 240), bytes.Repeat([]byte("y"), 60)
	var ours, plain time.Duration
	for i := range b.N {
		order := uuid.NewString()
		event := eventstore.NewEvent{ID: newID(b), Type: "order.placed", Schema: 1, SaleID: "s1", OrderID: order, Payload: payload, Metadata: metadata}
		group := &eventstore.Group{Appends: []eventstore.Append{{Stream: "order-" + order, Events: []eventstore.NewEvent{event}}}}
		began := time.Now()
		submit(b, store, eventstore.Work{
			Needs:  eventstore.Needs{Streams: []string{"order-" + order}},
			Decide: func(eventstore.Look) (*eventstore.Group, error) { return group, nil },
		})
		ours += time.Since(began)
		began = time.Now()
		_, err := conn.Exec(ctx, fmt.Sprintf(plainInsert, "plain"), 1000+i, [16]byte(newID(b)), "order-"+order, order, payload, metadata, payload[:32])
		plain += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/ours.Seconds(), "commits/s")
	b.ReportMetric(float64(b.N)/plain.Seconds(), "inserts/s")
	b.ReportMetric(plain.Seconds()/ours.Seconds(), "ratio")
}

package pgstore_test

import (
	"context"
	"flag"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore/pgstore"
	"seckill/infra/figures"
)

var snapshotFor = flag.Duration("snapshot.for", time.Second, "how long a snapshot is open beside commits, and how long there is none")

const (
	snapshotWriters = 4  // submit at once
	snapshotWork    = 10 // purchases of a work
)

// BenchmarkCommitBesideAnOpenSnapshot is the 99th percentile of the time of a commit of
// purchases, of one item, while another session holds a snapshot open from the first to
// the last of them, and before and after that.
func BenchmarkCommitBesideAnOpenSnapshot(b *testing.B) {
	url := durable(b)
	store := fresh(b, url, "ours")
	warm(b, store)
	s := &snapshots{b: b, store: store}
	s.commits(min(*snapshotFor, 2*time.Second)) // warms up
	for range b.N {
		before := s.commits(*snapshotFor)
		release := openSnapshot(b, url)
		beside := s.commits(*snapshotFor)
		release()
		after := s.commits(*snapshotFor)
		without := (p99(before) + p99(after)) / 2
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		figures.Tell(b, figures.Figure{Row: "snapshot", Ours: ms(p99(beside)), Yardstick: ms(without), Value: float64(p99(beside)) / float64(without),
			Settings: []string{"fsync=on", "full_page_writes=on", "synchronous_commit=on"}, Details: []figures.Detail{
				{Name: "the snapshot is open for", Value: snapshotFor.Seconds(), Unit: "s"},
				{Name: "p99 before", Value: ms(p99(before)), Unit: "ms"}, {Name: "p99 after", Value: ms(p99(after)), Unit: "ms"},
				{Name: "p50 beside it", Value: ms(beside[len(beside)/2]), Unit: "ms"}, {Name: "p50 before", Value: ms(before[len(before)/2]), Unit: "ms"},
				{Name: "commits beside it", Value: float64(len(beside))}, {Name: "commits before", Value: float64(len(before))},
			}})
	}
}

func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }

// snapshots submits purchases.
type snapshots struct {
	b     *testing.B
	store *pgstore.Store
	made  atomic.Int64
}

// commits submits works for a while and gives what each took until it was stored, in
// order.
func (s *snapshots) commits(howLong time.Duration) []time.Duration {
	var mu sync.Mutex
	var took []time.Duration
	var writing sync.WaitGroup
	end := time.Now().Add(howLong)
	for range snapshotWriters {
		writing.Go(func() {
			for time.Now().Before(end) {
				w := purchases(s.b, int(s.made.Add(snapshotWork)), snapshotWork, make([]byte, 300))
				began := time.Now()
				submit(s.b, s.store, w)
				one := time.Since(began)
				mu.Lock()
				took = append(took, one)
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	slices.Sort(took)
	return took
}

// openSnapshot opens one that sees the log as it is now, until it is released.
func openSnapshot(b *testing.B, url string) (release func()) {
	b.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		b.Fatal(err)
	}
	count := func() (n int64) {
		if err := tx.QueryRow(ctx, "select coalesce(max(position), 0) from ours.events").Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	seen := count()
	return func() {
		if now := count(); now != seen {
			b.Errorf("the snapshot saw position %d and then %d: it was none", seen, now)
		}
		if err := tx.Rollback(ctx); err != nil {
			b.Error(err)
		}
		if err := conn.Close(ctx); err != nil {
			b.Error(err)
		}
	}
}

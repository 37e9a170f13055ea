package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

// A standby that is promoted may lack what this process committed last. What it
// remembers to delete must not take the newest rows of the promoted one.
func TestTidyingKeepsTheNewestRowOfALogThatWentBack(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{CleanEvery: 300 * time.Millisecond})
	owner, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	for n := range int64(2) {
		for _, stream := range []string{"stock-back", "stock-hot"} {
			group := &eventstore.Group{
				Appends: []eventstore.Append{storetest.To(stream, eventstore.AnyVersion, storetest.NewEvent("stock.released"))},
				Guards:  []eventstore.Guard{{Stream: stream, Released: n}},
				Cursors: []eventstore.Cursor{{Lane: len(stream), Epoch: 1, N: n + 1}},
			}
			storetest.MustSubmit(t, store, storetest.Always(group), eventstore.Stored)
		}
	}
	lane := len("stock-back")
	for _, sql := range []string{
		"delete from %s.streams where stream = 'stock-back' and version = 2", "delete from %s.guards where stream = 'stock-back' and version = 2",
		fmt.Sprintf("delete from %%s.cursors where lane = %d and n = 2", lane),
	} {
		if _, err := owner.Exec(t.Context(), fmt.Sprintf(sql, ns)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, 20*time.Second, func() error {
		for _, sql := range []string{
			"select count(*) from streams where stream = 'stock-hot'", "select count(*) from guards where stream = 'stock-hot'",
			fmt.Sprintf("select count(*) from cursors where lane = %d", len("stock-hot")),
		} {
			var n int
			if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != 1 {
				return fmt.Errorf("%s: got %d, %v; want the old versions gone", sql, n, err)
			}
		}
		return nil
	})
	states, err := store.States(t.Context(), []string{"stock-back"})
	if err != nil || states[0].Version != 1 {
		t.Errorf("stream: got %+v, %v; want version 1 kept", states, err)
	}
	guards, err := store.Guards(t.Context(), []string{"stock-back"})
	if err != nil || guards[0].Version != 1 {
		t.Errorf("guard: got %+v, %v; want version 1 kept", guards, err)
	}
	cursors, err := store.Cursors(t.Context(), []int{lane})
	if err != nil || cursors[0].N != 1 {
		t.Errorf("cursor: got %+v, %v; want entry 1 kept", cursors, err)
	}
}

// A hot stream grows by more versions between two deletions than one takes.
func TestTidyingLeavesNothingOfManyVersions(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{CleanEvery: 3 * time.Second})
	const versions = 350
	for n := range int64(versions) {
		storetest.MustSubmit(t, store, storetest.Always(&eventstore.Group{
			Appends: []eventstore.Append{storetest.To("stock-hot", eventstore.AnyVersion, storetest.NewEvent("stock.reserved"))},
			Guards:  []eventstore.Guard{{Stream: "stock-hot", Released: versions, Reserved: n + 1}},
		}), eventstore.Stored)
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		for _, sql := range []string{"select count(*) from streams where stream = 'stock-hot'", "select count(*) from guards where stream = 'stock-hot'"} {
			var n int
			if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != 1 {
				return fmt.Errorf("%s: got %d, %v; want the old versions gone", sql, n, err)
			}
		}
		return nil
	})
}

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg/pgtest"
)

func start(t testing.TB, pool *pgxpool.Pool, ns string, opts pgstore.Options) *pgstore.Store {
	t.Helper()
	store, err := pgstore.New(pool, ns, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := store.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return store
}

// owner gives a connection that may do anything.
func owner(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// poll waits for a state, with a generous end.
func poll(t testing.TB, what string, reached func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !reached() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// inOneBatch holds up the appender until all works wait, so that they become
// one batch, and gives their receipts and errors.
func inOneBatch(t testing.TB, s *pgstore.Store, works ...eventstore.Work) ([]eventstore.Receipt, []error) {
	t.Helper()
	receipts, errs := make([]eventstore.Receipt, len(works)), make([]error, len(works))
	holding, release := make(chan struct{}), make(chan struct{})
	var begun sync.Once
	var todo sync.WaitGroup
	todo.Go(func() {
		_, err := s.Submit(context.Background(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
			begun.Do(func() { close(holding) })
			<-release
			return nil, nil
		}})
		if err != nil {
			t.Error(err)
		}
	})
	<-holding
	for i, w := range works {
		todo.Go(func() { receipts[i], errs[i] = s.Submit(context.Background(), w) })
		poll(t, "the work to wait", func() bool { return s.Waiting() == i+1 })
	}
	close(release)
	todo.Wait()
	return receipts, errs
}

func TestWorksOfOneBatchSeeWhatEarlierOnesDecided(t *testing.T) {
	t.Run("in one part", func(t *testing.T) { seeWhatEarlierOnesDecided(t, pgstore.Options{}) })
	t.Run("a part each", func(t *testing.T) { seeWhatEarlierOnesDecided(t, inParts(pgstore.Options{})) })
}

func seeWhatEarlierOnesDecided(t *testing.T, opts pgstore.Options) {
	var batches []pgstore.BatchStats
	opts.OnBatch = func(b pgstore.BatchStats) { batches = append(batches, b) }
	store := open(t, opts)
	const stock = "stock-x"
	errSoldOut := errors.New("sold out")
	release := storetest.Always(&eventstore.Group{
		Appends: []eventstore.Append{storetest.To(stock, 0, storetest.NewEvent("stock.released"))},
		Guards:  []eventstore.Guard{{Stream: stock, Released: 1}},
	})
	take := func() eventstore.Work {
		return eventstore.Work{
			Needs: eventstore.Needs{Streams: []string{stock}, Guards: []string{stock}, Lanes: []int{2},
				Claims: []eventstore.ClaimKey{{SaleID: "s", BuyerID: "b"}}},
			Decide: func(l eventstore.Look) (*eventstore.Group, error) {
				g, claims, cursor := l.Guard(stock), l.Claims(eventstore.ClaimKey{SaleID: "s", BuyerID: "b"}), l.Cursor(2)
				if g.Left() < 1 {
					return nil, fmt.Errorf("%w: version %d, %d claims, cursor %d", errSoldOut, l.Stream(stock).Version, len(claims), cursor.N)
				}
				g.Reserved++
				return &eventstore.Group{
					Appends: []eventstore.Append{storetest.To(stock, l.Stream(stock).Version, storetest.NewEvent("stock.reserved"))},
					Guards:  []eventstore.Guard{g},
					Claims:  []eventstore.Claim{{SaleID: "s", BuyerID: "b", Ordinal: len(claims) + 1, OrderID: "o", Quantity: 1, Live: true}},
					Cursors: []eventstore.Cursor{{Lane: 2, Epoch: 1, N: cursor.N + 1, Digest: "d"}},
				}, nil
			},
		}
	}
	repeat := placed("order-a")
	receipts, errs := inOneBatch(t, store, release, take(), take(), repeat, repeat)
	if errs[1] != nil || receipts[1].Outcome != eventstore.Stored {
		t.Errorf("first buyer: got %v, %v, want stored", receipts[1].Outcome, errs[1])
	}
	if want := "sold out: version 2, 1 claims, cursor 1"; errs[2] == nil || errs[2].Error() != want {
		t.Errorf("second buyer: got %v, want %s", errs[2], want)
	}
	if receipts[4].Outcome != eventstore.AlreadyThere || len(receipts[4].Records) != 1 || receipts[4].Records[0].Position != receipts[3].Records[0].Position {
		t.Errorf("repeat within the batch: got %+v, want the record of the first", receipts[4])
	}
	if len(batches) != 1 || batches[0].Works != 5 || batches[0].Events != 3 {
		t.Errorf("got batches %+v, want one of five works and three events", batches)
	}
	storetest.ReadAll(t, store)
}

func TestADataErrorInABatchFailsOneWorkAndStoresItsNeighbours(t *testing.T) {
	t.Run("in one part", func(t *testing.T) { failsOneWork(t, pgstore.Options{}) })
	t.Run("a part each", func(t *testing.T) { failsOneWork(t, inParts(pgstore.Options{})) })
}

func failsOneWork(t *testing.T, opts pgstore.Options) {
	store := open(t, opts)
	bad := storetest.NewEvent("order.placed")
	bad.OrderID = "a\x00b"
	_, errs := inOneBatch(t, store, placed("order-a"),
		storetest.Plain(storetest.To("order-bad", 0, bad)), placed("order-b"))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("neighbours: got %v and %v, want none", errs[0], errs[2])
	}
	if !errors.Is(errs[1], eventstore.ErrData) || errors.Is(errs[1], eventstore.ErrUnavailable) {
		t.Errorf("bad bytes: got %v, want ErrData alone", errs[1])
	}
	if n := len(storetest.ReadAll(t, store)); n != 2 {
		t.Errorf("got %d events, want 2", n)
	}
}

func TestACallerWhoHangsUpBeforeItsBatchStoresNothingAndLaterStoresAll(t *testing.T) {
	store := open(t, pgstore.Options{})
	holding, release := make(chan struct{}), make(chan struct{})
	var begun sync.Once
	taken := placed("order-taken")
	decide := taken.Decide
	taken.Decide = func(l eventstore.Look) (*eventstore.Group, error) {
		begun.Do(func() { close(holding) })
		<-release
		return decide(l)
	}
	ctx, hangUp := context.WithCancel(context.Background())
	var todo sync.WaitGroup
	todo.Go(func() {
		if r, err := store.Submit(ctx, taken); err != nil || r.Outcome != eventstore.Stored {
			t.Errorf("taken before the caller hung up: got %v, %v, want stored", r.Outcome, err)
		}
	})
	<-holding
	todo.Go(func() {
		if _, err := store.Submit(ctx, placed("order-waiting")); !errors.Is(err, context.Canceled) {
			t.Errorf("still waiting: got %v, want the context's error", err)
		}
	})
	poll(t, "the second work to wait", func() bool { return store.Waiting() == 1 })
	hangUp()
	close(release)
	todo.Wait()
	storetest.MustSubmit(t, store, placed("order-later"), eventstore.Stored)
	all := storetest.ReadAll(t, store)
	if len(all) != 2 || all[0].Stream != "order-taken" || all[1].Stream != "order-later" {
		t.Errorf("got %d events, want the taken one and the later one", len(all))
	}
}

func TestCloseFinishesWhatWasSubmittedAndLeavesNothingRunning(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	store, err := pgstore.New(pool, ns, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var todo sync.WaitGroup
	stored := make([]error, 50)
	for i := range stored {
		todo.Go(func() { _, stored[i] = store.Submit(context.Background(), placed(fmt.Sprintf("order-%d", i))) })
	}
	storetest.MustSubmit(t, store, placed("order-x"), eventstore.Stored)
	if err := store.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	todo.Wait()
	refused := 0
	for _, err := range stored {
		if errors.Is(err, eventstore.ErrUnavailable) {
			refused++
		} else if err != nil {
			t.Errorf("submitted before the close: %v", err)
		}
	}
	if _, err := store.Submit(t.Context(), placed("order-y")); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("submit to a closed store: got %v, want ErrUnavailable", err)
	}
	if n := len(storetest.ReadAll(t, store)); n != 51-refused {
		t.Errorf("got %d events, want %d: one for each work that was not refused", n, 51-refused)
	}
	goleak.VerifyNone(t, before)
}

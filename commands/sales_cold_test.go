package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// countedLog is a log that counts how often it is asked, and may keep who asks
// waiting.
type countedLog struct {
	mu    sync.Mutex
	log   *pastLog
	reads atomic.Int64
	lists atomic.Int64
	wait  chan struct{} // nil: nobody waits
	came  chan struct{} // gets one for each who waits
	fail  error
}

func (l *countedLog) ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	l.reads.Add(1)
	l.mu.Lock()
	wait, fail := l.wait, l.fail
	l.mu.Unlock()
	if wait != nil {
		l.came <- struct{}{}
		<-wait
	}
	if fail != nil {
		return nil, fail
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.ReadStream(ctx, stream, after, max)
}

func (l *countedLog) Streams(_ context.Context, prefix, after string, _ int) ([]string, error) {
	l.lists.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, r := range l.log.records {
		if strings.HasPrefix(r.Stream, prefix) && r.Stream > after && r.Version == 1 {
			names = append(names, r.Stream)
		}
	}
	return names, nil
}

// unasked is what a directory of sales may ask for and does not here.
type unasked struct {
	eventstore.Reader
	eventstore.Directory
}

// soldBy is a directory of sales over a counted log, with a clock that the test moves.
type soldBy struct {
	*countedLog
	sales *Sales
	mu    sync.Mutex
	now   time.Time
}

func newSoldBy(t *testing.T) *soldBy {
	s := &soldBy{countedLog: &countedLog{log: storyOfTwoSales(t), came: make(chan struct{}, 10_000)}, now: pastBegins}
	s.sales = NewSales(struct {
		unasked
		*countedLog
	}{countedLog: s.countedLog}, s.clock, SalesOptions{})
	return s
}

func (s *soldBy) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *soldBy) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *soldBy) get(t *testing.T, id string) FoldedSale {
	t.Helper()
	sale, err := s.sales.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("get sale %s: %v", id, err)
	}
	return sale
}

func isUnknown(err error) bool {
	var p *domain.Problem
	return errors.As(err, &p) && p.Code == domain.CodeSaleNotFound
}

func TestB72FiveThousandReadersOfADroppedCacheReadTheLogAFewTimes(t *testing.T) {
	s := newSoldBy(t)
	s.wait = make(chan struct{})
	begin := make(chan struct{})
	var all sync.WaitGroup
	for range 5000 {
		all.Go(func() {
			<-begin
			if sale, err := s.sales.Get(context.Background(), pastSale); err != nil || sale.Version != 2 {
				t.Errorf("got version %d, %v; want 2", sale.Version, err)
			}
		})
	}
	close(begin)
	<-s.came
	close(s.wait)
	all.Wait()
	if n := s.reads.Load(); n > 3 {
		t.Errorf("the log was read %d times, want a few", n)
	}
}

func TestB72AnUnknownSaleAskedForAHundredThousandTimesIsReadOnce(t *testing.T) {
	s := newSoldBy(t)
	id := domain.SaleNumber(77).ID()
	for range 100_000 {
		if _, err := s.sales.Get(t.Context(), id); !isUnknown(err) {
			t.Fatalf("got %v, want sale_not_found", err)
		}
	}
	if n := s.reads.Load() + s.lists.Load(); n != 1 {
		t.Errorf("the log was asked %d times, want once", n)
	}
	s.advance(3 * time.Second)
	s.log.add(t, domain.SaleStream(id), id, "", &domain.SaleScheduled{SaleID: id})
	if sale := s.get(t, id); sale.Version != 1 {
		t.Errorf("once it is there: got version %d, want 1", sale.Version)
	}
}

func TestB72AMillionMadeUpSalesCostAFewReadsAndLittleMemory(t *testing.T) {
	s := newSoldBy(t)
	for i := range 1_000_000 {
		id := domain.SaleNumber(1000 + i).ID()
		if i%2 == 0 {
			id = fmt.Sprintf("junk-%d", i)
		}
		if _, err := s.sales.Get(t.Context(), id); !isUnknown(err) {
			t.Fatalf("%s: got %v, want sale_not_found", id, err)
		}
		if i%100_000 == 0 {
			s.advance(time.Second)
		}
	}
	if n := s.reads.Load(); n > 11*64 {
		t.Errorf("the log was read %d times in 11 seconds, want 64 a second at most", n)
	}
	if n := s.lists.Load(); n > 11 {
		t.Errorf("all sales were listed %d times in 11 seconds, want once a second at most", n)
	}
	if n := len(s.sales.unknown) + len(s.sales.loading) + len(s.sales.known); n > 11*64 {
		t.Errorf("%d ids are remembered, want no more than were read", n)
	}
	if sale := s.get(t, pastSale); sale.Version != 2 {
		t.Errorf("a sale in the middle of it: got version %d, want 2", sale.Version)
	}
}

func TestWhoFindsASaleThatNobodyAskedForInLongWaitsForTheLog(t *testing.T) {
	s := newSoldBy(t)
	s.get(t, pastSale)
	s.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleClosed{SaleID: pastSale})
	s.advance(time.Minute)
	s.wait = make(chan struct{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if sale, err := s.sales.Get(context.Background(), pastSale); err != nil || !sale.Closed {
				t.Errorf("got closed %t, %v; want the closed sale", sale.Closed, err)
			}
		})
	}
	<-s.came
	before := s.reads.Load()
	close(s.wait)
	all.Wait()
	if n := s.reads.Load(); n != before {
		t.Errorf("the log was read %d times, want %d", n, before)
	}
}

func TestASaleIsUsedAsItWasWhileTheLogIsAway(t *testing.T) {
	s := newSoldBy(t)
	seenAt := s.get(t, pastSale).SeenAt
	s.fail = eventstore.ErrUnavailable
	s.advance(time.Minute)
	for range 1000 {
		if sale := s.get(t, pastSale); sale.Version != 2 || !sale.SeenAt.Equal(seenAt) {
			t.Fatalf("got version %d seen at %s, want 2 at %s", sale.Version, sale.SeenAt, seenAt)
		}
	}
	if n := s.reads.Load(); n != 2 {
		t.Errorf("the log was asked %d times, want twice", n)
	}
}

func TestWhatThisProcessStoredIsKnownAtOnce(t *testing.T) {
	s := newSoldBy(t)
	s.get(t, pastSale)
	before := s.reads.Load()
	hear := func(from int) { s.sales.Heard(s.log.records[from:]) }
	n := len(s.log.records)
	s.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleClosed{SaleID: pastSale})
	hear(n)
	if sale := s.get(t, pastSale); !sale.Closed || sale.Mark != s.log.records[n].At() {
		t.Errorf("got closed %t at %v, want closed at %v", sale.Closed, sale.Mark, s.log.records[n].At())
	}
	hear(0) // again, and with what was known before
	if sale := s.get(t, pastSale); sale.Version != 3 {
		t.Errorf("heard again: got version %d, want 3", sale.Version)
	}
	if got := s.reads.Load(); got != before {
		t.Errorf("the log was read %d times for it, want none", got-before)
	}

	s.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleResumed{SaleID: pastSale, Reason: domain.PausedByOperator})
	s.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleCleaned{SaleID: pastSale})
	hear(n + 2) // not the one before it, which somebody else stored
	if sale := s.get(t, pastSale); !sale.Cleaned || len(sale.Pauses) != 0 || sale.Version != 5 {
		t.Errorf("got %+v, want the cleaned sale at version 5", sale.Sale)
	}

	id := domain.SaleNumber(77).ID()
	if _, err := s.sales.Get(t.Context(), id); !isUnknown(err) {
		t.Fatalf("got %v, want sale_not_found", err)
	}
	n = len(s.log.records)
	s.log.add(t, domain.SaleStream(id), id, "", &domain.SaleScheduled{SaleID: id})
	hear(n)
	if sale := s.get(t, id); sale.Version != 1 {
		t.Errorf("a new sale: got version %d, want 1", sale.Version)
	}
}

package commands

import (
	"context"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// newsOf is a counted log that also tells news, and counts how often it is asked.
type newsOf struct {
	*countedLog
	noReadAll
	asked  int
	during func() // while somebody looks for news; may be nil
}

// noReadAll is what nobody may ask.
type noReadAll struct{}

func (noReadAll) ReadAll(context.Context, int64, int) ([]eventstore.Record, error) {
	panic("the whole log is read")
}

func (n *newsOf) Head(ctx context.Context) (eventstore.Mark, error) {
	n.asked++
	if n.fail != nil {
		return eventstore.Mark{}, n.fail
	}
	return n.log.Head(ctx)
}

func (n *newsOf) At(ctx context.Context, position int64) (eventstore.Record, bool, error) {
	n.asked++
	return n.log.At(ctx, position)
}

func (n *newsOf) Find(_ context.Context, f eventstore.Filter, after int64, max int) ([]eventstore.Record, error) {
	n.asked++
	var page []eventstore.Record
	for _, r := range n.log.records {
		if r.Position > after && r.Position <= f.To && len(r.Stream) > len(f.Prefix) && r.Stream[:len(f.Prefix)] == f.Prefix && len(page) < max {
			page = append(page, r)
		}
	}
	if n.during != nil {
		n.during()
	}
	return page, nil
}

func (n *newsOf) States(_ context.Context, streams []string) ([]eventstore.StreamState, error) {
	states := make([]eventstore.StreamState, len(streams))
	for i, stream := range streams {
		for _, r := range n.log.records {
			if r.Stream == stream {
				states[i] = eventstore.StreamState{Version: r.Version, Type: r.Type, Hash: r.Hash}
			}
		}
	}
	return states, nil
}

// manySales is a directory that hears news, over a log with so many more sales.
func manySales(t *testing.T, more int) (*soldBy, *newsOf, []string) {
	s := newSoldBy(t)
	ids := []string{pastSale}
	for i := range more {
		id := domain.SaleNumber(1000 + i).ID()
		ids = append(ids, id)
		s.log.add(t, domain.SaleStream(id), id, "", &domain.SaleScheduled{SaleID: id})
	}
	news := &newsOf{countedLog: s.countedLog}
	s.sales = NewSales(news, s.clock, SalesOptions{News: news, ColdReads: more + 1})
	return s, news, ids
}

func TestWhatItCostsToKeepUpDoesNotDependOnHowManySalesAreBought(t *testing.T) {
	for _, more := range []int{0, 300} {
		s, news, ids := manySales(t, more)
		second := func() int {
			reads, asked := s.reads.Load(), news.asked
			for range 4 {
				s.advance(250 * time.Millisecond)
				for _, id := range ids {
					s.get(t, id)
				}
			}
			return int(s.reads.Load()-reads) + news.asked - asked
		}
		second() // each is read for the first time
		second() // and once by itself, before it follows
		if n := second(); n > 4*3 {
			t.Errorf("with %d sales the log was asked %d times in a second, want 3 questions each 250 ms at most", len(ids), n)
		}
	}
}

func TestWhatAnotherProcessDidToASaleIsHeard(t *testing.T) {
	s, _, ids := manySales(t, 20)
	for range 3 {
		for _, id := range ids {
			s.get(t, id)
		}
		s.advance(250 * time.Millisecond)
	}
	reads := s.reads.Load()
	s.log.add(t, domain.SaleStream(ids[7]), ids[7], "", &domain.SaleClosed{SaleID: ids[7]})
	s.advance(250 * time.Millisecond)
	for i, id := range ids {
		if sale := s.get(t, id); sale.Closed != (i == 7) || !sale.SeenAt.Equal(s.clock()) && i != 7 {
			t.Errorf("sale %d: got closed %t, seen at %s; want only the seventh closed, all seen now", i, sale.Closed, sale.SeenAt)
		}
	}
	if n := s.reads.Load() - reads; n != 0 {
		t.Errorf("streams were read %d times, want none: the news say all", n)
	}
}

func TestNewsOfALogThatWentBackAreNotBelieved(t *testing.T) {
	s, _, ids := manySales(t, 3)
	s.log.add(t, domain.SaleStream(ids[2]), ids[2], "", &domain.SaleClosed{SaleID: ids[2]})
	for range 3 {
		for _, id := range ids {
			s.get(t, id)
		}
		s.advance(250 * time.Millisecond)
	}
	s.log.records = s.log.records[:len(s.log.records)-1] // the end of the sale was in a commit that was lost
	s.log.add(t, domain.SaleStream(ids[3]), ids[3], "", &domain.SaleClosed{SaleID: ids[3]})
	s.log.records[len(s.log.records)-1].Hash = eventstore.Hash{99}
	s.advance(250 * time.Millisecond)
	for i, id := range ids {
		if sale := s.get(t, id); sale.Closed != (i == 3) {
			t.Errorf("sale %d: got closed %t; want only the third closed", i, sale.Closed)
		}
	}
	all, err := s.sales.List(t.Context())
	if err != nil || len(all) != 5 {
		t.Errorf("list: got %d sales, %v, want 5", len(all), err)
	}
}

func TestAListOfManySalesAsksOneQuestionAndKnowsWhatIsNew(t *testing.T) {
	s, news, ids := manySales(t, 300)
	list := func(want int) []FoldedSale {
		t.Helper()
		all, err := s.sales.List(t.Context())
		if err != nil || len(all) != want {
			t.Fatalf("list: got %d sales, %v, want %d", len(all), err, want)
		}
		return all
	}
	list(302)
	reads, lists, asked := s.reads.Load(), s.lists.Load(), news.asked
	list(302)
	if n := int(s.reads.Load()-reads) + int(s.lists.Load()-lists) + news.asked - asked; n != 1 {
		t.Errorf("the log was asked %d times, want once", n)
	}
	fresh := domain.SaleNumber(77).ID()
	s.log.add(t, domain.SaleStream(fresh), fresh, "", &domain.SaleScheduled{SaleID: fresh})
	s.log.add(t, domain.SaleStream(ids[9]), ids[9], "", &domain.SaleClosed{SaleID: ids[9]})
	for _, sale := range list(303) {
		if sale.Closed != (sale.ID == ids[9]) {
			t.Errorf("sale %s: got closed %t", sale.ID, sale.Closed)
		}
	}
	if n := s.reads.Load() - reads; n != 0 {
		t.Errorf("streams were read %d times, want none", n)
	}
	s.sales.Heard(s.log.records[len(s.log.records)-2:]) // as if this process had stored them
	list(303)
}

// A sale that is read while somebody looks for news may lack what they saw.
func TestASaleThatWasReadBesideTheNewsIsReadAgain(t *testing.T) {
	s, news, ids := manySales(t, 2)
	s.get(t, ids[0])
	s.advance(250 * time.Millisecond)
	s.get(t, ids[0]) // the first era begins
	before := len(s.log.records)
	s.log.add(t, domain.SaleStream(ids[1]), ids[1], "", &domain.SaleClosed{SaleID: ids[1]})
	for range newsPage { // so that there is a second page after what was heard of its end
		s.log.add(t, domain.SaleStream(ids[2]), ids[2], "", &domain.SalePaused{SaleID: ids[2], Reason: domain.PausedByOperator})
	}
	pages := 0
	news.during = func() {
		if pages++; pages == 2 {
			all := s.log.records
			s.log.records = all[:before]
			s.get(t, ids[1]) // by an answer from before its end
			s.log.records = all
		}
	}
	s.advance(250 * time.Millisecond)
	s.get(t, ids[0])
	if pages != 2 {
		t.Fatalf("news came in %d pages, want 2", pages)
	}
	s.advance(250 * time.Millisecond)
	if sale := s.get(t, ids[1]); !sale.Closed {
		t.Error("got a sale that is open, want it closed")
	}
}

func TestALogThatIsAwayIsAskedOnceForNewsAndNotAlsoForEachSale(t *testing.T) {
	s, news, ids := manySales(t, 20)
	for _, id := range ids {
		s.get(t, id) // known, and not yet kept up by the news
	}
	s.advance(250 * time.Millisecond)
	news.mu.Lock()
	news.fail = eventstore.ErrUnavailable
	news.mu.Unlock()
	reads, asked := s.reads.Load(), news.asked
	for _, id := range ids {
		if sale := s.get(t, id); sale.ID != id {
			t.Errorf("got sale %q; want %s as it was known", sale.ID, id)
		}
	}
	if n, m := news.asked-asked, s.reads.Load()-reads; n != 1 || m != 0 {
		t.Errorf("asked %d times for news and read %d streams; want one question that nobody waits for twice", n, m)
	}
	news.mu.Lock()
	news.fail = nil
	news.mu.Unlock()
	s.log.add(t, domain.SaleStream(ids[7]), ids[7], "", &domain.SaleClosed{SaleID: ids[7]})
	s.advance(250 * time.Millisecond)
	if !s.get(t, ids[7]).Closed {
		t.Error("the log answers again and what happened is not heard")
	}
}

package gatetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// checkJournal wants a dense journal whose digests chain, holding so many
// purchases, each order once; and a lane that knows its end.
func (s *Stage) checkJournal(lane, purchases int) []commands.Purchase {
	s.tb.Helper()
	var all []commands.Purchase
	var at eventstore.Cursor
	orders := map[string]bool{}
	for _, e := range s.journal(lane) {
		if e.ID.Epoch != at.Epoch {
			at = eventstore.Cursor{Epoch: e.ID.Epoch, Digest: domain.FirstDigest(lane, e.ID.Epoch)}
		}
		at.N++
		at.Digest = domain.NextDigest(at.Digest, e.Body)
		if e.ID.N != at.N || e.Digest != at.Digest || e.Lane != lane {
			s.tb.Fatalf("entry of lane %d: got %s with digest %s, want %d-%d with %s", lane, e.ID, e.Digest, at.Epoch, at.N, at.Digest)
		}
		_, some := s.purchasesOf(e)
		for _, p := range some {
			if orders[p.Order] {
				s.tb.Fatalf("the journal holds order %s twice", p.Order)
			}
			orders[p.Order] = true
		}
		all = append(all, some...)
	}
	if len(all) != purchases {
		s.tb.Fatalf("the journal holds %d purchases, want %d", len(all), purchases)
	}
	if l := s.lane(lane); l.Epoch == at.Epoch && (l.N != at.N || l.Digest != at.Digest || l.Last.N != at.N) {
		s.tb.Fatalf("the lane says %d with digest %s, last %s; its journal ends at %d with %s", l.N, l.Digest, l.Last, at.N, at.Digest)
	}
	return all
}

func testJournal(t *testing.T, maker Maker) {
	t.Run("an entry carries all that recording needs", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 9 }, 10, 10)
		r := s.Ask(show, "u", 2, 3)
		r.Key, r.BodyHash, r.Node = "ab", "cd", "api-1"
		v := s.Reserve(r)
		if v.Order != r.Order || v.Entry.I != 1 || v.Entry.Epoch != 1 {
			t.Fatalf("verdict: got %+v", v)
		}
		e, ok, err := s.Entry(s.ctx, show.Place.Lane(), v.Entry)
		if err != nil || !ok {
			t.Fatalf("read entry %s: %t, %v", v.Entry, ok, err)
		}
		body, purchases := s.purchasesOf(e)
		want := commands.Purchase{Order: r.Order, Buyer: "u", Sale: show.Place.Sale, Lines: r.Lines, Key: "ab", Body: "cd", TraceID: "trace", Node: "api-1"}
		if len(purchases) != 1 || !reflect.DeepEqual(purchases[0], want) {
			t.Fatalf("purchase: got %+v, want %+v", purchases, want)
		}
		if got := body.Terms[show.Place.Sale]; !reflect.DeepEqual(got, show.Sale.Judged()) {
			t.Fatalf("terms: got %+v, want %+v", got, show.Sale.Judged())
		}
		if !body.Time().Equal(v.Now) {
			t.Fatalf("time: got %s, want the verdict's %s", body.Time(), v.Now)
		}
		if _, ok, err := s.Entry(s.ctx, show.Place.Lane(), domain.EntryID{Epoch: 1, N: 99}); ok || err != nil {
			t.Fatalf("an entry that is not there: got %t, %v", ok, err)
		}
	})
	t.Run("ids are dense and digests chain over many batches and epochs", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 1000)
		for round := range 3 {
			var all []commands.Reservation
			for i := range 60 {
				all = append(all, s.Ask(show, buyer(100*round+i), 1))
			}
			wantCounts(t, s.crowd(all), map[domain.Outcome]int{domain.Reserved: 60})
			s.checkJournal(show.Place.Lane(), 60*(round+1))
			s.Recover(show.Place.Lane())
		}
	})
	t.Run("reading follows cursors of many lanes and goes on into later epochs", func(t *testing.T) { testRead(t, maker) })
	t.Run("waiting for an entry ends with it, with the time and with the context", func(t *testing.T) { testWait(t, maker) })
}

func testRead(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	first := s.Open(nil, 100)
	second := s.Open(nil, 100)
	for second.Place.Lane() == first.Place.Lane() {
		second = s.Open(nil, 100)
	}
	for i := range 5 {
		s.Buy(first, buyer(i), domain.Reserved, 1)
		s.Buy(second, buyer(i), domain.Reserved, 1)
	}
	s.Recover(first.Place.Lane())
	s.Buy(first, "later", domain.Reserved, 1)
	after := make([]eventstore.Cursor, domain.Lanes)
	for i := range after {
		after[i] = eventstore.Cursor{Lane: i, Epoch: 1}
	}
	after[first.Place.Lane()].N = 2
	var got []domain.EntryID
	seen := map[int][]domain.EntryID{}
	for {
		entries, err := s.Read(s.ctx, after, 4, 0)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			after[e.Lane].Epoch, after[e.Lane].N = e.ID.Epoch, e.ID.N
			seen[e.Lane] = append(seen[e.Lane], e.ID)
			got = append(got, e.ID)
		}
	}
	want := []domain.EntryID{{Epoch: 1, N: 3}, {Epoch: 1, N: 4}, {Epoch: 1, N: 5}, {Epoch: 2, N: 1}}
	if !slices.Equal(seen[first.Place.Lane()], want) || len(seen[second.Place.Lane()]) != 5 || len(got) != 9 {
		t.Fatalf("entries by lane: got %v, want %v and five of the other lane", seen, want)
	}
}

func testWait(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 100)
	after := []eventstore.Cursor{{Lane: show.Place.Lane(), Epoch: 1}}
	if entries, err := s.Read(s.ctx, after, 10, 20*time.Millisecond); err != nil || len(entries) != 0 {
		t.Fatalf("nothing to read: got %d entries, %v", len(entries), err)
	}
	read := make(chan int, 1)
	go func() {
		entries, err := s.Read(s.ctx, after, 10, 20*time.Second)
		if err != nil {
			entries = nil
		}
		read <- len(entries)
	}()
	s.Buy(show, "u", domain.Reserved, 1)
	if n := <-read; n != 1 {
		t.Fatalf("a read that waits: got %d entries, want 1", n)
	}
	after[0].N = 1
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Read(ctx, after, 10, time.Hour)
		ended <- err
	}()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("a read whose context ended: got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a read went on after its context had ended")
	}
}

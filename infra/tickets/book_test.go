package tickets

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// twoBooks are the books of two nodes over one Redis.
func twoBooks(t *testing.T) (a, b *Book) {
	t.Helper()
	namespace := testenv.Namespace(t)
	open := func() *Book {
		book, err := Open(testenv.Redis(t), namespace)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = book.Close() }) // nothing is under way
		return book
	}
	return open(), open()
}

// askFor asks for a ticket of a sale that is open since a minute.
func askFor(buyer string, most int64) commands.TicketAsk {
	now := time.Now()
	return commands.TicketAsk{Sale: "28t5cy4t", Buyer: buyer, First: now.Add(-time.Hour), Opens: now.Add(-time.Minute), Closes: now.Add(time.Hour),
		Life: time.Minute, Most: most}
}

func grant(t *testing.T, b *Book, ask commands.TicketAsk, want domain.Outcome) commands.TicketGrant {
	t.Helper()
	g, err := b.Grant(t.Context(), ask)
	if err != nil || g.Outcome != want {
		t.Fatalf("buyer %s: got %+v, %v; want %s", ask.Buyer, g, err, want)
	}
	return g
}

func TestNoMoreBuyersGetTicketsThanMayOverTwoNodes(t *testing.T) {
	t.Parallel()
	a, b := twoBooks(t)
	var got, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			book := a
			if i%2 == 1 {
				book = b
			}
			g, err := book.Grant(context.Background(), askFor(fmt.Sprintf("u%d", i), 30))
			switch {
			case err != nil:
				t.Error(err)
			case g.Outcome == domain.Reserved:
				got.Add(1)
			case g.Outcome == domain.SoldOut:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if got.Load() != 30 || refused.Load() != 170 {
		t.Errorf("got %d tickets and %d refusals, want 30 and 170", got.Load(), refused.Load())
	}
}

func TestABuyerGetsTheSameTicketWhileItIsGood(t *testing.T) {
	t.Parallel()
	a, b := twoBooks(t)
	first := grant(t, a, askFor("u", 1), domain.Reserved)
	again := grant(t, b, askFor("u", 1), domain.Reserved)
	if first.Again || !again.Again || !again.Expires.Equal(first.Expires) {
		t.Errorf("got %+v, then %+v; want the same again", first, again)
	}
	if d := first.Expires.Sub(first.Now); d != time.Minute {
		t.Errorf("it is good for %s, want a minute", d)
	}
	grant(t, b, askFor("v", 1), domain.SoldOut)
}

func TestATicketThatIsUsedOrOverIsFollowedByAnotherInItsPlace(t *testing.T) {
	t.Parallel()
	a, _ := twoBooks(t)
	first := grant(t, a, askFor("u", 1), domain.Reserved)
	ask := askFor("u", 1)
	ask.Used = first.Expires
	second := grant(t, a, ask, domain.Reserved)
	if second.Again || !second.Expires.After(first.Expires) {
		t.Errorf("after %+v was used: got %+v, want a later one", first, second)
	}
	if same := grant(t, a, ask, domain.Reserved); !same.Expires.Equal(second.Expires) {
		t.Errorf("the used one again: got %+v, want %+v", same, second)
	}
	brief := askFor("u", 1)
	brief.Sale, brief.Life = "38t5cy4t", time.Microsecond
	early := grant(t, a, brief, domain.Reserved)
	if late := grant(t, a, brief, domain.Reserved); late.Again || !late.Expires.After(early.Expires) {
		t.Errorf("after %+v was over: got %+v, want a later one", early, late)
	}
}

func TestTicketsAreGivenOutFromTheirTimeUntilTheEnd(t *testing.T) {
	t.Parallel()
	a, _ := twoBooks(t)
	now := time.Now()
	ask := askFor("u", 0)
	ask.First, ask.Opens = now.Add(time.Minute), now.Add(2*time.Minute)
	grant(t, a, ask, domain.TooEarly)
	ask.First = now.Add(-time.Minute)
	g := grant(t, a, ask, domain.Reserved)
	if want := ask.Opens.Add(ask.Life).Truncate(time.Microsecond); !g.Expires.Equal(want) {
		t.Errorf("before the opening: good until %s, want %s", g.Expires, want)
	}
	ask.Closes = now.Add(-time.Second)
	grant(t, a, ask, domain.Ended)
}

func TestASolutionGivesOneTicketOnAllNodes(t *testing.T) {
	t.Parallel()
	a, b := twoBooks(t)
	ask := askFor("u", 0)
	ask.Solution = "5f1d"
	first := grant(t, a, ask, domain.Reserved)
	if again := grant(t, b, ask, domain.Reserved); !again.Again || !again.Expires.Equal(first.Expires) {
		t.Errorf("sent again: got %+v, want %+v", again, first)
	}
	ask.Used = first.Expires
	if g, err := b.Grant(t.Context(), ask); err != nil || !g.Spent || g.Outcome == domain.Reserved {
		t.Errorf("for another ticket: got %+v, %v; want it spent", g, err)
	}
	ask.Solution = "77aa" // not needed for the ticket that he has, so it is not used up
	if g := grant(t, a, func() commands.TicketAsk { keep := ask; keep.Used = time.Time{}; return keep }(), domain.Reserved); !g.Again {
		t.Errorf("another solution: got %+v, want the ticket that he has", g)
	}
	second := grant(t, a, ask, domain.Reserved)
	if second.Again || !second.Expires.After(first.Expires) {
		t.Errorf("another solution: got %+v after %+v, want a later ticket", second, first)
	}
	ask.Used = time.Time{}
	ask.Solution = "5f1d"
	if g, err := a.Grant(t.Context(), ask); err != nil || !g.Spent {
		t.Errorf("the first solution once more: got %+v, %v; want it spent", g, err)
	}
}

func TestOneSolutionAskedManyTimesAtOnceGivesOneTicket(t *testing.T) {
	t.Parallel()
	a, b := twoBooks(t)
	ask := askFor("u", 0)
	ask.Solution = "5f1d"
	var fresh atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			g, err := []*Book{a, b}[i%2].Grant(context.Background(), ask)
			if err != nil {
				t.Error(err)
			}
			if g.Outcome == domain.Reserved && !g.Again {
				fresh.Add(1)
			}
		})
	}
	all.Wait()
	if fresh.Load() != 1 {
		t.Errorf("got %d tickets, want one", fresh.Load())
	}
}

func TestABookTellsHowItStandsAndWhoIsInIt(t *testing.T) {
	t.Parallel()
	a, b := twoBooks(t)
	sale := askFor("u", 0).Sale
	if state, err := a.Look(t.Context(), sale); err != nil || state != (commands.BookState{}) {
		t.Errorf("before anybody asked: got %+v, %v", state, err)
	}
	want := map[string]bool{}
	var first commands.TicketGrant
	for i := range 2500 {
		buyer := fmt.Sprintf("u%d", i)
		want[buyer] = true
		if g := grant(t, a, askFor(buyer, 2500), domain.Reserved); i == 0 {
			first = g
		}
	}
	state, err := b.Look(t.Context(), sale)
	if err != nil || state.Buyers != 2500 || !state.Begun.Equal(first.Now) || !first.Begun.Equal(first.Now) {
		t.Errorf("got %+v, %v; want 2500 buyers since %s", state, err, first.Now)
	}
	if err := b.Holders(t.Context(), sale, func(buyer string) {
		if _, known := want[buyer]; !known {
			t.Errorf("%q is in the book", buyer)
		}
		want[buyer] = false
	}); err != nil {
		t.Fatal(err)
	}
	for buyer, missing := range want {
		if missing {
			t.Errorf("%s is not in the book", buyer)
		}
	}
	if g := grant(t, b, askFor("late", 2500), domain.SoldOut); !g.Begun.Equal(first.Now) {
		t.Errorf("a refusal tells of a book begun at %s, want %s", g.Begun, first.Now)
	}
}

func TestABookThatIsAwayIsAnError(t *testing.T) {
	t.Parallel()
	b, err := Open("redis://127.0.0.1:1/0", "ns")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if g, err := b.Grant(t.Context(), askFor("u", 1)); err == nil {
		t.Errorf("got %+v, want an error", g)
	}
	if _, err := Open("http://x", "ns"); err == nil {
		t.Error("an address of no Redis was taken")
	}
}

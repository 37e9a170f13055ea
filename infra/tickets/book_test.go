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

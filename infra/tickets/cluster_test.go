package tickets

import (
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

func TestABookOnAClusterIsOne(t *testing.T) {
	t.Parallel()
	c := testenv.PrivateRedisCluster(t, 0)
	open := func() *Book {
		book, err := Open(c.URL, "ns")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = book.Close() }) // nothing is under way
		return book
	}
	a, b := open(), open()
	ask := askFor("alice", 1)
	ask.Solution = "solved"
	first := grant(t, a, ask, domain.Reserved)
	if again := grant(t, b, ask, domain.Reserved); !again.Again || !again.Expires.Equal(first.Expires) {
		t.Errorf("at another node: got %+v, want the ticket %+v", again, first)
	}
	grant(t, b, askFor("bob", 1), domain.SoldOut)
	state, err := b.Look(t.Context(), ask.Sale)
	if err != nil || state.Buyers != 1 || state.Begun.IsZero() {
		t.Errorf("look: got %+v, %v", state, err)
	}
	var names []string
	if err := b.Holders(t.Context(), ask.Sale, func(buyer string) { names = append(names, buyer) }); err != nil || len(names) != 1 || names[0] != "alice" {
		t.Errorf("holders: got %v, %v", names, err)
	}
	if _, err := a.sayWork(t.Context(), "a", 1000, time.Now()); err != nil {
		t.Fatal(err)
	}
	if others, err := b.sayWork(t.Context(), "b", 2000, time.Now()); err != nil || others["a"] != 1000 {
		t.Errorf("proofs of work of others: got %v, %v", others, err)
	}
}

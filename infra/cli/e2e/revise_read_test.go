package e2e

import (
	"context"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// TestOperatorsReadOnEveryNodeWhatWasJustChangedOnAnother: what a node remembers of a
// sale for buyers may be a moment old; operators who move its end read that at once.
func TestOperatorsReadOnEveryNodeWhatWasJustChangedOnAnother(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	n, other := rig.Node(t, NodeOptions{}), rig.Node(t, NodeOptions{APIOnly: true})
	sale := n.Schedule(t, Terms(5))
	shower := &commands.Shower{Env: other.Env, Sales: other.Sales, Gate: other.Gate, Guards: other.Store}
	for i := range 10 {
		if _, err := shower.Show(context.Background(), sale); err != nil { // it is remembered
			t.Fatal(err)
		}
		ends := time.Now().Add(time.Duration(i+2) * time.Hour).Truncate(time.Microsecond).UTC()
		if _, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.ClosesAt = ends }); err != nil {
			t.Fatal(err)
		}
		shown, err := shower.Look(context.Background(), sale)
		if err != nil || !shown.Terms.ClosesAt.Equal(ends) {
			t.Errorf("read on another node: got %s, %v; want %s", shown.Terms.ClosesAt, err, ends)
		}
	}
	for _, id := range []string{"", "zzzzzzzz", "no sale"} {
		if _, err := shower.Look(context.Background(), id); !isProblem(err, domain.CodeSaleNotFound) {
			t.Errorf("%q: got %v, want sale_not_found", id, err)
		}
	}
}

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"seckill/domain"
)

// basketTerms are those of a sale of three items, none of which lasts for everybody.
func basketTerms(in domain.Strategy, of int) domain.SaleTerms {
	terms := termsIn(in, 0)
	terms.LimitPerBuyer, terms.Buckets = 6, of
	first := terms.Items[0]
	terms.Items = nil
	for _, item := range []struct {
		sku   string
		stock int64
	}{{"tea", 40}, {"mug", 25}, {"tin", 60}} {
		first.SKU, first.Title, first.Stock = item.sku, item.sku, item.stock
		terms.Items = append(terms.Items, first)
	}
	return terms
}

func baskets() [][]domain.Line {
	return [][]domain.Line{
		{{SKU: "tea", Quantity: 1}, {SKU: "mug", Quantity: 1}},
		{{SKU: "mug", Quantity: 2}, {SKU: "tin", Quantity: 1}},
		{{SKU: "tea", Quantity: 2}, {SKU: "mug", Quantity: 1}, {SKU: "tin", Quantity: 3}},
		{{SKU: "tin", Quantity: 3}},
	}
}

// TestB04SeveralItemsOfAPurchaseAreSoldTogetherOrNotAtAll lets buyers with different
// baskets take three items to their end, over every strategy and over buckets.
func TestB04SeveralItemsOfAPurchaseAreSoldTogetherOrNotAtAll(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) { sellBaskets(t, in, 1) })
	t.Run("four buckets", func(t *testing.T) { sellBaskets(t, domain.StrategyRedisAsync, 4) })
	t.Run("four buckets, told once recorded", func(t *testing.T) { sellBaskets(t, domain.StrategyRedisSync, 4) })
}

func sellBaskets(t *testing.T, in domain.Strategy, of int) {
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	sale := n.Schedule(t, basketTerms(in, of))
	sold := make([]*tally, len(baskets()))
	var buying sync.WaitGroup
	for i, lines := range baskets() {
		var buyers []string
		for b := range 40 {
			buyers = append(buyers, fmt.Sprintf("basket-%d-%d", i, b))
		}
		buying.Go(func() { sold[i] = buyUntilTold(t, []*Node{n}, sale, buyers, 8, lines...) })
	}
	buying.Wait()

	accepted, taken, whole := map[string]string{}, map[string]int64{}, map[string][]domain.Line{}
	for i, lines := range baskets() {
		if sold[i].outcomes[domain.Reserved]+sold[i].outcomes[domain.SoldOut] != 40 {
			t.Errorf("basket %v: got %v, want 40 buyers who have it or hear sold out", lines, sold[i].outcomes)
		}
		for order, buyer := range sold[i].accepted {
			accepted[order], whole[order] = buyer, lines
			for _, l := range lines {
				taken[l.SKU] += l.Quantity
			}
		}
	}
	StandingChecks(t, n, sale, accepted)
	checkWhole(t, n, whole)
	left := leftOfItems(t, n, sale, taken)
	for i, lines := range baskets() {
		if sold[i].outcomes[domain.SoldOut] > 0 && !slices.ContainsFunc(lines, func(l domain.Line) bool { return left[l.SKU] < l.Quantity }) {
			t.Errorf("basket %v was told sold out, and of everything in it there is enough: %v", lines, left)
		}
	}
}

// checkWhole wants every order with exactly the lines that were asked for.
func checkWhole(t *testing.T, n *Node, whole map[string][]domain.Line) {
	t.Helper()
	f := readFold(t, n.Store)
	for order, asked := range whole {
		var got []domain.Line
		for _, l := range f.orders[order].Lines {
			got = append(got, domain.Line{SKU: l.SKU, Quantity: l.Quantity})
		}
		if f.orders[order].Status != domain.OrderStatusPlaced || !slices.Equal(got, asked) {
			t.Errorf("order %s is %s with %v, want it placed with %v", order, f.orders[order].Status, got, asked)
		}
	}
}

// leftOfItems gives what is left of each item by the log, which is its stock less what
// orders have taken.
func leftOfItems(t *testing.T, n *Node, sale string, taken map[string]int64) map[string]int64 {
	t.Helper()
	folded, err := n.Sales.Fold(context.Background(), sale)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]int64{}
	for _, item := range folded.Terms.Items {
		for b := range folded.Terms.Buckets {
			guards, err := n.Store.Guards(context.Background(), []string{domain.StockStream(sale, item.SKU, b)})
			if err != nil {
				t.Fatal(err)
			}
			left[item.SKU] += guards[0].Left()
		}
		if want := item.Stock - taken[item.SKU]; left[item.SKU] != want || want < 0 {
			t.Errorf("%d left of %s, and orders have %d of %d", left[item.SKU], item.SKU, taken[item.SKU], item.Stock)
		}
	}
	return left
}

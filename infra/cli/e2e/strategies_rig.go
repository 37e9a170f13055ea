package e2e

import (
	"context"
	"net/http"
	"testing"

	"seckill/domain"
)

// everyStrategy runs a case over every strategy of a sale, each in a subtest of its
// name: what buyers are promised does not depend on the machinery.
func everyStrategy(t *testing.T, test func(t *testing.T, in domain.Strategy)) {
	for _, in := range []domain.Strategy{domain.StrategyRedisAsync, domain.StrategyRedisSync, domain.StrategyPostgres} {
		t.Run(string(in), func(t *testing.T) { test(t, in) })
	}
}

// termsIn gives the terms of a sale of a strategy that is open from now on.
func termsIn(in domain.Strategy, stock int64) domain.SaleTerms {
	terms := Terms(stock)
	terms.Strategy = in
	return terms
}

// sellingIn is a new installation with one node and one sale of a strategy that is open.
func sellingIn(t testing.TB, in domain.Strategy, stock int64) (r *Rig, n *Node, sale string) {
	t.Helper()
	r = NewRig(t)
	n = r.Node(t, NodeOptions{})
	return r, n, n.Schedule(t, termsIn(in, stock))
}

// createIn makes a sale of a strategy over HTTP.
func createIn(t testing.TB, c *Client, in domain.Strategy, stock int) string {
	t.Helper()
	body := saleBody(stock)
	body["strategy"] = string(in)
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated || answer.Text("strategy") != string(in) {
		t.Fatalf("create a sale: %d %s, %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id")
}

// left gives the units that a sale of one item has left for buyers: the gate's, or the
// log's where there is no gate.
func (n *Node) left(ctx context.Context, sale string) (int64, error) {
	if n.Sales.Gateless(ctx, sale) {
		guards, err := n.Store.Guards(ctx, []string{domain.StockStream(sale, "item", 0)})
		if err != nil {
			return 0, err
		}
		return guards[0].Left(), nil
	}
	seen, err := n.Gate.Peek(ctx, domain.Place{Store: n.Env.Store, Sale: sale}, []string{"item"})
	if err != nil {
		return 0, err
	}
	return seen.Stocks[0].Available, nil
}

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli"
	"seckill/infra/pg"
	"seckill/infra/testenv"
)

// refused buys one unit and gives the receipt of the refusal, which must have a code.
func (c *Client) refused(t *testing.T, sale, buyer, code string) string {
	t.Helper()
	a, err := c.Buy(sale, buyer, "key-"+buyer)
	if err != nil || a.Text("code") != code || len(a.Text("receipt")) != domain.ReceiptLength {
		t.Fatalf("got %d %s, %v; want %s with a receipt", a.Status, a.Raw, err, code)
	}
	return a.Text("receipt")
}

// explained gives what the command says of a receipt; it must end with a code.
func explained(t *testing.T, settings []string, code int, args ...string) commands.ReceiptReport {
	t.Helper()
	done := Run(t, settings, append([]string{"receipt", "--json"}, args...)...)
	if done.Code != code {
		t.Fatalf("exit code %d, want %d; %s%s", done.Code, code, done.Stdout, done.Stderr)
	}
	done.Code = 0
	return wantJSON[commands.ReceiptReport](t, done)
}

// forgedBy signs what a purchase of one unit was never told, as somebody with the keys could.
func (r *Rig) forgedBy(t *testing.T, of domain.Refusal) string {
	t.Helper()
	id, err := pg.LoadIdentity(context.Background(), r.Pool)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := domain.NewReceiptSigner(cli.OrderKeys(id)).Append(nil, &of)
	if !ok {
		t.Fatalf("no receipt of %+v", of)
	}
	return string(text)
}

func TestAReceiptIsExplainedAgainstTheLogOfItsMoment(t *testing.T) {
	r := NewRig(t)
	server := ServeRig(t, r)
	settings, c := r.Settings(t), NewClient(server.URL)
	sale := c.CreateSale(t, 2)
	var order string
	testenv.Eventually(t, time.Minute, func() error {
		a, err := c.Buy(sale, "first", "key-first")
		if order = a.Text("order_id"); err == nil && order == "" {
			err = errStatus(a)
		}
		return err
	})
	c.must(t, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "second", "", `{"sku":"item","quantity":1}`)
	soldOut := []string{c.refused(t, sale, "third", "sold_out"), c.refused(t, sale, "fourth", "sold_out")} // the gate judged, and a look
	testenv.Eventually(t, time.Minute, func() error {
		a, err := c.Order("first", order, "")
		if err == nil && a.Text("status") != "placed" {
			err = errStatus(a)
		}
		return err
	})
	c.must(t, http.MethodPost, "/api/v1/orders/"+order+"/cancellation", "first", "", nil) // later: it changes nothing
	for i, buyer := range []string{"third", "fourth"} {
		got := explained(t, settings, 0, soldOut[i], "--buyer", buyer)
		if got.Judgement != "right" || !got.Valid || got.Buyer == nil || !*got.Buyer || got.Left == nil || *got.Left != 0 || got.SKU != "item" || got.Next == "" || got.BoundMS == nil || *got.BoundMS != 0 {
			t.Errorf("%s: got %+v; want it right, exactly timed, with none left", buyer, got)
		}
		if then := got.Then; then == nil || then.State != "open" || len(then.Stock) != 1 || then.Stock[0] != (commands.ReceiptStock{SKU: "item", Released: 2, Taken: 2, Unsure: then.Stock[0].Unsure}) {
			t.Errorf("%s: got %+v; want two on sale and both taken, whatever came later", buyer, got.Then)
		}
	}
	if got := explained(t, settings, 3, soldOut[0], "--buyer", "fourth"); *got.Buyer || !got.Valid {
		t.Errorf("shown by another buyer: got %+v", got)
	}
	broken := []byte(soldOut[0])
	broken[40] ^= 1
	if got := explained(t, settings, 3, string(broken)); got.Valid || got.Judgement != "forged" {
		t.Errorf("changed: got %+v, want it forged", got)
	}
	closed := c.CreateSale(t, 5)
	c.must(t, http.MethodPost, "/api/v1/admin/sales/"+closed+"/close", "boss", "admin", nil)
	if got := explained(t, settings, 0, c.refused(t, closed, "late", "sale_ended")); got.Judgement != "right" {
		t.Errorf("after the end: got %+v", got)
	}
	wantContradicted(t, r, settings, sale, order)
	answer := c.must(t, http.MethodGet, "/api/v1/admin/receipts/"+soldOut[0]+"?buyer=third", "boss", "admin", nil)
	if got := ofAnswer[commands.ReceiptReport](t, answer); got.Judgement != "right" || got.Then == nil {
		t.Errorf("over HTTP: got %+v", got)
	}
	table := Run(t, settings, "receipt", soldOut[0])
	for _, want := range []string{"sold_out in sale " + sale, "asked for 1 of item; 0 left", "Judgement: right"} {
		if !strings.Contains(table.Stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, table.Stdout)
		}
	}
}

// wantContradicted shows receipts that a gate which was wrong would have given.
func wantContradicted(t *testing.T, r *Rig, settings []string, sale, order string) {
	t.Helper()
	now := time.Now()
	none := domain.Refusal{Sale: sale, Buyer: "x", At: now, Left: domain.Unknown, Bucket: domain.Unknown, Lines: []domain.Line{{SKU: "item", Quantity: 1}}}
	for name, change := range map[string]func(*domain.Refusal){
		"too early in an open sale": func(f *domain.Refusal) { f.Code = domain.CodeTooEarly },
		"ended in an open sale":     func(f *domain.Refusal) { f.Code = domain.CodeSaleEnded },
		"units by its own word":     func(f *domain.Refusal) { f.Code, f.Left = domain.CodeSoldOut, 7 },
		"a limit that is not full":  func(f *domain.Refusal) { f.Code = domain.CodeLimitExceeded },
		"the owner of an order":     func(f *domain.Refusal) { f.Code, f.Buyer = domain.CodeSoldOut, "second" },
	} {
		f := none
		change(&f)
		got := explained(t, settings, 3, r.forgedBy(t, f), "--buyer", f.Buyer)
		if got.Judgement != "contradicted" || !got.Valid {
			t.Errorf("%s: got %+v, want it contradicted", name, got)
		}
	}
	busy := none
	busy.Code = domain.CodeBusy
	if got := explained(t, settings, 0, r.forgedBy(t, busy)); got.Judgement != "no_claim" {
		t.Errorf("busy: got %+v", got)
	}
	first := none
	first.Code, first.Buyer = domain.CodeTooEarly, "first"
	orders := explained(t, settings, 3, r.forgedBy(t, first), "--buyer", "first").Then.Orders
	if !slices.ContainsFunc(orders, func(o commands.ReceiptOrder) bool {
		return o.OrderID == order && o.Status == "cancelled" && o.Units == 1
	}) {
		t.Errorf("orders of first: %s, want the cancelled one", fmt.Sprint(orders))
	}
}

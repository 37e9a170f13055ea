package e2e

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

func TestUnitsReleasedLaterAreSoldToBuyersWhoMetSoldOut(t *testing.T) {
	_, node, sale := selling(t, 2)
	ctx, actor := context.Background(), commands.Actor{By: "test"}
	c := newTally()
	sell(t, node, sale, "first", 2, c)
	if res, err := node.Buy(sale, "late"); err != nil || res.Outcome != domain.SoldOut {
		t.Fatalf("a late buyer: got %v, %v; want sold out", res.Outcome, err)
	}
	node.AwaitDecided(t, c.accepted)
	done, err := node.Operator.Release(ctx, commands.Release{Sale: sale, SKU: "item", Quantity: 3}, actor)
	if err != nil || done != (commands.Released{Released: 5, Available: 3}) {
		t.Fatalf("release: got %+v, %v; want 5 released and 3 left", done, err)
	}
	res, err := node.Buy(sale, "late") // at once: the gate has them before the answer
	if err != nil || res.Outcome != domain.Reserved {
		t.Fatalf("the late buyer again: got %v, %v; want reserved", res.Outcome, err)
	}
	c.add("late", res, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := node.Operator.Release(ctx, commands.Release{Sale: sale, SKU: "item", Quantity: 2}, actor); err != nil {
				t.Errorf("release beside others: %v", err)
			}
		})
	}
	all.Wait()
	rest := crowd(sale, []*Node{node}, 40)
	rest.want(t, domain.Reserved, 10)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, node, sale, c.accepted)
}

func TestAReleaseThatCannotBeIsRefusedAndStoresNothing(t *testing.T) {
	_, node, sale := selling(t, 2)
	ctx, actor := context.Background(), commands.Actor{By: "test"}
	before := readFold(t, node.Store).head
	for _, wrong := range []struct {
		sku      string
		quantity int64
		code     domain.Code
	}{
		{"item", 0, domain.CodeInvalidRequest}, {"item", -3, domain.CodeBelowReserved}, {"item", -domain.MaxQuantity - 1, domain.CodeInvalidRequest}, {"item", domain.MaxQuantity + 1, domain.CodeInvalidRequest},
		{"item", domain.MaxQuantity - 1, domain.CodeInvalidRequest}, // with the two there are
		{"none", 1, domain.CodeSKUNotFound},
	} {
		_, err := node.Operator.Release(ctx, commands.Release{Sale: sale, SKU: wrong.sku, Quantity: wrong.quantity}, actor)
		var p *domain.Problem
		if !errors.As(err, &p) || p.Code != wrong.code {
			t.Errorf("%d of %s: got %v, want %s", wrong.quantity, wrong.sku, err, wrong.code)
		}
	}
	if after := readFold(t, node.Store).head; after != before {
		t.Errorf("the log went from %d to %d", before.Number, after.Number)
	}
	if _, err := node.Operator.Close(ctx, sale, actor); err != nil {
		t.Fatal(err)
	}
	_, err := node.Operator.Release(ctx, commands.Release{Sale: sale, SKU: "item", Quantity: 1}, actor)
	var p *domain.Problem
	if !errors.As(err, &p) || p.Code != domain.CodeSaleEnded {
		t.Errorf("a sale that is closed: got %v, want sale_ended", err)
	}
}

func TestAnOperatorReleasesUnitsOverHTTPAndFromTheCommandLine(t *testing.T) {
	rig := NewRig(t)
	client := NewClient(ServeRig(t, rig).URL)
	sale := client.CreateSale(t, 1)
	path := "/api/v1/admin/sales/" + sale + "/items/item/releases"
	answer, err := client.Call(http.MethodPost, path, "operator", "admin", `{"quantity":4}`)
	if err != nil || answer.Status != http.StatusOK || answer.Body["released"] != 5.0 || answer.Body["available"] != 5.0 {
		t.Errorf("got %d %s, %v; want 5 released and left", answer.Status, answer.Raw, err)
	}
	for body, status := range map[string]int{`{"quantity":0}`: 422, `{"quantity":"1"}`: 422, `{}`: 422, `{`: 400} {
		if answer, err := client.Call(http.MethodPost, path, "operator", "admin", body); err != nil || answer.Status != status || answer.Text("code") != "invalid_request" {
			t.Errorf("%s: got %d %s, %v; want %d", body, answer.Status, answer.Raw, err, status)
		}
	}
	env := rig.Settings(t)
	done := wantJSON[struct{ Released, Available int64 }](t, Run(t, env, "sale", "release", "--sale", sale, "--sku", "item", "--quantity", "2", "--json"))
	if done.Released != 7 || done.Available != 7 {
		t.Errorf("from the command line: got %+v, want 7 released and left", done)
	}
	for range 2 { // once under a key
		done = wantJSON[struct{ Released, Available int64 }](t, Run(t, env, "sale", "release", "--sale", sale, "--sku", "item", "--quantity=-2", "--key", "k", "--json"))
		if done.Released != 7 || done.Available != 5 {
			t.Errorf("withdrawn from the command line: got %+v, want 7 released and 5 left", done)
		}
	}
	wantOneSentence(t, Run(t, env, "sale", "release", "--sale", sale, "--sku", "item", "--quantity=-6"), 1, "Fewer units are left")
	accepted := map[string]string{}
	buyAll(t, client, sale, "buyer", 5, accepted)
	StandingChecks(t, rig.Node(t, NodeOptions{APIOnly: true}), sale, accepted)
}

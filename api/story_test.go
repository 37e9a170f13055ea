package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// fakeTeller knows the test order.
type fakeTeller struct {
	mu     sync.Mutex
	asked  []commands.StoryAsk
	failed error
}

func (f *fakeTeller) Tell(_ context.Context, ask commands.StoryAsk) (commands.Story, error) {
	f.mu.Lock()
	f.asked = append(f.asked, ask)
	f.mu.Unlock()
	if f.failed != nil {
		return commands.Story{}, f.failed
	}
	if ask.ID == "0101g000000000000000000000000000000000000000x" {
		return commands.Story{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	return commands.Story{ID: ask.ID, As: commands.StoryOfOrder, Purchases: []commands.PurchaseStory{{
		OrderID: testOrder, Status: "placed", Lines: []commands.StoryLine{}, Views: []commands.StoryView{},
		Steps: []commands.StoryStep{{Clock: "log", Says: "placed", Payload: map[string]any{"order_id": testOrder}}},
	}}}, nil
}

func TestAnOperatorIsToldTheStoryOfAPurchase(t *testing.T) {
	h := newHouse(t, nil)
	got := h.admin(http.MethodGet, pathTrace+"?id="+testOrder, "")
	if got.Status != 200 || got.json()["as"] != "order" || !strings.Contains(got.Body, `"payload":{"order_id":"`+testOrder) {
		t.Errorf("got %d %s, want the story with its payloads", got.Status, got.Body)
	}
	buyer := "a/b&c?d" // no path could hold it
	h.admin(http.MethodGet, pathTrace+"?as=buyer&limit=3&sale="+testSale+"&id="+url.QueryEscape(buyer), "")
	if last := h.teller.asked[len(h.teller.asked)-1]; last != (commands.StoryAsk{ID: buyer, As: "buyer", Sale: testSale, Limit: 3}) {
		t.Errorf("asked for %+v, want what the query says", last)
	}
	if doc := h.admin(http.MethodGet, pathTrace+"?id=0101g000000000000000000000000000000000000000x", "").problem(404, domain.CodeOrderNotFound); doc["detail"] != noneOfThisID {
		t.Errorf("got %v, want what is said to an operator", doc["detail"])
	}
	for _, query := range []string{"", "?id=", "?id=x&as=order,", "?id=x&limit=101"} {
		h.admin(http.MethodGet, pathTrace+query, "").problem(422, domain.CodeInvalidRequest)
	}
	h.ask(http.MethodGet, pathTrace+"?id="+testOrder, "").problem(403, domain.CodeForbidden)
}

// Explain knows one receipt.
func (f *fakeTeller) Explain(_ context.Context, receipt, buyer string) (commands.ReceiptReport, error) {
	if f.failed != nil {
		return commands.ReceiptReport{}, f.failed
	}
	if receipt != "good" {
		return commands.ReceiptReport{Judgement: commands.ReceiptForged, Says: []string{"forged"}}, nil
	}
	matches := buyer == "buyer-1"
	return commands.ReceiptReport{Valid: true, Judgement: commands.ReceiptRight, Says: []string{}, Code: "sold_out", Buyer: &matches}, nil
}

func TestAnOperatorIsToldWhatAReceiptSays(t *testing.T) {
	h := newHouse(t, nil)
	if got := h.admin(http.MethodGet, "/api/v1/admin/receipts/good?buyer=buyer-1", ""); got.Status != 200 || got.json()["judgement"] != "right" || got.json()["buyer_matches"] != true || got.json()["at"] != nil {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	if got := h.admin(http.MethodGet, "/api/v1/admin/receipts/bad", ""); got.Status != 200 || got.json()["valid"] != false || got.json()["judgement"] != "forged" {
		t.Errorf("got %d %s, want that it is forged", got.Status, got.Body)
	}
	h.ask(http.MethodGet, "/api/v1/admin/receipts/good", "").problem(403, domain.CodeForbidden)
}

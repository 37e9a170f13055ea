package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// fakePreheats know the test sale, and find what they are told to.
type fakePreheats struct {
	did []string
	by  commands.Actor
	// differs is the value of the gate that is not the log's.
	differs string
}

func (f *fakePreheats) Full(ctx context.Context, sale string, actor commands.Actor) (commands.PreheatReport, error) {
	f.by = actor
	report, err := f.Verify(ctx, sale)
	f.did[len(f.did)-1] = "full"
	return report, err
}

func (f *fakePreheats) Verify(_ context.Context, sale string) (commands.PreheatReport, error) {
	f.did = append(f.did, "verify")
	if sale != testSale {
		return commands.PreheatReport{}, &domain.Problem{Code: domain.CodeSaleNotFound}
	}
	r := commands.PreheatReport{Sale: sale, Version: 3, Keys: 1, Values: map[string]string{"stock/available": "5"}, Verified: true}
	if f.differs != "" {
		r.Values["stock/available"], r.Verified = f.differs, false
		r.Differences = []commands.PreheatDifference{{Key: "stock/available", Want: "5", Got: f.differs}}
	}
	return r, nil
}

func (f *fakeOperator) Confirm(_ context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error) {
	return f.do("confirm", sale, actor, saleTerms())
}

// Revise changes the terms of the test sale, which stands at version 2.
func (f *fakeOperator) Revise(_ context.Context, r commands.Revision, actor commands.Actor) (commands.FoldedSale, error) {
	if r.Version != 2 {
		return commands.FoldedSale{}, &domain.Problem{Code: domain.CodeVersionConflict}
	}
	terms, bad := r.Change(saleTerms())
	if len(bad) > 0 {
		return commands.FoldedSale{}, domain.Invalid(bad...)
	}
	f.mu.Lock()
	f.terms = terms
	f.mu.Unlock()
	return f.do("revise", r.Sale, actor, terms)
}

const onSale = "/api/v1/admin/sales/" + testSale

func TestAPreheatListsWhatTheGateHoldsAndWhatDiffers(t *testing.T) {
	h := newHouse(t, nil)
	got := h.admin(http.MethodPost, onSale+"/preheat", "")
	want := `{"sale":"` + testSale + `","version":3,"keys":1,"values":{"stock/available":"5"},"of_buyers":0,"verified":true,"differences":[]}`
	if got.Status != http.StatusOK || strings.TrimSpace(got.Body) != want {
		t.Errorf("got %d %s, want %s", got.Status, got.Body, want)
	}
	h.preheats.differs = "6"
	got = h.admin(http.MethodGet, onSale+"/preheat", "")
	if got.Status != http.StatusOK || !strings.Contains(got.Body, `"verified":false,"differences":[{"key":"stock/available","want":"5","got":"6"}]`) {
		t.Errorf("a difference: got %d %s", got.Status, got.Body)
	}
	if did := strings.Join(h.preheats.did, " "); did != "full verify" || h.preheats.by.By != "boss" {
		t.Errorf("got %s by %s; want POST to build and GET to verify", did, h.preheats.by.By)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		h.ask(method, onSale+"/preheat", "").problem(http.StatusForbidden, domain.CodeForbidden)
		h.admin(method, "/api/v1/admin/sales/zzzzzzzz/preheat", "").problem(http.StatusNotFound, domain.CodeSaleNotFound)
	}
}

func TestAConfirmationThatFollowsNoCleanPreheatIsAConflict(t *testing.T) {
	h := newHouse(t, nil)
	if got := h.admin(http.MethodPost, onSale+"/confirmation", `{"note":"looked"}`); got.Status != http.StatusOK || h.operator.actor.Note != "looked" {
		t.Errorf("got %d %s, note %q", got.Status, got.Body, h.operator.actor.Note)
	}
	h.operator.failed = &domain.Problem{Code: domain.CodeNotReconciled, Note: "Preheat the sale first: no preheat of these terms has found everything as the log says."}
	h.admin(http.MethodPost, onSale+"/confirmation", "").problem(http.StatusConflict, domain.CodeNotReconciled)
	doc := h.admin(http.MethodPost, onSale+"/confirmation", "", "Accept-Language", "zh").problem(http.StatusConflict, domain.CodeNotReconciled)
	if detail, _ := doc["detail"].(string); !strings.Contains(detail, "请先预热") {
		t.Errorf("in Chinese: got %q", detail)
	}
	h.ask(http.MethodPost, onSale+"/confirmation", "").problem(http.StatusForbidden, domain.CodeForbidden)
}

func TestARevisionChangesWhatItNamesAndLeavesTheRest(t *testing.T) {
	h := newHouse(t, nil)
	got := h.admin(http.MethodPut, onSale, `{"version":2,"title":"Blue shoes","closes_at":"2026-11-11T11:00:00+08:00","items":[{"sku":"shoe-42","price":"18.50"}]}`)
	if got.Status != http.StatusOK || got.json()["title"] != "Blue shoes" {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	want := saleTerms()
	want.Title, want.ClosesAt, want.Items[0].Price.Minor = "Blue shoes", time.Date(2026, 11, 11, 3, 0, 0, 0, time.UTC), 1850
	is := h.operator.terms
	if is.Title != want.Title || !is.ClosesAt.Equal(want.ClosesAt) || !is.OpensAt.Equal(want.OpensAt) || is.Items[0].Price != want.Items[0].Price || is.Items[0].Stock != want.Items[0].Stock || !is.AutoOpen || is.LimitPerBuyer != want.LimitPerBuyer {
		t.Errorf("terms: got %+v, want %+v", is, want)
	}
	h.admin(http.MethodPut, onSale, `{"version":1,"title":"late"}`).problem(http.StatusConflict, domain.CodeVersionConflict)
	for body, field := range map[string]string{
		`{"title":"no version"}`:                                      "version",
		`{"version":2,"opens_at":"2026-11-11T00:00:00"}`:              "opens_at",
		`{"version":2,"items":[{"sku":"shoe-42","price":"dear"}]}`:    "items[0].price",
		`{"version":2,"items":[{"sku":"shoe-42","currency":"yuan"}]}`: "items[0].currency",
		`{"version":2,"items":[{"sku":"hat","price":"dear"}]}`:        "items[0].price", // not its currency, which is the sale's
		`{"version":2,"colour":"red"}`:                                "colour",
	} {
		if bad := h.admin(http.MethodPut, onSale, body).reasons(); bad[field] == "" {
			t.Errorf("%s: got %v, want %s refused", body, bad, field)
		}
	}
	h.ask(http.MethodPut, onSale, `{"version":2}`).problem(http.StatusForbidden, domain.CodeForbidden)
	if got := h.admin(http.MethodGet, onSale, ""); got.Status != http.StatusOK || h.shower.looked != 1 {
		t.Errorf("read afterwards: got %d, asked for the sale of now %d times, want once", got.Status, h.shower.looked)
	}
}

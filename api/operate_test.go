package api

import (
	"net/http"
	"testing"

	"seckill/domain"
)

func TestAnAdminReleasesUnitsShowsASaleAndRehydratesIt(t *testing.T) {
	h := newHouse(t, nil)
	sale := "/api/v1/admin/sales/" + testSale
	if got := h.admin(http.MethodPost, sale+"/items/shoe-42/releases", `{"quantity":4}`); got.Status != 200 || got.json()["released"] != 9.0 || got.json()["available"] != 4.0 {
		t.Errorf("release: got %d %s", got.Status, got.Body)
	}
	if got := h.admin(http.MethodPost, sale+"/rehydration", ""); got.Status != 200 || got.json()["events_applied"] != 3.0 {
		t.Errorf("rehydrate: got %d %s", got.Status, got.Body)
	}
	h.shower.mu.Lock()
	h.shower.recovering = true
	h.shower.mu.Unlock()
	got := h.admin(http.MethodGet, sale, "")
	pauses, _ := got.json()["pauses"].([]any)
	if got.Status != 200 || len(pauses) != 1 || pauses[0] != "recovery" {
		t.Errorf("a sale whose gate is being built: got %d %s", got.Status, got.Body)
	}
	for _, path := range []string{"/items/shoe-42/releases", "/rehydration"} {
		body := map[string]string{"/items/shoe-42/releases": `{"quantity":4}`}[path]
		h.ask(http.MethodPost, sale+path, body).problem(403, domain.CodeForbidden)
		h.admin(http.MethodPost, "/api/v1/admin/sales/zzzzzzzz"+path, body).problem(404, domain.CodeSaleNotFound)
	}
	h.ask(http.MethodGet, sale, "").problem(403, domain.CodeForbidden)
}

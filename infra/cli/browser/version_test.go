package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// keepsItsVersion needs no browser, but the server and its stores.
func keepsItsVersion(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(time.Hour), nil, item("a", 5))
	admin := "/api/v1/admin/sales/" + sale
	version := func() float64 {
		n, _ := s.must(t, http.StatusOK, http.MethodGet, "/api/v1/sales/"+sale, "", "", nil).Body["version"].(float64)
		return n
	}
	latest := func() (path, tag string) {
		got := s.must(t, http.StatusOK, http.MethodGet, "/s/"+sale, "", "", nil)
		return got.Header.Get("Content-Location"), got.Header.Get("ETag")
	}
	path, tag := latest()
	before := version()
	s.must(t, http.StatusOK, http.MethodPost, admin+"/pause", "operator", "admin", nil)
	s.must(t, http.StatusOK, http.MethodPost, admin+"/resume", "operator", "admin", nil)
	s.must(t, http.StatusOK, http.MethodPost, admin+"/preheat", "operator", "admin", nil)
	s.must(t, http.StatusOK, http.MethodPut, "/api/v1/admin/switches/skip_purchase_limit", "operator", "admin", map[string]any{"on": true, "sale": sale, "reason": "a test"})
	s.must(t, http.StatusOK, http.MethodPost, admin+"/items/a/releases", "operator", "admin", map[string]any{"quantity": 2})
	testenv.Eventually(t, patience, func() error {
		if now := version(); now < before+3 {
			return fmt.Errorf("the sale is at version %v, want it to have moved from %v", now, before)
		}
		return nil
	})
	if now, same := latest(); now != path || same != tag {
		t.Errorf("the page went from %s %s to %s %s, want it as it was", path, tag, now, same)
	}
	kept := s.must(t, http.StatusOK, http.MethodGet, path, "", "", nil)
	numbered := s.must(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/s/%s/v%v", sale, version()), "", "", nil)
	for _, got := range []string{kept.Header.Get("Cache-Control"), numbered.Header.Get("Cache-Control")} {
		if got != "public, max-age=31536000, immutable" {
			t.Errorf("got Cache-Control %q, want it kept for ever", got)
		}
	}
	if numbered.Raw != kept.Raw {
		t.Error("the page of the sale's version is not that of what it says")
	}
	s.must(t, http.StatusOK, http.MethodPut, admin, "operator", "admin", map[string]any{"version": version(), "items": []any{map[string]any{"sku": "a", "price": "9.90"}}})
	testenv.Eventually(t, patience, func() error {
		if now, changed := latest(); now == path || changed == tag {
			return fmt.Errorf("the price changed, and the page is still %s", now)
		}
		return nil
	})
	old := s.must(t, http.StatusOK, http.MethodGet, path, "", "", nil) // follows
	if old.Header.Get("Cache-Control") != "public, max-age=5" {
		t.Errorf("the old version: got Cache-Control %q, want to be led to the latest", old.Header.Get("Cache-Control"))
	}
}

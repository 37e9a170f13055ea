package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"seckill/api/console"
	"seckill/api/pages"
	"seckill/domain"
)

// call asks for a path with a token, "" for none.
func (h *house) with(token, method, path, body string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		h.t.Fatal(err)
	}
	return answer
}

// concrete puts something into every parameter of a path.
func concrete(path string) string {
	if path == pathPageAsset {
		book, err := pages.New(pages.Options{})
		if err != nil {
			panic(err)
		}
		return book.Assets().Path("app.js")
	}
	if path == pathOpsAsset {
		page, err := console.New()
		if err != nil {
			panic(err)
		}
		return page.Assets().Path("app.js")
	}
	return strings.NewReplacer("{version}", "3", "{sale}", testSale, "{order}", testOrder, "{sku}", "shoe-42", "{name}", "force_ended", "{receipt}", "nonsense", "{projection}", "order_view", "{sequence}", testOrder, "{provider}", "simulator").Replace(path)
}

func TestEveryRouteAsksForTheRoleOfItsPath(t *testing.T) {
	h := newHouse(t, nil)
	buying, steering := tokenOf(t, "alice", ""), tokenOf(t, "boss", RoleAdmin)
	for _, r := range h.server.routes() {
		path := concrete(r.Path)
		if strings.Contains(path, "{") {
			t.Fatalf("what stands for the parameters of %s? Add it to concrete", r.Path)
		}
		mayAll := map[string]bool{"list-sales": true, "get-sale": true, "pay-webhook": true}[r.OperationID] || !strings.HasPrefix(r.Path, pathPrefix)
		want := buyer
		switch {
		case strings.HasPrefix(r.Path, adminPrefix):
			want = admin
		case mayAll:
			want = public
		}
		if r.access != want {
			t.Errorf("%s %s is for %d, want %d (0 everybody, 1 buyers, 2 operators)", r.Method, r.Path, r.access, want)
		}
		body := ""
		if r.Method != http.MethodGet {
			body = "{}"
		}
		for token, refused := range map[string]int{"": 401, "x.y.z": 401, buying: 403} {
			if r.access == public || (token == buying && r.access == buyer) {
				continue
			}
			if got := h.with(token, r.Method, path, body); got.StatusCode != refused {
				t.Errorf("%s %s with token %.8q: got %d, want %d", r.Method, r.Path, token, got.StatusCode, refused)
			}
		}
		if r.access == admin {
			if got := h.with(steering, r.Method, path, body); got.StatusCode == 401 || got.StatusCode == 403 {
				t.Errorf("%s %s as an operator: got %d", r.Method, r.Path, got.StatusCode)
			}
		}
	}
}

func TestEveryAnswerCarriesTheHeadersThatProtectIt(t *testing.T) {
	h := newHouse(t, nil)
	buying := tokenOf(t, "alice", "")
	for _, r := range []struct{ method, path, token, body string }{
		{"GET", "/api/v1/sales", "", ""}, {"GET", "/nothing", "", ""}, {"DELETE", "/api/v1/sales", "", ""}, {"OPTIONS", "/api/v1/sales", "", ""},
		{"POST", "/api/v1/sales/" + testSale + "/purchases", "", "{}"}, {"POST", "/api/v1/sales/" + testSale + "/purchases", buying, `{"sku":"shoe-42","quantity":1}`},
		{"GET", "/healthz", "", ""}, {"GET", "/openapi.yaml", "", ""}, {"GET", "/api/v1/admin/switches", tokenOf(t, "boss", RoleAdmin), ""},
	} {
		got := h.with(r.token, r.method, r.path, r.body)
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s %s: %s is %q, want %q", r.method, r.path, name, got.Header.Get(name), want)
			}
		}
		if !strings.Contains(got.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s %s: policy %q lets itself be framed", r.method, r.path, got.Header.Get("Content-Security-Policy"))
		}
		if r.token != "" && got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s is for one person and may be stored: %q", r.method, r.path, got.Header.Get("Cache-Control"))
		}
	}
}

func TestAListenerOutsideHasNoRoutesOfOperators(t *testing.T) {
	h := newHouse(t, nil)
	listening := httptest.NewUnstartedServer(nil)
	listening.Config = h.server.HTTPServerOutside()
	listening.Start()
	t.Cleanup(listening.Close)
	inner := h.url
	steering := tokenOf(t, "boss", RoleAdmin)
	for _, r := range h.server.routes() {
		path := concrete(r.Path)
		h.url = listening.URL
		if strings.HasPrefix(r.Path, adminPrefix) || isOps(r.Path) {
			for _, method := range []string{r.Method, http.MethodOptions, http.MethodDelete} {
				h.with(steering, method, path, "")
				if got := h.with(steering, method, path, ""); got.StatusCode != 404 {
					t.Errorf("%s %s outside: got %d, want 404", method, r.Path, got.StatusCode)
				}
			}
		} else if got := h.with("", r.Method, path, ""); got.StatusCode == 404 && r.OperationID != "metrics" && !strings.HasPrefix(r.Path, hooksPrefix) {
			t.Errorf("%s %s outside: got 404", r.Method, r.Path)
		}
		h.url = inner
		if got := h.with(steering, r.Method, path, "{}"); strings.HasPrefix(r.Path, adminPrefix) && r.Method != http.MethodGet && got.StatusCode == 404 {
			t.Errorf("%s %s inside: got 404", r.Method, r.Path)
		}
	}
	h.url = listening.URL
	for _, path := range []string{"/api/v1/%61dmin/switches", "/api/v1//admin/switches", "/api/v1/admin/../admin/switches", "/API/v1/admin/switches", "/api/v1/admin/switches/",
		"/%6fps", "//ops", "/ops/", "/ops/assets/../assets/0123456789ab/app.js"} {
		if got := h.with(steering, http.MethodGet, path, ""); got.StatusCode != 404 {
			t.Errorf("%s outside: got %d, want 404", path, got.StatusCode)
		}
	}
	if got := h.ask(http.MethodGet, "/api/v1/admin/switches", ""); got.Status != 404 {
		got.problem(404, domain.CodeNotFound)
	}
}

func TestHeadersBeyondTheirBoundAreRefused(t *testing.T) {
	h := newHouse(t, nil)
	if got := h.ask(http.MethodGet, "/api/v1/sales", "", "X-Junk", strings.Repeat("a", 16<<10)); got.Status != 200 {
		t.Errorf("16 KiB of headers: got %d, want 200", got.Status)
	}
	for name, way := range map[string][]string{
		"one header": {"X-Junk", strings.Repeat("a", 33<<10)}, "its name": {"X-" + strings.Repeat("a", 33<<10), "b"},
		"many headers": {"X-A", strings.Repeat("a", 12<<10), "X-B", strings.Repeat("b", 12<<10), "X-C", strings.Repeat("c", 12<<10)},
	} {
		got := h.ask(http.MethodGet, "/api/v1/sales", "", append(way, "Accept-Language", "zh")...)
		if doc := got.problem(http.StatusRequestHeaderFieldsTooLarge, domain.CodeInvalidRequest); !strings.Contains(doc["detail"].(string), "超过 32 KiB") {
			t.Errorf("%s: got %q", name, doc["detail"])
		}
	}
	h.ask(http.MethodGet, "/api/v1/sales?x="+strings.Repeat("a", 33<<10), "").problem(http.StatusRequestHeaderFieldsTooLarge, domain.CodeInvalidRequest)
	// Beyond twice that nothing is read any more, and the HTTP server itself says so.
	if got := h.ask(http.MethodGet, "/api/v1/sales", "", "X-Junk", strings.Repeat("a", 128<<10)); got.Status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("128 KiB of headers: got %d, want 431", got.Status)
	}
}

package api

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"seckill/api/assets"
	"seckill/api/console"
	"seckill/api/pages"
	"seckill/commands"
	"seckill/domain"
)

func TestTheConsoleMayRunAndLoadNothingButItsOwnAssets(t *testing.T) {
	h := newHouse(t, nil)
	got := h.ask(http.MethodGet, "/ops", "", "Authorization", "")
	if got.Status != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	policy := got.Header.Values("Content-Security-Policy")
	const want = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	if len(policy) != 1 || policy[0] != want {
		t.Errorf("got policy %q, want %q", policy, want)
	}
	for name, value := range map[string]string{"Cache-Control": "no-cache", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "Set-Cookie": ""} {
		if got.Header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), value)
		}
	}
	if inline := regexp.MustCompile(`<style|\sstyle=|<script(?:\s[^>]*)?>[^<]|\son[a-z]+=`).FindString(got.Body); inline != "" {
		t.Errorf("something inline: %q", inline)
	}
	for _, data := range []string{testSale, "Red shoes", "pause_purchases"} {
		if strings.Contains(got.Body, data) {
			t.Errorf("the page itself says %q, want no data in it", data)
		}
	}
	again := h.ask(http.MethodGet, "/ops", "", "Authorization", "", "If-None-Match", got.Header.Get("ETag"))
	if got.Header.Get("ETag") == "" || again.Status != http.StatusNotModified || again.Body != "" {
		t.Errorf("got %d for the tag it gave (%q), want 304", again.Status, got.Header.Get("ETag"))
	}
}

func TestAssetsOfTheConsoleNeverChangeUnderTheirPath(t *testing.T) {
	h := newHouse(t, nil)
	set := h.server.console.Assets()
	for _, name := range set.Names() {
		got := h.ask(http.MethodGet, set.Path(name), "", "Authorization", "")
		if got.Status != http.StatusOK || got.Header.Get("Cache-Control") != pages.Forever || got.Header.Get("Content-Security-Policy") != console.Policy {
			t.Errorf("%s: got %d with %v", name, got.Status, got.Header)
		}
		h.leads(console.Prefix+"0123456789ab/"+name, set.Path(name))
	}
	page := h.ask(http.MethodGet, "/ops", "", "Authorization", "").Body
	found := regexp.MustCompile(`/ops/assets/[^"]+`).FindAllString(page, -1)
	if len(found) != 2 || found[0] != set.Path("style.css") || found[1] != set.Path("app.js") {
		t.Errorf("the page loads %q, want its style sheet and its module", found)
	}
	for _, path := range []string{console.Prefix + "x/app.js", set.Path("nothing.js"), set.Path(assets.PageFile), console.Prefix + "app.js"} {
		h.ask(http.MethodGet, path, "").problem(404, domain.CodeNotFound)
	}
}

func TestTheConsoleIsServedWhereOperatorsAre(t *testing.T) {
	h := newHouse(t, nil)
	asset := h.server.console.Assets().Path("app.js")
	for name, listener := range map[string]struct {
		server *http.Server
		want   int
	}{"for all": {h.server.HTTPServer(), 200}, "outside": {h.server.HTTPServerOutside(), 404}, "inside": {h.server.HTTPServerInside(), 200}} {
		listening := httptest.NewUnstartedServer(nil)
		listening.Config = listener.server
		listening.Start()
		t.Cleanup(listening.Close)
		for _, path := range []string{"/ops", asset} {
			if got := (&house{t: t, url: listening.URL}).with("", http.MethodGet, path, ""); got.StatusCode != listener.want {
				t.Errorf("%s at the listener %s: got %d, want %d", path, name, got.StatusCode, listener.want)
			}
		}
	}
	none := newHouse(t, func(_ *Deps, o *Options) { o.ServiceOnly = true })
	none.ask(http.MethodGet, "/ops", "").problem(404, domain.CodeNotFound)
}

func TestOperatorsSeeWhereTheUnitsOfAnItemStand(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	for want, units := range map[string]map[string]commands.ItemUnits{
		`"units":{"released":5,"taken":3,"available":1,"by":"gate"}`: {"shoe-42": {Released: n(5), Taken: n(3), Available: n(1)}},
		`"units":{"released":5,"taken":3,"available":2,"by":"log"}`:  {"shoe-42": {Released: n(5), Taken: n(3), Available: n(2), ByLog: true}},
		`"units":{"available":0,"by":"gate"}`:                        {"shoe-42": {Available: n(0)}},
		`"overdraft":0}`:                                             nil,
	} {
		h := newHouse(t, nil)
		h.shower.units = units
		got := h.ask(http.MethodGet, "/api/v1/admin/sales/"+testSale, "", "Authorization", "Bearer "+tokenOf(t, "boss", RoleAdmin))
		if got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
			t.Errorf("got %d %s, want %s in it", got.Status, got.Body, want)
		}
		if buyers := h.ask(http.MethodGet, "/api/v1/sales/"+testSale, ""); strings.Contains(buyers.Body, "units") {
			t.Errorf("buyers are told of units: %s", buyers.Body)
		}
	}
}

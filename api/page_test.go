package api

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"seckill/api/assets"
	"seckill/api/pages"
	"seckill/domain"
)

func TestTheBuyerPageMayRunAndLoadNothingButItsOwnAssets(t *testing.T) {
	h := newHouse(t, nil)
	const forEver = "public, max-age=31536000, immutable"
	kept := h.ask(http.MethodGet, "/s/"+testSale, "").Header.Get("Content-Location")
	version, ok := strings.CutPrefix(kept, "/s/"+testSale+"/v2-")
	if !ok || !assets.IsBuild(version) {
		t.Fatalf("got Content-Location %q, want the page of version 2 and a build", kept)
	}
	for path, cache := range map[string]string{"/s/" + testSale: pages.Briefly, kept: forEver, "/s/" + testSale + "/v2": forEver, "/s/" + testSale + "/v3": forEver} {
		got := h.ask(http.MethodGet, path, "", "Authorization", "")
		if got.Status != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			t.Fatalf("%s: got %d %s", path, got.Status, got.Body)
		}
		policy := got.Header.Values("Content-Security-Policy")
		if len(policy) != 1 || !strings.HasPrefix(policy[0], "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;") || strings.Contains(policy[0], "unsafe") {
			t.Errorf("%s: got policy %q", path, policy)
		}
		if got.Header.Get("Cache-Control") != cache || got.Header.Get("ETag") == "" || got.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: got headers %v, want %s and an ETag", path, got.Header, cache)
		}
		if inline := regexp.MustCompile(`<style|\sstyle=|<script(?:\s[^>]*)?>[^<]|\son[a-z]+=`).FindString(got.Body); inline != "" {
			t.Errorf("%s: something inline: %q", path, inline)
		}
		for _, fact := range []string{"Red shoes", `data-sale="` + testSale + `"`, `data-version="2-` + version + `"`, `data-sku="shoe-42"`, `data-price="19.90"`, `data-opens-at="2026-11-10T16:00:00Z"`, `data-limit="1"`} {
			if !strings.Contains(got.Body, fact) {
				t.Errorf("%s: the page does not say %s", path, fact)
			}
		}
		again := h.ask(http.MethodGet, path, "", "If-None-Match", got.Header.Get("ETag"))
		if again.Status != http.StatusNotModified || again.Body != "" {
			t.Errorf("%s: got %d for the tag it gave, want 304", path, again.Status)
		}
	}
}

func TestAssetsOfTheBuyerPageNeverChangeUnderTheirPath(t *testing.T) {
	h := newHouse(t, nil)
	page := h.ask(http.MethodGet, "/s/"+testSale, "").Body
	found := regexp.MustCompile(`/s/assets/[^"]+`).FindAllString(page, -1)
	if len(found) != 2 {
		t.Fatalf("got assets %q, want a module and a style sheet", found)
	}
	for _, path := range found {
		got := h.ask(http.MethodGet, path, "", "Authorization", "")
		if got.Status != http.StatusOK || got.Header.Get("Cache-Control") != pages.Forever {
			t.Errorf("%s: got %d with %v", path, got.Status, got.Header)
		}
		h.ask(http.MethodGet, strings.Replace(path, "/s/assets/", "/s/assets/0", 1), "").problem(404, domain.CodeNotFound)
		of := regexp.MustCompile(`assets/[^/]+/`)
		h.leads(of.ReplaceAllString(path, "assets/0123456789ab/"), path)
		h.ask(http.MethodGet, of.ReplaceAllString(path, "assets/0123456789ab/x"), "").problem(404, domain.CodeNotFound)
	}
	h.ask(http.MethodGet, strings.Replace(found[0], "style.css", "page.html", 1), "").problem(404, domain.CodeNotFound)
}

// leads asks for a path that must lead to another one, for now.
func (h *house) leads(path, to string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	got, err := http.DefaultTransport.RoundTrip(req) // follows nothing
	if err != nil {
		h.t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusFound || got.Header.Get("Location") != to || got.Header.Get("Cache-Control") != "no-store" {
		h.t.Errorf("%s: got %d to %q with %q, want 302 to %s, not kept", path, got.StatusCode, got.Header.Get("Location"), got.Header.Get("Cache-Control"), to)
	}
}

func TestAPageOfAnotherVersionOrBuildLeadsToTheLatestOrIsNotThere(t *testing.T) {
	h := newHouse(t, nil)
	latest := "/s/" + testSale
	h.leads(latest+"/v1", latest)
	h.leads(latest+"/v2-0123456789ab", latest)
	h.leads(latest+"/v3-0123456789ab", latest)
	h.leads(latest+"/v1-"+h.server.pages.Build(), latest)
	for _, version := range []string{"v4", "v0", "v-1", "v03", "vx", "v99999999999999999999", "v2-", "v2-xyz", "v2-0123456789AB", "v4-0123456789ab", "v4-" + h.server.pages.Build()} {
		got := h.ask(http.MethodGet, latest+"/"+version, "")
		got.problem(404, domain.CodeNotFound)
		if got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got Cache-Control %q, want no-store", version, got.Header.Get("Cache-Control"))
		}
	}
	h.ask(http.MethodGet, "/s/zzzzzzzz", "").problem(404, domain.CodeSaleNotFound)
}

func TestTheHeadersOfABundleAreThoseOfThePageThatIsServed(t *testing.T) {
	h := newHouse(t, nil)
	dir := t.TempDir()
	if _, _, err := h.server.ExportPage(t.Context(), testSale, dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "_headers"))
	if err != nil {
		t.Fatal(err)
	}
	served := h.ask(http.MethodGet, "/s/"+testSale, "", "Authorization", "").Header
	for rule := range strings.SplitSeq(strings.TrimPrefix(string(text), "/s/"), "\n/s/") {
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Cross-Origin-Resource-Policy", "Referrer-Policy"} {
			if want := name + ": " + served.Get(name); served.Get(name) == "" || !strings.Contains(rule, want) {
				t.Errorf("want %q in the bundle, got\n%s", want, rule)
			}
		}
	}
}

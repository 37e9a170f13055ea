package pages_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/api/pages"
	"seckill/domain"
)

// neverAPurchase are codes that only operators and unknown addresses are told.
var neverAPurchase = []domain.Code{
	domain.CodeMethodNotAllowed, domain.CodeVersionConflict, domain.CodeNotEnded, domain.CodeNotReconciled,
}

func texts(t *testing.T) map[string]map[string]string {
	t.Helper()
	raw, err := os.ReadFile("static/messages.js")
	if err != nil {
		t.Fatal(err)
	}
	body := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(raw)), "export default "), ";")
	var all map[string]map[string]string
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatalf("messages.js is a module over one JSON object: %v", err)
	}
	return all
}

func TestEveryRefusalOfAPurchaseHasItsTextInBothLanguages(t *testing.T) {
	all := texts(t)
	for _, language := range []string{"en", "zh"} {
		for _, code := range domain.Codes() {
			if slices.Contains(neverAPurchase, code) || code == "below_reserved" {
				continue
			}
			if all[language][string(code)] == "" || all[language]["title."+string(code)] == "" {
				t.Errorf("%s: no title or no text for %s", language, code)
			}
		}
		for _, status := range []string{"queued", "placed", "paid", "cancelled", "expired"} {
			if all[language][status] == "" || all[language]["title."+status] == "" {
				t.Errorf("%s: no title or no text for an order that is %s", language, status)
			}
		}
		for _, reason := range []domain.Reason{domain.RejectedGuard, domain.RejectedDuplicate, domain.RejectedLimit, domain.RejectedPoison, domain.RejectedLost} {
			if all[language]["rejected."+string(reason)] == "" {
				t.Errorf("%s: no text for an order rejected for %s", language, reason)
			}
		}
	}
}

func TestBothLanguagesSayTheSameThings(t *testing.T) {
	all := texts(t)
	en, zh := slices.Sorted(maps.Keys(all["en"])), slices.Sorted(maps.Keys(all["zh"]))
	if len(all) != 2 || !slices.Equal(en, zh) {
		t.Fatalf("got other keys in Chinese:\n%v\n%v", en, zh)
	}
	values := regexp.MustCompile(`\{\w+\}`)
	for _, key := range en {
		a, b := values.FindAllString(all["en"][key], -1), values.FindAllString(all["zh"][key], -1)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) || all["zh"][key] == "" {
			t.Errorf("%s: got values %v in English and %v in Chinese", key, a, b)
		}
	}
}

func shoes() pages.Sale {
	at := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	return pages.Sale{ID: "s1", Version: 3, Title: `<b>"Red"</b>`, OpensAt: at, ClosesAt: at.Add(time.Hour), Limit: 2,
		Items: []pages.Item{{SKU: "shoe", Title: "Shoe", Price: "19.90", Currency: "CNY"}}}
}

func TestATitleStaysText(t *testing.T) {
	p, err := pages.New()
	if err != nil {
		t.Fatal(err)
	}
	page, err := p.Of(shoes())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page.Body), "<b>") || !strings.Contains(string(page.Body), "&lt;b&gt;") {
		t.Errorf("the title is not escaped:\n%s", page.Body)
	}
}

func TestABundleHoldsThePageItsVersionAndEveryAssetThatModulesAskFor(t *testing.T) {
	p, err := pages.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	wrote, err := p.Export(dir, shoes())
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		body, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !slices.Contains(wrote, name) {
			t.Fatalf("%s: %v; it tells of %v", name, err, wrote)
		}
		return string(body)
	}
	latest, ours := read("s/s1/index.html"), read("s/s1/v3/index.html")
	if latest != ours || !strings.Contains(read("_headers"), pages.Policy) {
		t.Error("want the same page twice, and its policy beside it")
	}
	for _, path := range regexp.MustCompile(`/s/assets/[^"]+`).FindAllString(latest, -1) {
		read(path[1:])
	}
	imports := regexp.MustCompile(`from '\./([a-z]+\.js)'`)
	for _, name := range wrote {
		for _, found := range imports.FindAllStringSubmatch(read(name), -1) {
			read(p.AssetPath(found[1])[1:])
		}
	}
}

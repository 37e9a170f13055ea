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
		for _, outcome := range domain.Outcomes() {
			if code := domain.Code(outcome.String()); code.Known() && all[language][string(code)] == "" {
				t.Errorf("%s: no text for a purchase that ended %s", language, outcome)
			}
		}
		for _, waiting := range []domain.Waiting{domain.WaitingForGate, domain.WaitingForLog, domain.WaitingForSale} {
			if all[language]["queued."+string(waiting)] == "" {
				t.Errorf("%s: no text for an order that waits for %s", language, waiting)
			}
		}
		for _, reason := range []domain.Reason{domain.RejectedGuard, domain.RejectedDuplicate, domain.RejectedLimit, domain.RejectedPoison, domain.RejectedLost} {
			if all[language]["rejected."+string(reason)] == "" {
				t.Errorf("%s: no text for an order rejected for %s", language, reason)
			}
		}
	}
}

func TestEveryTextThatTheModulesNameIsThere(t *testing.T) {
	en := texts(t)["en"]
	modules, err := filepath.Glob("static/*.js")
	if err != nil || len(modules) < 8 {
		t.Fatalf("got %v, %v; want the modules", modules, err)
	}
	say := regexp.MustCompile(`(?:say\(|key: )'([a-z_.]+)'`)
	for _, module := range modules {
		body, err := os.ReadFile(module)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range say.FindAllStringSubmatch(string(body), -1) {
			if en[m[1]] == "" && !strings.HasSuffix(m[1], ".") {
				t.Errorf("%s says %q, for which there is no text", module, m[1])
			}
		}
	}
	for family, members := range map[string][]string{
		"state": {"wait", "scheduled", "open", "paused", "ended", "cleaned", "sold_out"},
		"count": {"wait", "scheduled", "own", "late", "open", "ended"},
		"buy":   {"wait", "busy", "sold_out", "paused", "ended", "done", "sign_in"},
		"title": {"ticket", "proof", "tickets_gone", "lost", "unknown"},
	} {
		for _, member := range members {
			if en[family+"."+member] == "" {
				t.Errorf("no text for %s.%s", family, member)
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
	p, err := pages.New(pages.Options{})
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
	p, err := pages.New(pages.Options{})
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
	latest, ours := read("s/s1/index.html"), read(p.Path(shoes())[1:]+"/index.html")
	if latest != ours || !strings.Contains(read("_headers"), pages.Policy) {
		t.Error("want the same page twice, and its policy beside it")
	}
	for _, path := range regexp.MustCompile(`/s/assets/[^"]+`).FindAllString(latest, -1) {
		read(path[1:])
	}
	imports := regexp.MustCompile(`from '\./([a-z]+\.js)'`)
	for _, name := range wrote {
		for _, found := range imports.FindAllStringSubmatch(read(name), -1) {
			read(p.Assets().Path(found[1])[1:])
		}
	}
}

func TestTheVersionOfAPageIsThatOfTheSalesTermsAndOfTheBuild(t *testing.T) {
	plain, err := pages.New(pages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	proof, err := pages.New(pages.Options{TicketProof: true})
	if err != nil {
		t.Fatal(err)
	}
	if number, build, ok := pages.ParseVersion(plain.Version(shoes())); number != 3 || build != plain.Build() || !ok {
		t.Errorf("got %s, want the third version under build %s", plain.Version(shoes()), plain.Build())
	}
	if plain.Version(shoes()) == proof.Version(shoes()) {
		t.Error("pages that begin a proof of work have the version of those that do not")
	}
}

func TestAPageSaysWhatAPurchaseNeeds(t *testing.T) {
	for _, c := range []struct {
		ticket, proof bool
		want          string
	}{{false, false, ""}, {false, true, ""}, {true, false, "ticket"}, {true, true, "proof"}} {
		p, err := pages.New(pages.Options{TicketProof: c.proof})
		if err != nil {
			t.Fatal(err)
		}
		sale := shoes()
		sale.Ticket = c.ticket
		page, err := p.Of(sale)
		if err != nil || !strings.Contains(string(page.Body), `data-needs="`+c.want+`"`) {
			t.Errorf("ticket %t, proof %t: %v, want data-needs %q in\n%s", c.ticket, c.proof, err, c.want, page.Body)
		}
	}
}

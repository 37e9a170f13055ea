package api

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"seckill/domain"
)

// reasons gives the reasons of a refused sale by field.
func (r *reply) reasons() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for _, e := range r.problem(422, domain.CodeInvalidRequest)["errors"].([]any) {
		field := e.(map[string]any)
		all[field["field"].(string)] = field["reason"].(string)
	}
	return all
}

func TestWhatIsWrongWithAFieldIsSaidInOneStyle(t *testing.T) {
	h := newHouse(t, nil)
	change := func(old, new string) string { return replaceOnce(t, goodSale, old, new) }
	first := func(field string) string { return `{` + field + `,` + goodSale[1:] }
	for body, want := range map[string][2]string{
		change(`"title":"Red shoes",`, ``):        {"title", missing},
		change(`,"stock":5`, ``):                  {"items[0].stock", missing},
		first(`"colour":"red"`):                   {"colour", unknownField},
		change(`"19.90"`, "19.90"):                {"items[0].price", wantAmount},
		change(`"19.90"`, "19"):                   {"items[0].price", wantAmount},
		change(`"19.90"`, `"cheap"`):              {"items[0].price", wantAmount},
		change("CNY", "yuan"):                     {"items[0].currency", wantCurrency},
		change(`"stock":5`, `"stock":-1`):         {"items[0].stock", "want at least 0"},
		change(`"stock":5`, `"stock":3e9`):        {"items[0].stock", wantWhole},
		change(`"stock":5`, `"stock":3000000000`): {"items[0].stock", "want at most 2147483647"},
		change(`"stock":5`, `"stock":"5"`):        {"items[0].stock", wantWhole},
		first(`"strategy":"magic"`):               {"strategy", "want one of postgres, redis-sync, redis-async"},
		first(`"auto_open":"yes"`):                {"auto_open", "want true or false"},
		first(`"eligible_tiers":"gold"`):          {"eligible_tiers", "want a list"},
		"[]":                                      {"body", "want an object"},
	} {
		if got := h.admin(http.MethodPost, "/api/v1/admin/sales", body).reasons(); got[want[0]] != want[1] {
			t.Errorf("%.80s …: got %q, want %s: %s", body, got, want[0], want[1])
		}
	}
	for path, want := range map[string][2]string{
		"/api/v1/orders": {"sale", missing},
		"/api/v1/orders?sale=" + testSale + "&limit=x":   {"limit", wantWhole},
		"/api/v1/orders?sale=" + testSale + "&limit=0":   {"limit", "want at least 1"},
		"/api/v1/orders/" + testOrder + "?wait=tomorrow": {"wait", "want a duration from 0s to 30s, such as 5s"},
	} {
		if got := h.ask(http.MethodGet, path, "").reasons(); got[want[0]] != want[1] {
			t.Errorf("%s: got %q, want %s: %s", path, got, want[0], want[1])
		}
	}
}

func TestReasonsAreChineseWhereThatIsAskedFor(t *testing.T) {
	h := newHouse(t, nil)
	for body, want := range map[string]string{
		`{"sku":"a","quantity":0}`:   "应为 1 至 2147483647 的整数",
		`{"sku":"a"}`:                "缺失",
		`{"sku":"a b","quantity":1}`: "应为 1 至 64 个字母、数字、“.”、“_”或“-”",
	} {
		for _, got := range h.buy(body, "Accept-Language", "zh").reasons() {
			if got != want {
				t.Errorf("%s: got %q, want %q", body, got, want)
			}
		}
	}
	// All that is said of terms, whatever is wrong with them.
	empty := domain.SaleTerms{Items: []domain.ItemTerms{{Stock: -1, Title: strings.Repeat("x", 201)}, {}}, Tokens: -1, LimitPerBuyer: -1}
	odd := domain.SaleTerms{Title: " ", OpensAt: time.Now(), ClosesAt: time.Now().Add(-time.Hour)}
	english := regexp.MustCompile(`(?i)\b(want|must|is|the|a|not)\b`)
	for _, bad := range append(domain.ValidateTerms(empty), domain.ValidateTerms(odd)...) {
		if zh := reasonIn("zh", bad.Reason); english.MatchString(zh) {
			t.Errorf("%s: %q has no Chinese", bad.Field, bad.Reason)
		}
	}
}

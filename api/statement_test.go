package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

type fakeStater func(sale string) (*commands.SignedStatement, error)

func (f fakeStater) State(_ context.Context, sale string) (*commands.SignedStatement, error) {
	return f(sale)
}

func testStatement(t *testing.T) *commands.SignedStatement {
	t.Helper()
	zero := domain.Money{Currency: "CNY"}
	raw, err := json.Marshal(&commands.Statement{
		Form: 1, Sale: commands.StatedSale{ID: testSale, Title: "Tea & <b>红茶</b>", Terms: saleTerms()},
		Items: []commands.StatedItem{{SKU: "tea", Released: 7, Revenue: zero}}, Money: commands.StatedMoney{Revenue: zero, RefundsDue: zero},
		Chances: commands.StatedChances{Flags: []string{"Node api-2 won more."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &commands.SignedStatement{Statement: raw, SHA256: "ab12", KeyID: "cd34", Signature: "ef56"}
}

func TestAnOperatorGetsTheStatementAsJSONOrAsAPage(t *testing.T) {
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Stater = fakeStater(func(sale string) (*commands.SignedStatement, error) {
			if sale != testSale {
				return nil, &domain.Problem{Code: domain.CodeNotEnded}
			}
			return testStatement(t), nil
		})
	})
	path := "/api/v1/admin/sales/" + testSale + "/statement"
	h.ask(http.MethodGet, path, "").problem(http.StatusForbidden, domain.CodeForbidden)
	got := h.admin(http.MethodGet, path, "")
	if got.Status != http.StatusOK || got.json()["sha256"] != "ab12" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	h.admin(http.MethodGet, strings.Replace(path, testSale, "00000001", 1), "").problem(http.StatusConflict, domain.CodeNotEnded)
	page := h.admin(http.MethodGet, path, "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	text := string(page.Body)
	for _, want := range []string{"Tea &amp; &lt;b&gt;红茶&lt;/b&gt;", "收官报表", "Node api-2 won more.", "ab12", "ef56", "@media print"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "http") || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page loads something: %s", page.Header.Get("Content-Type"))
	}
}

func TestABrowserGetsThePageAndAProgramTheJSON(t *testing.T) {
	for accept, want := range map[string]bool{"": false, "*/*": false, "application/json": false, "text/html": true, "application/json, text/html": false, "text/html;q=0.9, application/json": true, ";": false} {
		if got := wantsHTML(accept); got != want {
			t.Errorf("%q: got %t, want %t", accept, got, want)
		}
	}
}

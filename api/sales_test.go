package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/commands"
	"seckill/domain"
)

func TestASaleIsShownToAnybodyWithExactlyTheFieldsOfTheContract(t *testing.T) {
	h := newHouse(t, nil)
	got := h.ask(http.MethodGet, "/api/v1/sales/"+testSale, "", "Authorization", "")
	if got.Status != http.StatusOK {
		t.Fatalf("got status %d, want 200\n%s", got.Status, got.Body)
	}
	sale := got.json()
	if at, err := time.Parse(time.RFC3339, sale["server_time"].(string)); err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("got server_time %v (%v), want now", sale["server_time"], err)
	}
	delete(sale, "server_time")
	want := map[string]any{
		"id": testSale, "version": 3.0, "title": "Red shoes", "state": "open", "strategy": "redis-async",
		"opens_at": "2026-11-10T16:00:00Z", "closes_at": "2026-11-11T02:00:00Z", "clickable_at": "2026-11-10T16:00:00Z", "limit_per_buyer": 1.0,
		"items": []any{map[string]any{"sku": "shoe-42", "title": "Size 42", "price": "19.90", "currency": "CNY", "sold_out": false}},
	}
	if diff := cmp.Diff(want, sale); diff != "" {
		t.Errorf("the sale differs (-want +got):\n%s", diff)
	}
	list := h.ask(http.MethodGet, "/api/v1/sales", "", "Authorization", "").json()
	if sales, ok := list["sales"].([]any); !ok || len(sales) != 1 || len(list) != 1 {
		t.Errorf("got %v, want one sale under sales", list)
	}
}

func TestBuyersAreNotShownRehearsalsThatAreOver(t *testing.T) {
	h := newHouse(t, nil)
	now := time.Now()
	other := func(id string, over bool, tiers ...string) {
		terms := saleTerms()
		terms.ClosesAt, terms.EligibleTiers = now.Add(time.Hour), tiers
		h.shower.others = append(h.shower.others, commands.SaleAnswer{
			FoldedSale: commands.FoldedSale{Sale: domain.Sale{ID: id, Terms: terms, Closed: over}}, ServerTime: now})
	}
	other("rehearse", true, "rehearsal")
	other("underway", false, "rehearsal")
	other("notalone", true, "gold", "rehearsal")
	other("overover", true)
	got := h.ask(http.MethodGet, "/api/v1/sales", "").Body
	for id, want := range map[string]bool{testSale: true, "rehearse": false, "underway": true, "notalone": true, "overover": true} {
		if strings.Contains(got, id) != want {
			t.Errorf("%s: listed %t, want %t: %s", id, !want, want, got)
		}
	}
	w := httptest.NewRecorder()
	h.server.HTTPServerInside().Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/sales", nil))
	if !strings.Contains(w.Body.String(), "rehearse") {
		t.Errorf("operators are shown all: %s", w.Body)
	}
}

func TestSalesAreReadInPages(t *testing.T) {
	h := newHouse(t, nil)
	want := []string{testSale}
	for i := range 450 {
		id := fmt.Sprintf("sale%04d", i)
		want = append(want, id)
		h.shower.others = append(h.shower.others, commands.SaleAnswer{FoldedSale: commands.FoldedSale{Sale: domain.Sale{ID: id, Terms: saleTerms()}}})
	}
	for query, pages := range map[string]int{"": 3, "limit=200": 3, "limit=500": 1, "limit=451": 1, "limit=450": 2, "limit=100": 5} {
		var got []string
		asked, tags, cursor := 0, map[string]bool{}, ""
		for {
			answer := h.ask(http.MethodGet, "/api/v1/sales?"+query+cursor, "")
			var page SaleList
			if err := json.Unmarshal([]byte(answer.Body), &page); err != nil || answer.Status != http.StatusOK {
				t.Fatalf("%s: got %d %s", query, answer.Status, answer.Body)
			}
			asked++
			tags[answer.Header.Get("ETag")] = true
			for _, sale := range page.Sales {
				got = append(got, sale.ID)
			}
			if page.NextCursor == "" {
				break
			}
			cursor = "&cursor=" + page.NextCursor
		}
		if !slices.Equal(got, want) || asked != pages || len(tags) != pages {
			t.Errorf("%s: got %d sales on %d pages with %d tags, want %d on %d", query, len(got), asked, len(tags), len(want), pages)
		}
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=501", "limit=x", "cursor=x", "cursor=" + strings.Repeat("1", 201)} {
		h.ask(http.MethodGet, "/api/v1/sales?"+query, "").problem(422, domain.CodeInvalidRequest)
	}
}

func TestASaleMayBeCachedUntilSomethingChanges(t *testing.T) {
	h := newHouse(t, nil)
	for _, path := range []string{"/api/v1/sales/" + testSale, "/api/v1/sales"} {
		h.shower.soldOut = false
		first := h.ask(http.MethodGet, path, "")
		tag := first.Header.Get("ETag")
		if tag == "" || first.Header.Get("Cache-Control") != "public, max-age=1" || first.Header.Get("Vary") != "" || first.Header.Get("Set-Cookie") != "" {
			t.Fatalf("%s: got headers %v, want an ETag and a public max-age", path, first.Header)
		}
		for header, want := range map[string]int{
			tag: 304, tag[2:]: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, `W/"other"`: 200, "": 200,
		} {
			got := h.ask(http.MethodGet, path, "", "If-None-Match", header)
			if got.Status != want || (want == 304) != (got.Body == "") || got.Header.Get("ETag") != tag {
				t.Errorf("%s, If-None-Match %s: got %d with %d bytes and ETag %s, want %d", path, header, got.Status, len(got.Body), got.Header.Get("ETag"), want)
			}
		}
		h.shower.mu.Lock()
		h.shower.soldOut = true
		h.shower.mu.Unlock()
		if got := h.ask(http.MethodGet, path, "", "If-None-Match", tag); got.Status != http.StatusOK || got.Header.Get("ETag") == tag {
			t.Errorf("%s: got %d after it sold out, want 200 and another ETag", path, got.Status)
		}
	}
}

func TestAnUnknownSaleIs404AndNotCached(t *testing.T) {
	h := newHouse(t, nil)
	for _, id := range []string{"zzzzzzzz", "none", "%2e%2e", "a'b"} {
		got := h.ask(http.MethodGet, "/api/v1/sales/"+id, "", "If-None-Match", "*")
		got.problem(404, domain.CodeSaleNotFound)
		if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("ETag") != "" {
			t.Errorf("%s: got headers %v, want no-store and no ETag", id, got.Header)
		}
	}
}

const goodSale = `{"title":"Red shoes","opens_at":"2026-11-11T00:00:00+08:00","closes_at":"2026-11-11T02:00:00Z",
	"items":[{"sku":"shoe-42","title":"Size 42","price":"19.90","currency":"CNY","stock":5}]}`

func TestAnAdminSchedulesASaleAndWhatIsLeftOutTakesItsDefault(t *testing.T) {
	h := newHouse(t, nil)
	got := h.admin(http.MethodPost, "/api/v1/admin/sales", goodSale)
	if got.Status != http.StatusCreated || got.Header.Get("Location") != "/api/v1/sales/"+testSale {
		t.Fatalf("got status %d, Location %q; want 201 and the sale's address\n%s", got.Status, got.Header.Get("Location"), got.Body)
	}
	if diff := cmp.Diff(utcTerms(saleTerms()), h.operator.terms.WithDefaults()); diff != "" {
		t.Errorf("terms differ (-want +got):\n%s", diff)
	}
	if h.operator.actor.By != "boss" || h.operator.actor.TraceID != got.Header.Get("X-Trace-Id") {
		t.Errorf("got actor %+v, want boss under trace %s", h.operator.actor, got.Header.Get("X-Trace-Id"))
	}
	sale := got.json()
	want := map[string]any{"auto_open": true, "buckets": 1.0, "orders_per_buyer": 1.0, "limit_per_buyer": 1.0, "payment_window": 900.0, "strategy": "redis-async"}
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if sale[field] != want[field] {
			t.Errorf("got %s %v, want %v", field, sale[field], want[field])
		}
	}
}

func utcTerms(t domain.SaleTerms) domain.SaleTerms {
	t.OpensAt, t.ClosesAt = t.OpensAt.UTC(), t.ClosesAt.UTC()
	return t
}

func TestEverythingAnAdminSetsReachesTheCommand(t *testing.T) {
	h := newHouse(t, nil)
	got := h.admin(http.MethodPost, "/api/v1/admin/sales", `{"title":"T","opens_at":"2027-01-01T00:00:00Z","closes_at":"2027-01-02T00:00:00Z",
		"limit_per_buyer":3,"orders_per_buyer":2,"rebuy":true,"strategy":"redis-sync","buckets":4,"tokens":9,"payment_window":60,
		"eligible_tiers":["gold"],"require_ticket":true,"auto_open":false,
		"items":[{"sku":"a","price":"7","currency":"JPY","stock":5,"overdraft":2,"release":[{"at":"2027-01-01T12:00:00Z","quantity":2}]}]}`)
	if got.Status != http.StatusCreated {
		t.Fatalf("got status %d, want 201\n%s", got.Status, got.Body)
	}
	day := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	want := domain.SaleTerms{
		Title: "T", OpensAt: day, ClosesAt: day.AddDate(0, 0, 1), LimitPerBuyer: 3, OrdersPerBuyer: 2, Rebuy: true,
		Strategy: domain.StrategyRedisSync, Buckets: 4, Tokens: 9, PaymentWindow: 60, EligibleTiers: []string{"gold"}, RequireTicket: true,
		Items: []domain.ItemTerms{{SKU: "a", Price: domain.Money{Minor: 7, Currency: "JPY"}, Stock: 5, Overdraft: 2,
			Release: []domain.Tranche{{At: day.Add(12 * time.Hour), Quantity: 2}}}},
	}
	if diff := cmp.Diff(want, h.operator.terms); diff != "" {
		t.Errorf("terms differ (-want +got):\n%s", diff)
	}
}

// B68: a time is an instant, whatever the zone of this machine or of the text.
func TestATimeIsReadWithItsZoneOrNotAtAll(t *testing.T) {
	read := func(text string) (time.Time, bool) {
		var r reader
		at := r.instant("opens_at", text)
		return at, len(r.bad) == 0
	}
	summer, ok1 := read("2026-11-01T01:30-04:00")
	winter, ok2 := read("2026-11-01T01:30-05:00")
	if !ok1 || !ok2 || winter.Sub(summer) != time.Hour {
		t.Errorf("got %s and %s, want one hour between them", summer, winter)
	}
	for text, want := range map[string]string{
		"2026-11-11T00:00:00+08:00":      "2026-11-10T16:00:00Z",
		"2026-11-10t16:00:00z":           "2026-11-10T16:00:00Z",
		"2026-11-10T16:00:00.123456789Z": "2026-11-10T16:00:00.123456Z",
	} {
		if at, ok := read(text); !ok || at.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %s (%v), want %s", text, at.Format(time.RFC3339Nano), ok, want)
		}
	}
	for _, text := range []string{
		"", "2026-11-11T00:00:00", "2026-11-11 00:00:00+08:00", "2026-11-11", "1762790400", "2026-11-11T00:00:00 CST",
		"2026-13-11T00:00:00Z", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00",
	} {
		if at, ok := read(text); ok {
			t.Errorf("%q was read as %s, want it refused", text, at)
		}
	}
}

func TestASaleThatIsWrongIs422WithEveryFieldNamed(t *testing.T) {
	h := newHouse(t, nil)
	change := func(old, new string) string { return replaceOnce(t, goodSale, old, new) }
	for name, tc := range map[string]struct{ body, field string }{
		"a time without zone":      {change("00:00:00+08:00", "00:00:00"), "opens_at"},
		"a time of a number":       {change(`"2026-11-11T02:00:00Z"`, "1762790400"), "closes_at"},
		"closes before it opens":   {change("2026-11-11T02", "2026-11-09T02"), "closes_at"},
		"a price of a number":      {change(`"19.90"`, "19"), "items[0].price"},
		"a price of a fraction":    {change(`"19.90"`, "19.90"), "items[0].price"},
		"a price with 3 decimals":  {change(`"19.90"`, `"19.901"`), "items[0].price"},
		"a negative price":         {change(`"19.90"`, `"-1"`), "items[0].price"},
		"a currency that is none":  {change("CNY", "yuan"), "items[0].currency"},
		"negative stock":           {change(`"stock":5`, `"stock":-1`), "items[0].stock"},
		"stock beyond 32 bits":     {change(`"stock":5`, `"stock":2147483648`), "items[0].stock"},
		"stock beyond 64 bits":     {change(`"stock":5`, `"stock":100000000000000000000`), "items[0].stock"},
		"stock with an exponent":   {change(`"stock":5`, `"stock":1e3`), "items[0].stock"},
		"stock left out":           {change(`,"stock":5`, ``), "items[0].stock"},
		"a title left out":         {change(`"title":"Red shoes",`, ``), "title"},
		"no items":                 {change(`"items":[`, `"items":[],"x":[`), "items"},
		"an unknown field":         {change(`"title":"Red shoes"`, `"title":"Red shoes","colour":"red"`), "colour"},
		"an unknown field inside":  {change(`"stock":5`, `"stock":5,"colour":"red"`), "items[0].colour"},
		"a field in another case":  {change(`"title":"Red shoes"`, `"Title":"Red shoes"`), "Title"},
		"a field twice":            {change(`"title":"Red shoes"`, `"title":"Red shoes","title":"Blue"`), "title"},
		"a strategy that is none":  {change(`"title":"Red shoes"`, `"title":"Red shoes","strategy":"magic"`), "strategy"},
		"a limit of zero":          {change(`"title":"Red shoes"`, `"title":"Red shoes","limit_per_buyer":0`), "limit_per_buyer"},
		"a title with NUL":         {change("Red shoes", `Red\u0000shoes`), "title"},
		"auto_open of a text":      {change(`"title":"Red shoes"`, `"title":"Red shoes","auto_open":"yes"`), "auto_open"},
		"an array instead":         {"[]", ""},
		"a tier that is no string": {change(`"title":"Red shoes"`, `"title":"Red shoes","eligible_tiers":[1]`), "eligible_tiers[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.admin(http.MethodPost, "/api/v1/admin/sales", tc.body)
			got.t = t
			fields := []string{}
			for _, e := range got.problem(422, domain.CodeInvalidRequest)["errors"].([]any) {
				fields = append(fields, e.(map[string]any)["field"].(string))
			}
			if tc.field != "" && !slices.Contains(fields, tc.field) {
				t.Errorf("got errors in %v, want %s among them\n%s", fields, tc.field, got.Body)
			}
		})
	}
	h.admin(http.MethodPost, "/api/v1/admin/sales", goodSale+"x").problem(400, domain.CodeInvalidRequest)
	h.admin(http.MethodPost, "/api/v1/admin/sales", "").problem(415, domain.CodeInvalidRequest)
	h.admin(http.MethodPost, "/api/v1/admin/sales", "", "Content-Type", "application/json").problem(400, domain.CodeInvalidRequest)
	h.admin(http.MethodPost, "/api/v1/admin/sales", goodSale, "Content-Type", "text/plain").problem(415, domain.CodeInvalidRequest)
}

func TestAnAdminSteersASaleWithOrWithoutANote(t *testing.T) {
	h := newHouse(t, nil)
	for _, action := range []string{"pause", "resume", "close"} {
		path := "/api/v1/admin/sales/" + testSale + "/" + action
		if got := h.admin(http.MethodPost, path, ""); got.Status != http.StatusOK || got.json()["id"] != testSale {
			t.Errorf("%s: got %d %s, want 200 and the sale", action, got.Status, got.Body)
		}
		if got := h.admin(http.MethodPost, path, `{"note":"库存有误"}`); got.Status != http.StatusOK || h.operator.actor.Note != "库存有误" {
			t.Errorf("%s: got %d and note %q, want 200 and the note", action, got.Status, h.operator.actor.Note)
		}
		h.admin(http.MethodPost, path, `{"reason":"x"}`).problem(422, domain.CodeInvalidRequest)
		h.admin(http.MethodPost, path, `{`).problem(400, domain.CodeInvalidRequest)
		h.admin(http.MethodPost, path, `note`, "Content-Type", "text/plain").problem(415, domain.CodeInvalidRequest)
		h.admin(http.MethodPost, "/api/v1/admin/sales/zzzzzzzz/"+action, "").problem(404, domain.CodeSaleNotFound)
	}
	want := []string{"pause", "pause", "pause", "resume", "resume", "resume", "close", "close", "close"}
	if diff := cmp.Diff(want, h.operator.did); diff != "" {
		t.Errorf("what was done differs (-want +got):\n%s", diff)
	}
}

func replaceOnce(t *testing.T, text, old, new string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q stands %d times in the body, want once", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, new, 1)
}

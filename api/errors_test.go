package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

func TestEveryCodeHasAStatusAndATitle(t *testing.T) {
	for _, code := range domain.Codes() {
		k, ok := answers[code.Kind()]
		if !ok || k.status < 400 || k.status > 599 || code.Title() == "" {
			t.Errorf("%s has status %d and title %q, want a status of a refusal and a title", code, k.status, code.Title())
		}
		if k.again != (k.status == 429 || k.status == 503) {
			t.Errorf("%s has status %d and again %v; want 429 and 503, and only they, to ask to come again", code, k.status, k.again)
		}
		if code != domain.CodeInternal && code.Kind() == domain.KindBroken {
			t.Errorf("%s has no kind of its own", code)
		}
	}
}

func TestEveryOutcomeWithoutAnOrderHasACode(t *testing.T) {
	for _, o := range domain.Outcomes() {
		if o == domain.Reserved || o == domain.Repeat || o == domain.SameOrder {
			continue
		}
		if code := codeOf(o); code == domain.CodeInternal {
			t.Errorf("%s has no code of its own", o)
		}
	}
	if code := codeOf(domain.Outcome(-99)); code != domain.CodeInternal {
		t.Errorf("got %s for an outcome of the future, want internal", code)
	}
}

func TestLabelsOfMetricsAreKnownFromTheStart(t *testing.T) {
	labels := PurchaseOutcomes()
	for _, want := range []string{"reserved", "sold_out", "repeat", "invalid_request", "unauthenticated", "internal"} {
		if !slices.Contains(labels, want) {
			t.Errorf("%s is no label of purchases", want)
		}
	}
}

func TestAFaultIs500OnceInTheLogAndNeverInTheAnswer(t *testing.T) {
	h := newHouse(t, nil)
	fault := errors.New("password=hunter2 is wrong")
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{}, fmt.Errorf("buy: %w", fault)
	}
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) {
		return commands.OrderAnswer{}, fault
	}
	h.operator.failed = fault
	for name, got := range map[string]*reply{
		"plain handler": h.buy(oneShoe),
		"typed handler": h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, ""),
		"admin":         h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/close", ""),
	} {
		t.Run(name, func(t *testing.T) {
			got.t = t
			trace := got.problem(500, domain.CodeInternal)["trace_id"].(string)
			if strings.Contains(got.Body, "hunter2") {
				t.Errorf("the answer tells the fault: %s", got.Body)
			}
			lines := 0
			for line := range strings.Lines(h.log.String()) {
				if strings.Contains(line, trace) && strings.Contains(line, "hunter2") && strings.Contains(line, "ERROR") {
					lines++
				}
			}
			if lines != 1 {
				t.Errorf("got %d error lines of trace %s, want 1", lines, trace)
			}
		})
	}
}

func TestARefusalIsNoFaultInTheLog(t *testing.T) {
	h := newHouse(t, nil)
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.SoldOut}, nil
	}
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) {
		return commands.OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	h.operator.failed = &domain.Problem{Code: domain.CodeBelowReserved}
	h.buy(oneShoe).problem(409, domain.CodeSoldOut)
	h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "").problem(404, domain.CodeOrderNotFound)
	h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/close", "").problem(409, domain.CodeBelowReserved)
	h.ask(http.MethodGet, "/api/v1/sales/nothing", "").problem(404, domain.CodeSaleNotFound)
	if log := h.log.String(); strings.Contains(log, "ERROR") {
		t.Errorf("refusals were logged as faults:\n%s", log)
	}
}

func TestAPanicIs500WithoutDetailsAndItsStackIsInTheLog(t *testing.T) {
	h := newHouse(t, nil)
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) { panic("hunter2") }
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) { panic("hunter2") }
	for _, got := range []*reply{h.buy(oneShoe), h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "")} {
		got.problem(500, domain.CodeInternal)
		if strings.Contains(got.Body, "hunter2") || strings.Contains(got.Body, ".go:") {
			t.Errorf("the answer tells the panic: %s", got.Body)
		}
	}
	if log := h.log.String(); strings.Count(log, "panic: hunter2") != 2 || !strings.Contains(log, "errors_test.go:") {
		t.Errorf("want both panics with their stacks in the log, got\n%s", log)
	}
}

func TestAStoreOrAGateThatIsAwayIsBusyNotBroken(t *testing.T) {
	away := errors.New("the store is away")
	h := newHouse(t, func(_ *Deps, o *Options) { o.Away = func(err error) bool { return errors.Is(err, away) } })
	for _, err := range []error{away, &commands.GateError{Err: errors.New("refused")}, context.DeadlineExceeded, context.Canceled} {
		h.operator.failed = fmt.Errorf("stop sale: %w", err)
		got := h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/pause", "")
		checkRetry(t, got, got.problem(503, domain.CodeBusy))
	}
}

// Operators buy nothing: nobody promises them that trying again never does it twice.
func TestOperatorsAreNotToldWhatIsSaidToBuyers(t *testing.T) {
	away := &commands.GateError{Err: errors.New("refused")}
	h := newHouse(t, nil)
	h.operator.failed, h.teller.failed = fmt.Errorf("stop sale: %w", away), away
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) {
		return commands.OrderAnswer{}, away
	}
	for name, c := range map[string]struct {
		got  *reply
		want string
	}{
		"a look":    {h.admin(http.MethodGet, pathTrace+"?id="+testOrder, ""), notInTime},
		"a receipt": {h.admin(http.MethodGet, "/api/v1/admin/receipts/good", ""), notInTime},
		"a change":  {h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/pause", ""), notInTime + " " + perhapsDone},
		"in Chinese": {h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/pause", "", "Accept-Language", "zh"),
			chinese[notInTime] + " " + chinese[perhapsDone]},
		"a buyer": {h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, ""), domain.CodeBusy.Sentence("en")},
	} {
		if doc := c.got.problem(503, domain.CodeBusy); doc["detail"] != c.want {
			t.Errorf("%s: got %v, want %q", name, doc["detail"], c.want)
		}
	}
}

func TestWhatIsNotThereIsAProblemDocumentToo(t *testing.T) {
	h := newHouse(t, nil)
	h.ask(http.MethodGet, "/", "").problem(404, domain.CodeNotFound)
	h.ask(http.MethodGet, "/api/v1/sale", "").problem(404, domain.CodeNotFound)
	h.ask(http.MethodGet, "/metrics", "").problem(404, domain.CodeNotFound)
	got := h.ask(http.MethodDelete, "/api/v1/sales", "")
	got.problem(405, domain.CodeMethodNotAllowed)
	if !strings.Contains(got.Header.Get("Allow"), "GET") {
		t.Errorf("got Allow %q, want GET in it", got.Header.Get("Allow"))
	}
}

func TestDetailFollowsAcceptLanguageAndCodeDoesNot(t *testing.T) {
	h := newHouse(t, nil)
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.SoldOut}, nil
	}
	english, chinese := domain.CodeSoldOut.Sentence("en"), domain.CodeSoldOut.Sentence("zh")
	for header, want := range map[string]string{
		"":                          english,
		"zh":                        chinese,
		"zh-CN,zh;q=0.9,en;q=0.8":   chinese,
		"en-US,en;q=0.9,zh;q=0.8":   english,
		"fr, zh-Hant;q=0.5":         chinese,
		"fr":                        english,
		"zh;q=0, en;q=0.1":          english,
		"zh;q=nonsense":             english,
		"*":                         english,
		"de, en ; q=0.3, zh ; q=.7": chinese,
	} {
		got := h.buy(oneShoe, "Accept-Language", header)
		doc := got.problem(409, domain.CodeSoldOut)
		if doc["detail"] != want || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: got %v (Cache-Control %q), want %s, stored by nobody", header, doc["detail"], got.Header.Get("Cache-Control"), want)
		}
	}
	got := h.ask(http.MethodGet, "/api/v1/orders", "", "Accept-Language", "zh")
	if doc := got.problem(422, domain.CodeInvalidRequest); doc["detail"] != domain.CodeInvalidRequest.Sentence("zh") || got.Header.Get("Content-Language") != "zh" {
		t.Errorf("got %v (%s), want the Chinese sentence", doc["detail"], got.Header.Get("Content-Language"))
	}
}

func TestATraceThatComesInIsContinuedAndNonsenseBeginsANewOne(t *testing.T) {
	h := newHouse(t, nil)
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for header, continued := range map[string]bool{
		"00-" + id + "-00f067aa0ba902b7-01":                       true,
		"00-" + id + "-00f067aa0ba902b7-00":                       true,
		"cc-" + id + "-00f067aa0ba902b7-01-more":                  true,
		"00-" + id + "-00f067aa0ba902b7-01-more":                  false,
		"ff-" + id + "-00f067aa0ba902b7-01":                       false,
		"00-" + id + "-0000000000000000-01":                       false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":      false,
		"00-" + id + "-00f067aa0ba902b7":                          false,
		"00-" + id + "-00f067aa0ba902b7-zz":                       false,
		"":                                                        false,
		strings.Repeat("x", 55):                                   false,
		"cc-" + id + "-00f067aa0ba902b7-01.more":                  false,
	} {
		got := h.buy(oneShoe, "Traceparent", header)
		trace := got.Header.Get("X-Trace-Id")
		if (trace == id) != continued || len(trace) != 32 || !lowerHex(trace) || got.json()["trace_id"] != trace {
			t.Errorf("%q: got trace %q, want it continued: %v", header, trace, continued)
		}
	}
	for _, path := range []string{"/healthz", "/api/v1/sales", "/nothing", "/openapi.yaml"} {
		if trace := h.ask(http.MethodGet, path, "").Header.Get("X-Trace-Id"); len(trace) != 32 {
			t.Errorf("%s: got X-Trace-Id %q, want one", path, trace)
		}
	}
}

func TestAProblemTellsOfTwentyFieldsAtMost(t *testing.T) {
	h := newHouse(t, nil)
	var many []string
	for i := range 1500 {
		many = append(many, fmt.Sprintf(`"x%d":1`, i))
	}
	doc := h.buy("{"+strings.Join(many, ",")+"}").problem(422, domain.CodeInvalidRequest)
	if n := len(doc["errors"].([]any)); n != mostErrors {
		t.Errorf("a purchase: got %d errors, want %d", n, mostErrors)
	}
	doc = h.admin(http.MethodPost, "/api/v1/admin/sales", "{"+strings.Join(many, ",")+"}").problem(422, domain.CodeInvalidRequest)
	if n := len(doc["errors"].([]any)); n != mostErrors {
		t.Errorf("a sale: got %d errors, want %d", n, mostErrors)
	}
}

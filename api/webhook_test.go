package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/payments"
)

var bankSecret, newSecret = []byte("the bank's secret, of the tests alone"), []byte("the bank's next secret, of the tests")

func testProviders() payments.Book {
	return payments.NewBook(
		payments.Provider{Name: "bank", Page: "https://bank.test/{order}", Secrets: [][]byte{bankSecret, newSecret}},
		payments.Provider{Name: "wallet", Page: "https://wallet.test/?o={order}&a={amount}", Secrets: [][]byte{[]byte("the wallet's secret, of the tests")}},
	)
}

const hook = "/webhooks/payments/bank"

// told is a message with members of it replaced, added, or (without a value)
// left out, each written "name":value.
func told(changes ...string) string {
	names := []string{`"id"`, `"type"`, `"order_id"`, `"payment_id"`, `"amount"`, `"currency"`}
	values := map[string]string{
		`"id"`: `"evt-1"`, `"type"`: `"payment.succeeded"`, `"order_id"`: `"` + testOrder + `"`, `"payment_id"`: `"pay-1"`,
		`"amount"`: `"19.90"`, `"currency"`: `"CNY"`,
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, ":")
		if _, known := values[name]; !known {
			names = append(names, name)
		}
		values[name] = value
	}
	var members []string
	for _, name := range names {
		if values[name] != "" {
			members = append(members, name+":"+values[name])
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// tell sends a message that the bank signed at a time.
func (h *house) tell(body string, at time.Time, headers ...string) *reply {
	h.t.Helper()
	return h.ask(http.MethodPost, hook, body, append([]string{"Authorization", "", headerSignature, payments.Sign(bankSecret, at, []byte(body))}, headers...)...)
}

func TestTheSignaturesHeaderHasOneName(t *testing.T) {
	if headerSignature != payments.Header {
		t.Errorf("the document says %s, and %s is signed", headerSignature, payments.Header)
	}
}

func TestASignedMessageMakesAnOrderPaid(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPaid)
	body := told(`"note":"谢谢"`, `"risk":{"Score":0.5,"score":1e3}`, `"Amount":7`)
	got := h.tell(body, time.Now())
	want := `{"order_id":"` + testOrder + `","status":"paid","refund_due":false}` + "\n"
	if got.Status != 200 || got.Body != want || got.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %s, want %s", got.Status, got.Body, want)
	}
	args := h.orders.last(t)
	if p := (commands.Payment{Provider: "bank", EventID: "evt-1", PaymentID: "pay-1", Order: testOrder, Amount: price, Note: "谢谢"}); args[0] != p {
		t.Errorf("asked with %+v, want %+v", args[0], p)
	}
	if actor := args[1].(commands.Actor); actor.By != "provider:bank" || actor.TraceID != got.Header.Get("X-Trace-Id") {
		t.Errorf("told as %+v", actor)
	}
	h.tell(told(`"type":"payment.failed"`), time.Now())
	if p := h.orders.last(t)[0].(commands.Payment); !p.Failed {
		t.Errorf("a failed payment was told as %+v", p)
	}
	// The next secret holds already.
	if got := h.tell(body, time.Now(), headerSignature, payments.Sign(newSecret, time.Now(), []byte(body))); got.Status != 200 {
		t.Errorf("signed with the next secret: got %d %s", got.Status, got.Body)
	}
}

func TestWhatIsNotSignedByTheProviderIsNotLookedAt(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPaid)
	body := told()
	for name, signature := range map[string]string{
		"none": "", "forged": payments.Sign([]byte("guessed"), time.Now(), []byte(body)), "of another body": payments.Sign(bankSecret, time.Now(), []byte(body+" ")),
		"old":         payments.Sign(bankSecret, time.Now().Add(-6*time.Minute), []byte(body)),
		"of tomorrow": payments.Sign(bankSecret, time.Now().Add(6*time.Minute), []byte(body)),
	} {
		got := h.tell(body, time.Now(), headerSignature, signature)
		doc := got.problem(401, domain.CodeUnauthenticated)
		if doc["detail"] != wantSignature { // the same for each, and no word of signing in
			t.Errorf("%s: got %q, want that the signature does not fit", name, doc["detail"])
		}
		if challenge := got.Header.Values("WWW-Authenticate"); len(challenge) != 1 || !strings.HasPrefix(challenge[0], headerSignature+" realm=") {
			t.Errorf("%s: got the challenge %q, want %s", name, challenge, headerSignature)
		}
	}
	// Also what cannot be read is nobody's before it is signed, and a buyer's or an
	// operator's own token signs nothing.
	h.tell("{", time.Now(), headerSignature, "").problem(401, domain.CodeUnauthenticated)
	h.tell(body, time.Now(), headerSignature, "", "Authorization", "Bearer "+tokenOf(t, "boss", RoleAdmin)).problem(401, domain.CodeUnauthenticated)
	for _, other := range []string{"/webhooks/payments/nobody", "/webhooks/payments/"} {
		h.ask(http.MethodPost, other, body, headerSignature, payments.Sign(bankSecret, time.Now(), []byte(body))).problem(404, domain.CodeNotFound)
	}
	h.ask(http.MethodPost, "/webhooks/payments/wallet", body, headerSignature, payments.Sign(bankSecret, time.Now(), []byte(body))).problem(401, domain.CodeUnauthenticated)
	h.ask(http.MethodGet, hook, "").problem(405, domain.CodeMethodNotAllowed)
	if h.orders.calls() != 0 {
		t.Error("the command was asked")
	}
}

func TestWhatIsWrongWithAMessageIsSaid(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPaid)
	for body, field := range map[string]string{
		told(`"id":`): "id", told(`"id":""`): "id", told(`"id":7`): "id", told(`"id":"` + strings.Repeat("x", 201) + `"`): "id", told(`"id":"a b"`): "id",
		told(`"type":`): "type", told(`"type":null`): "type", told(`"order_id":`): "order_id", told(`"payment_id":""`): "payment_id",
		told(`"amount":19.90`): "amount", told(`"amount":"-1"`): "amount", told(`"amount":"1.999"`): "amount", told(`"currency":"yuan"`): "currency",
		told(`"note":"` + strings.Repeat("x", 501) + `"`): "note", told(`"note":"\u0000"`): "note",
		strings.Replace(told(), "{", `{"amount":"1.00",`, 1): "amount", "[]": "body", `"x"`: "body",
	} {
		if got := h.tell(body, time.Now()).reasons(); got[field] == "" {
			t.Errorf("%.120s: got %v, want %s named", body, got, field)
		}
		for f, reason := range h.tell(body, time.Now(), "Accept-Language", "zh").reasons() {
			if strings.Contains(reason, "want") || strings.Contains(reason, "is ") {
				t.Errorf("%s: %q is not Chinese", f, reason)
			}
		}
	}
	h.tell("{", time.Now()).problem(400, domain.CodeInvalidRequest)
	h.tell(told()+"{}", time.Now()).problem(400, domain.CodeInvalidRequest)
	h.tell(told(), time.Now(), "Content-Type", "text/plain").problem(415, domain.CodeInvalidRequest)
	h.tell(told(`"x":"`+strings.Repeat("x", maxBody)+`"`), time.Now()).problem(413, domain.CodeInvalidRequest)
	if h.orders.calls() != 0 {
		t.Error("the command was asked")
	}
}

func TestATypeThatIsNotKnownIsTakenAndPassedOver(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPaid)
	got := h.tell(`{"id":"e","type":"payout.created","data":{"amount":1.5}}`, time.Now())
	if got.Status != 200 || got.Body != `{"refund_due":false,"ignored":true}`+"\n" || h.orders.calls() != 0 {
		t.Errorf("got %d %s after %d calls, want 200 ignored and none", got.Status, got.Body, h.orders.calls())
	}
}

func TestAProviderIsToldWhetherToComeAgain(t *testing.T) {
	away := errors.New("the log is away")
	h := orderHouse(t, domain.OrderStatusPlaced)
	h.server.opts.Away = func(err error) bool { return errors.Is(err, away) }
	for _, c := range []struct {
		err    error
		status int
		code   domain.Code
	}{
		{&domain.Problem{Code: domain.CodeInProgress}, 503, domain.CodeInProgress},
		{fmt.Errorf("append: %w", away), 503, domain.CodeBusy},
		{&domain.Problem{Code: domain.CodeOrderNotFound}, 404, domain.CodeOrderNotFound},
		{domain.Invalid(domain.FieldError{Field: "event_id", Reason: "was used for another order"}), 422, domain.CodeInvalidRequest},
	} {
		h.orders.err = c.err
		got := h.tell(told(), time.Now())
		doc := got.problem(c.status, c.code)
		if detail := doc["detail"].(string); c.status != 422 && !strings.Contains(detail, "message") {
			t.Errorf("%v: told %q, which is said to a buyer", c.err, detail)
		}
		for _, word := range []string{"buy", "You have"} {
			if strings.Contains(doc["detail"].(string), word) {
				t.Errorf("%v: told %q, which is said to a buyer", c.err, doc["detail"])
			}
		}
		zh := h.tell(told(), time.Now(), "Accept-Language", "zh").problem(c.status, c.code)["detail"].(string)
		if strings.Contains(zh, "message") || (c.status != 422 && !strings.Contains(zh, "消息")) {
			t.Errorf("%v: told %q in Chinese", c.err, zh)
		}
		if again := got.Header.Get("Retry-After") != ""; again != (c.status == 503) {
			t.Errorf("%v: Retry-After %q", c.err, got.Header.Get("Retry-After"))
		}
		if fields, ok := doc["errors"].([]any); c.status == 422 && (!ok || fields[0].(map[string]any)["field"] != "id") {
			t.Errorf("got %v, want the field as the message names it", doc)
		}
	}
}

// TestAMessageHeardBeforeTellsOfTheOrderAsItIs: refund_due is the order's, once any
// of its payments is due back, so a message sent again is answered with it too.
func TestAMessageHeardBeforeTellsOfTheOrderAsItIs(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPaid)
	if got := h.tell(told(), time.Now()).json(); got["refund_due"] != false || got["status"] != "paid" {
		t.Fatalf("got %v, want it paid with nothing due back", got)
	}
	h.orders.order.RefundDue = true // another payment of it came
	if got := h.tell(told(), time.Now()).json(); got["refund_due"] != true || got["status"] != "paid" || got["ignored"] != nil {
		t.Errorf("sent again: got %v, want the order as it is", got)
	}
	if !strings.Contains(string(h.server.document), "not always the one of this") {
		t.Error("the document does not say whose refund_due it is")
	}
}

func TestAProcessWithoutTheAPIHearsNoProvider(t *testing.T) {
	h := newHouse(t, func(_ *Deps, o *Options) { o.ServiceOnly = true })
	h.tell(told(), time.Now()).problem(404, domain.CodeNotFound)
}

func FuzzAMessageIsReadOrRefused(f *testing.F) {
	f.Add(told())
	f.Add(told(`"id":"\ud800"`, `"x":[{"id":"y"}]`))
	f.Fuzz(func(t *testing.T, body string) {
		if validJSON([]byte(body)) != nil {
			return
		}
		m, known, err := decodeMessage([]byte(body))
		if err == nil && known && (m.id == "" || m.payment == "" || m.amount.Currency == "") {
			t.Errorf("%s: read as %+v", body, m)
		}
	})
}

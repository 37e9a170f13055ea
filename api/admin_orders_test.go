package api

import (
	"net/http"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

const adminOrder = "/api/v1/admin/orders/" + testOrder

func TestAnOperatorEndsAnyOrderUnderTheirOwnName(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusCancelled)
	for body, want := range map[string]domain.Cancellation{
		"":   {By: "boss", Restock: true},
		"{}": {By: "boss", Restock: true},
		`{"restock":false,"note":"broken in transit","force":true}`: {By: "boss", Note: "broken in transit", Force: true},
	} {
		got := h.admin(http.MethodPost, adminOrder+"/cancellation", body)
		args := h.orders.last(t)
		actor := args[2].(commands.Actor)
		if got.Status != 200 || args[0] != testOrder || args[1] != want || actor.By != "boss" || actor.Note != want.Note || actor.TraceID == "" {
			t.Errorf("%s: got %d, asked with %+v; want %+v", body, got.Status, args, want)
		}
		if got.json()["buyer_id"] != "buyer-1" || got.json()["status"] != "cancelled" {
			t.Errorf("got %s, want the order with its buyer", got.Body)
		}
	}
	h.admin(http.MethodPost, adminOrder+"/cancellation", "", "Authorization", "Bearer "+tokenOf(t, "buyer", RoleAdmin))
	if args := h.orders.last(t); args[1] != (domain.Cancellation{By: "operator:buyer", Restock: true}) {
		t.Errorf("by an operator called buyer: asked with %+v; want operator:buyer told", args)
	}
	h.admin(http.MethodPost, adminOrder+"/cancellation", `{"by":"me"}`).problem(422, domain.CodeInvalidRequest)
	h.ask(http.MethodPost, adminOrder+"/cancellation", "").problem(403, domain.CodeForbidden)
	h.orders.err = &commands.WrongStateError{Order: boughtIn(domain.OrderStatusPaid)}
	h.admin(http.MethodPost, adminOrder+"/cancellation", "").problem(409, domain.CodeWrongState)
}

// TestAPaymentOfAnOrderWhoseAmountNobodyKnowsYetIsToBeRecordedLater: it is not in the log, and
// the gate is away.
func TestAPaymentOfAnOrderWhoseAmountNobodyKnowsYetIsToBeRecordedLater(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusQueued)
	h.orders.order.Amount = domain.Money{}
	doc := h.admin(http.MethodPost, adminOrder+"/payment", `{"payment_id":"p1"}`).problem(409, domain.CodeInProgress)
	if doc["order_id"] != testOrder || h.orders.calls() != 0 {
		t.Errorf("got %v and %d payments; want the order named, and none", doc, h.orders.calls())
	}
	if got := h.admin(http.MethodPost, adminOrder+"/payment", `{"payment_id":"p1","amount":"5.00","currency":"EUR"}`); got.Status != 200 {
		t.Errorf("with an amount: got %d %s", got.Status, got.Body)
	}
}

func TestAnOperatorRecordsAPaymentOfWhatTheOrderCosts(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPaid)
	for body, amount := range map[string]domain.Money{
		`{"payment_id":"p1","note":"by bank transfer"}`:                                  price,
		`{"payment_id":"p1","note":"by bank transfer","amount":"5.00","currency":"EUR"}`: {Minor: 500, Currency: "EUR"},
	} {
		got := h.admin(http.MethodPost, adminOrder+"/payment", body)
		args := h.orders.last(t)
		want := commands.Payment{Provider: "operator", PaymentID: "p1", Order: testOrder, Amount: amount, Note: "by bank transfer"}
		if got.Status != 200 || args[0] != want || args[1].(commands.Actor).By != "boss" {
			t.Errorf("%s: got %d %s, asked with %+v; want %+v", body, got.Status, got.Body, args, want)
		}
	}
	before := h.orders.calls()
	for body, field := range map[string]string{
		`{}`:                                  "payment_id",
		`{"payment_id":""}`:                   "payment_id",
		`{"payment_id":"p","amount":"1.00"}`:  "currency",
		`{"payment_id":"p","currency":"CNY"}`: "amount",
		`{"payment_id":"p","amount":"1.001","currency":"CNY"}`: "amount",
	} {
		if got := h.admin(http.MethodPost, adminOrder+"/payment", body).reasons(); got[field] == "" {
			t.Errorf("%s: got %v, want %s named", body, got, field)
		}
	}
	h.admin(http.MethodPost, adminOrder+"/payment", "").problem(415, domain.CodeInvalidRequest)
	h.ask(http.MethodPost, adminOrder+"/payment", `{"payment_id":"p"}`).problem(403, domain.CodeForbidden)
	if h.orders.calls() != before {
		t.Error("a refused payment reached the command")
	}
}

func TestAnOperatorLooksAtAnyOrder(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPlaced)
	if got := h.admin(http.MethodGet, adminOrder, ""); got.Status != 200 || got.json()["buyer_id"] != "buyer-1" || got.json()["amount"] != "19.90" {
		t.Errorf("got %d %s, want the order with its buyer", got.Status, got.Body)
	}
	h.ask(http.MethodGet, adminOrder, "").problem(403, domain.CodeForbidden)
	h.orders.err = &domain.Problem{Code: domain.CodeOrderNotFound}
	for method, path := range map[string]string{http.MethodGet: adminOrder, http.MethodPost: adminOrder + "/cancellation"} {
		if doc := h.admin(method, path, "").problem(404, domain.CodeOrderNotFound); doc["detail"] != "There is no order with this id." {
			t.Errorf("%s: told %q, which is said to a buyer", method, doc["detail"])
		}
	}
	h.orders.err = &domain.Problem{Code: domain.CodeInProgress}
	if doc := h.admin(http.MethodGet, adminOrder, "").problem(409, domain.CodeInProgress); doc["detail"] != stillRecorded {
		t.Errorf("told %q, which is said of a purchase", doc["detail"])
	}
}

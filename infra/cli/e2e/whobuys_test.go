package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"seckill/api"
	"seckill/infra/testenv"
)

// funnel is a child and a client of it.
type funnel struct {
	t testing.TB
	*Client
}

// sale makes a sale with terms beside the usual ones.
func (f *funnel) sale(stock int, terms map[string]any) string {
	f.t.Helper()
	body := saleBody(stock)
	for name, value := range terms {
		body[name] = value
	}
	answer, err := f.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		f.t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id")
}

// want makes a call and wants a status and a code.
func (f *funnel) want(when string, status int, code string, call func() (Answer, error)) Answer {
	f.t.Helper()
	answer, err := call()
	if err != nil || answer.Status != status || answer.Text("code") != code {
		f.t.Fatalf("%s: got %d %s, %v; want %d %s", when, answer.Status, answer.Raw, err, status, code)
	}
	return answer
}

// buys is a purchase of one unit, with a tier and further headers.
func (f *funnel) buys(sale, buyer, tier string, headers ...string) func() (Answer, error) {
	return func() (Answer, error) {
		token, err := api.SignToken([]byte(TestSecret), buyer, "", tier, time.Hour)
		if err != nil {
			return Answer{}, err
		}
		return f.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", buyer, "", oneItem, append(headers, "Authorization", "Bearer "+token)...)
	}
}

func (f *funnel) members(sale, lines string) func() (Answer, error) {
	return func() (Answer, error) {
		return f.Call(http.MethodPut, "/api/v1/admin/sales/"+sale+"/members", "operator", "admin", lines, "Content-Type", "application/x-ndjson")
	}
}

func (f *funnel) asks(sale, buyer string, body any) func() (Answer, error) {
	return func() (Answer, error) {
		return f.Call(http.MethodPost, "/api/v1/sales/"+sale+"/tickets", buyer, "", body)
	}
}

// ready waits until a sale's list is in memory: until then a stranger is told
// not_ready.
func (f *funnel) ready(sale string) {
	f.t.Helper()
	testenv.Eventually(f.t, 30*time.Second, func() error {
		answer, err := f.buys(sale, "a-stranger", "gold")()
		if err == nil && answer.Status != http.StatusForbidden {
			err = errStatus(answer)
		}
		return err
	})
}

func TestOnlyWhoASaleIsForBuys(t *testing.T) {
	rig := NewRig(t)
	child := ServeRig(t, rig)
	f := &funnel{t, NewClient(child.URL)}

	t.Run("tiers", func(t *testing.T) {
		sale := f.sale(5, map[string]any{"eligible_tiers": []string{"gold", "black"}})
		f.want("no tier", 403, "not_eligible", f.buys(sale, "u1", ""))
		f.want("another tier", 403, "not_eligible", f.buys(sale, "u1", "silver"))
		f.want("an eligible tier", 202, "", f.buys(sale, "u1", "gold"))
		f.want("an owner who lost the tier", 200, "", f.buys(sale, "u1", ""))
	})
	t.Run("a list", func(t *testing.T) {
		sale := f.sale(5, nil)
		f.want("an unknown sale", 404, "sale_not_found", f.members("zzzzzzzz", `"u1"`))
		f.want("a wrong line", 422, "invalid_request", f.members(sale, "\"u1\"\nu2\n"))
		f.want("before any list", 202, "", f.buys(sale, "early", ""))
		if list, _ := f.want("a list", 200, "", f.members(sale, "\"u1\"\n{\"buyer_id\":\"u2\"}\n\"u1\"\n")).Body["members"].(map[string]any); list["count"] != 2.0 || list["version"] != 1.0 {
			t.Fatalf("got %v, want two buyers in the first list", list)
		}
		f.ready(sale)
		f.want("one on the list", 202, "", f.buys(sale, "u1", ""))
		f.want("one who is not", 403, "not_eligible", f.buys(sale, "u3", ""))
		f.want("an owner who is not", 200, "", f.buys(sale, "early", ""))
		f.want("another list", 200, "", f.members(sale, `"u3"`))
		testenv.Eventually(t, 30*time.Second, func() error {
			answer, err := f.buys(sale, "u3", "")()
			if err == nil && answer.Status != http.StatusAccepted {
				err = errStatus(answer)
			}
			return err
		})
		f.want("who was on the list before", 403, "not_eligible", f.buys(sale, "u2", ""))
		f.want("an owner who was", 200, "", f.buys(sale, "u1", ""))
		child.Restart()
		child.AwaitReady()
		f.ready(sale)
		f.want("after a restart", 403, "not_eligible", f.buys(sale, "u2", ""))
		f.want("an owner after a restart", 200, "", f.buys(sale, "u3", ""))
	})
	t.Run("a list and tiers", func(t *testing.T) {
		sale := f.sale(5, map[string]any{"eligible_tiers": []string{"gold"}})
		f.want("a list", 200, "", f.members(sale, `"u1"`))
		f.ready(sale)
		f.want("on the list without the tier", 403, "not_eligible", f.buys(sale, "u1", ""))
		f.want("both", 202, "", f.buys(sale, "u1", "gold"))
	})
}

func TestAPurchaseNeedsItsTicket(t *testing.T) {
	rig := NewRig(t)
	f := &funnel{t, NewClient(ServeRig(t, rig).URL)}

	t.Run("a sale with tickets", func(t *testing.T) {
		sale := f.sale(5, map[string]any{"require_ticket": true, "orders_per_buyer": 3, "limit_per_buyer": 3})
		f.want("without one", 403, "ticket_required", f.buys(sale, "u1", "", "Idempotency-Key", "k1"))
		first := f.want("a ticket", 201, "", f.asks(sale, "u1", nil))
		if again := f.want("the same ticket", 201, "", f.asks(sale, "u1", nil)); again.Raw != first.Raw {
			t.Errorf("got %s, then %s; want the same", first.Raw, again.Raw)
		}
		ticket := first.Text("ticket")
		f.want("somebody else's", 403, "ticket_invalid", f.buys(sale, "u2", "", "Idempotency-Key", "k1", "Purchase-Ticket", ticket))
		f.want("no ticket at all", 403, "ticket_invalid", f.buys(sale, "u1", "", "Idempotency-Key", "k1", "Purchase-Ticket", "x"))
		f.want("the own one", 202, "", f.buys(sale, "u1", "", "Idempotency-Key", "k1", "Purchase-Ticket", ticket))
		f.want("the same request", 200, "", f.buys(sale, "u1", "", "Idempotency-Key", "k1", "Purchase-Ticket", ticket))
		f.want("the same request without", 200, "", f.buys(sale, "u1", "", "Idempotency-Key", "k1"))
		f.want("a ticket that was used", 403, "ticket_invalid", f.buys(sale, "u1", "", "Idempotency-Key", "k2", "Purchase-Ticket", ticket))
		next := f.want("another ticket", 201, "", f.asks(sale, "u1", nil)).Text("ticket")
		f.want("the next purchase", 202, "", f.buys(sale, "u1", "", "Idempotency-Key", "k2", "Purchase-Ticket", next))
		f.want("no proof of work is asked for", 404, "not_found", func() (Answer, error) {
			return f.Call(http.MethodGet, "/api/v1/sales/"+sale+"/challenge", "u1", "", nil)
		})
	})
	t.Run("tickets for so many buyers only", func(t *testing.T) {
		sale := f.sale(1, map[string]any{"tokens": 2})
		tickets := map[string]string{}
		for _, u := range []string{"u1", "u2"} {
			tickets[u] = f.want(u, 201, "", f.asks(sale, u, nil)).Text("ticket")
		}
		f.want("a third", 409, "sold_out", f.asks(sale, "u3", nil))
		f.want("one who has one", 201, "", f.asks(sale, "u2", nil))
		f.want("u1 buys", 202, "", f.buys(sale, "u1", "", "Purchase-Ticket", tickets["u1"]))
		f.want("u2 is too late", 409, "sold_out", f.buys(sale, "u2", "", "Purchase-Ticket", tickets["u2"]))
		f.want("u3 has none", 403, "ticket_required", f.buys(sale, "u3", ""))
		f.want("the owner needs none", 200, "", f.buys(sale, "u1", ""))
		f.want("more units", 200, "", func() (Answer, error) {
			return f.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+"/items/item/releases", "operator", "admin", map[string]any{"quantity": 1})
		})
		var third Answer
		testenv.Eventually(t, 30*time.Second, func() (err error) { // what was released is looked at once a second
			if third, err = f.asks(sale, "u3", nil)(); err == nil && third.Status != http.StatusCreated {
				err = errStatus(third)
			}
			return err
		})
		f.want("the released unit", 202, "", f.buys(sale, "u3", "", "Purchase-Ticket", third.Text("ticket")))
		f.want("as many more as before", 201, "", f.asks(sale, "u4", nil))
		f.want("and no more", 409, "sold_out", f.asks(sale, "u5", nil))
	})
	t.Run("their time", func(t *testing.T) {
		at := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339) }
		early := f.sale(1, map[string]any{"require_ticket": true, "opens_at": at(time.Hour), "closes_at": at(2 * time.Hour)})
		f.want("an hour before", 425, "too_early", f.asks(early, "u1", nil))
		soon := f.sale(1, map[string]any{"require_ticket": true, "opens_at": at(5 * time.Minute), "closes_at": at(2 * time.Hour)})
		ticket := f.want("five minutes before", 201, "", f.asks(soon, "u1", nil)).Text("ticket")
		f.want("a purchase with it", 425, "too_early", f.buys(soon, "u1", "", "Purchase-Ticket", ticket))
		f.want("a sale without tickets", 404, "not_found", f.asks(f.sale(1, nil), "u1", nil))
		f.want("an unknown sale", 404, "sale_not_found", f.asks("zzzzzzzz", "u1", nil))
		limited := f.sale(1, map[string]any{"require_ticket": true, "eligible_tiers": []string{"gold"}})
		f.want("who may not buy", 403, "not_eligible", f.asks(limited, "u1", nil))
	})
}

// solve finds the number as ALTCHA's clients do.
func solve(t testing.TB, challenge Answer) string {
	t.Helper()
	most, _ := challenge.Body["maxnumber"].(float64)
	for n := range int(most) + 1 {
		sum := sha256.Sum256([]byte(challenge.Text("salt") + strconv.Itoa(n)))
		if hex.EncodeToString(sum[:]) == challenge.Text("challenge") {
			text, err := json.Marshal(map[string]any{"algorithm": "SHA-256", "challenge": challenge.Text("challenge"), "number": n,
				"salt": challenge.Text("salt"), "signature": challenge.Text("signature"), "took": 12})
			if err != nil {
				t.Fatal(err)
			}
			return base64.StdEncoding.EncodeToString(text)
		}
	}
	t.Fatalf("no number up to %v solves %s", most, challenge.Raw)
	return ""
}

func TestATicketMayNeedProofOfWork(t *testing.T) {
	rig := NewRig(t)
	f := &funnel{t, NewClient(ServeRig(t, rig, "SECKILL_TICKET_POW=1000").URL)}
	sale := f.sale(2, map[string]any{"require_ticket": true})
	challenge := f.want("a challenge", 200, "", func() (Answer, error) {
		return f.Call(http.MethodGet, "/api/v1/sales/"+sale+"/challenge", "u1", "", nil)
	})
	solution := map[string]any{"solution": solve(t, challenge)}
	f.want("no solution", 422, "invalid_request", f.asks(sale, "u1", nil))
	f.want("somebody else's", 422, "invalid_request", f.asks(sale, "u2", solution))
	ticket := f.want("the own one", 201, "", f.asks(sale, "u1", solution)).Text("ticket")
	f.want("a purchase", 202, "", f.buys(sale, "u1", "", "Purchase-Ticket", ticket))
	look := func(sale string) func() (Answer, error) {
		return func() (Answer, error) {
			return f.Call(http.MethodGet, "/api/v1/sales/"+sale+"/challenge", "u1", "", nil)
		}
	}
	f.want("a challenge for who may not buy", 403, "not_eligible", look(f.sale(2, map[string]any{"require_ticket": true, "eligible_tiers": []string{"gold"}})))
	f.want("a challenge an hour before", 425, "too_early", look(f.sale(2, map[string]any{"require_ticket": true,
		"opens_at": time.Now().Add(time.Hour).Format(time.RFC3339), "closes_at": time.Now().Add(2 * time.Hour).Format(time.RFC3339)})))
	other := f.sale(2, map[string]any{"require_ticket": true})
	f.want("for another sale", 422, "invalid_request", f.asks(other, "u1", solution))
	if got := fmt.Sprint(challenge.Body["algorithm"]); got != "SHA-256" {
		t.Errorf("got algorithm %s", got)
	}
}

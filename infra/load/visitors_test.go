package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop imitates the API for visitors: it is busy at first, hangs up once, decides
// orders after a look, and checks what good clients must do.
type shop struct {
	t      *testing.T
	mu     sync.Mutex
	left   int
	tries  map[string]int // by buyer
	keys   map[string]string
	orders map[string]string
	looks  map[string]int
	paid   map[string]bool
	asked  map[string]int // by what
}

func newShop(t *testing.T, left int) *shop {
	return &shop{t: t, left: left, tries: map[string]int{}, keys: map[string]string{}, orders: map[string]string{},
		looks: map[string]int{}, paid: map[string]bool{}, asked: map[string]int{}}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buyer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/purchases"):
		s.buy(w, r, buyer)
	case strings.HasSuffix(path, "/payment"):
		s.asked["payment"]++
		answer(w, http.StatusOK, map[string]any{})
	case strings.HasPrefix(path, "/webhooks/"):
		if r.Header.Get("Signed") != "yes" {
			s.t.Error("a message that nobody signed")
		}
		s.asked["webhook"]++
		answer(w, http.StatusOK, map[string]any{})
	case strings.HasPrefix(path, "/api/v1/orders/"):
		id := strings.TrimPrefix(path, "/api/v1/orders/")
		if s.orders[buyer] != id {
			answer(w, http.StatusNotFound, map[string]any{"code": "order_not_found"})
			return
		}
		status := "queued"
		if s.looks[id]++; s.looks[id] > 1 {
			status = "placed"
		}
		answer(w, http.StatusOK, map[string]any{"order_id": id, "status": status})
	default:
		s.asked[path]++
		answer(w, http.StatusOK, map[string]any{})
	}
}

func (s *shop) buy(w http.ResponseWriter, r *http.Request, buyer string) {
	var body struct {
		SKU      string
		Quantity int
	}
	switch err := json.NewDecoder(r.Body).Decode(&body); {
	case !strings.HasPrefix(buyer, "buyer-"):
		answer(w, http.StatusUnauthorized, map[string]any{"code": "unauthenticated"})
		return
	case !strings.Contains(r.URL.Path, "/the-sale/"):
		answer(w, http.StatusNotFound, map[string]any{"code": "sale_not_found"})
		return
	case err != nil:
		answer(w, http.StatusBadRequest, map[string]any{"code": "invalid_request"})
		return
	case body.Quantity != 1:
		answer(w, http.StatusUnprocessableEntity, map[string]any{"code": "invalid_request"})
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if had := s.keys[buyer]; key == "" || had != "" && had != key {
		s.t.Errorf("%s asks with key %q, and before with %q", buyer, key, had)
	}
	s.keys[buyer] = key
	switch s.tries[buyer]++; {
	case s.orders[buyer] != "":
		answer(w, http.StatusOK, map[string]any{"order_id": s.orders[buyer], "status": "queued", "repeat": true})
	case s.tries[buyer] == 1:
		answer(w, http.StatusServiceUnavailable, map[string]any{"code": "busy", "retry_after_ms": 60})
	case s.tries[buyer] == 2:
		raw, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			s.t.Error(err)
			return
		}
		raw.Close()
	case s.left == 0:
		answer(w, http.StatusConflict, map[string]any{"code": "sold_out"})
	default:
		s.left--
		s.orders[buyer] = "order-of-" + buyer
		answer(w, http.StatusAccepted, map[string]any{"order_id": s.orders[buyer], "status": "queued"})
	}
}

// visit lets a crush visit a shop.
func visit(t *testing.T, s *shop, c Crush) (*Visitors, *Account) {
	t.Helper()
	addr := serve(t, s.ServeHTTP)
	at, visits := c.Visits()
	v := &Visitors{Host: addr, Sale: "the-sale", SKUs: []string{"phone", "case"}, Visits: visits, Account: NewAccount(time.Second),
		Poll: 20 * time.Millisecond, Think: time.Millisecond, Until: time.Now().Add(time.Minute), Tag: "t"}
	for i := range len(c.Arrivals) {
		v.Tokens = append(v.Tokens, fmt.Sprintf("buyer-%d", i))
	}
	v.Paid = func(order string) (string, string, string) {
		return "/webhooks/x", "Signed: yes\r\n", `{"order_id":"` + order + `"}`
	}
	v.Start()
	run(t, Attack{Addr: addr, Arrivals: at, Build: v.Build, Judge: v.Judge, Kind: v.Kind, Account: v.Account})
	return v, v.Account
}

func kindsOf(a *Account) map[string]Kind {
	all := map[string]Kind{}
	for _, k := range a.Kinds() {
		all[k.Name] = k
	}
	return all
}

func TestBuyersWhoAreToldToComeAgainOrHearNothingAskAgainWithTheSameKeyUntilTheyHaveTheirOrder(t *testing.T) {
	s := newShop(t, 3)
	v, account := visit(t, s, Crush{Arrivals: make([]time.Duration, 5), Mix: Mix{Payments: 1}})
	kinds := kindsOf(account)
	if p := kinds[KindPurchase]; p.Sent != 15 || p.OK != 3 || p.Failed != 5 || p.Outcomes["busy"] != 5 || p.Outcomes["sold_out"] != 2 {
		t.Errorf("got %+v, want each of five to ask three times", p)
	}
	if p := kinds[KindVerdict]; p.Sent != 5 || p.OK != 3 || p.Refused != 2 || p.Failed != 0 || p.Latency(1) < 60*time.Millisecond {
		t.Errorf("got verdicts %+v, the quickest after %s: the pauses belong to them", p, p.Latency(1))
	}
	if p := kinds[KindPlaced]; p.OK != 3 || p.Latency(1) < kinds[KindVerdict].Latency(1) {
		t.Errorf("got %+v seen placed after %s", p, p.Latency(1))
	}
	if s.asked["payment"] != 3 || s.asked["webhook"] != 3 || kinds[KindPayment].OK != 3 || kinds[KindWebhook].OK != 3 {
		t.Errorf("got %v, want three to pay", s.asked)
	}
	if won, last := v.Won(); len(won) != 3 || last <= 0 || !won[0].Decided || won[0].Order != "order-of-buyer-"+fmt.Sprint(won[0].Buyer) {
		t.Errorf("got %v won", won)
	}
	if told := v.Told("sold_out"); told[0] != 2 {
		t.Errorf("got %v told sold out", told)
	}
	// Five were accepted or refused by the rules, ten heard busy or nothing.
	if got := account.AsExpected(); got < 0.33 || got > 0.34 {
		t.Errorf("got %v answered as expected, want 5 of 15", got)
	}
}

func TestWhoClicksOnGetsOneOrder(t *testing.T) {
	s := newShop(t, 10)
	v, account := visit(t, s, Crush{Arrivals: make([]time.Duration, 4), Mix: Mix{Repeats: 1}, Presses: 6, PressFor: 50 * time.Millisecond})
	if won, _ := v.Won(); len(won) != 4 || s.left != 6 {
		t.Errorf("got %d orders and %d units left, want 4 and 6", len(won), s.left)
	}
	if k := kindsOf(account)[KindVerdict]; k.Sent != 24 || k.OK != 24 {
		t.Errorf("got %+v, want 24 presses that were answered", k)
	}
}

func TestAttackersAreRepelledAndWhoOnlyLooksBuysNothing(t *testing.T) {
	s := newShop(t, 10)
	_, account := visit(t, s, Crush{Arrivals: make([]time.Duration, 36), Mix: Mix{Attackers: 1, Pages: 1, Polls: 1}})
	kinds := kindsOf(account)
	if k := kinds[KindAttack]; k.OK != k.Sent || k.Sent == 0 {
		t.Errorf("got %+v, want every attack to be repelled", k)
	}
	if s.left != 10 || kinds[KindPage].OK != int64(s.asked["/s/the-sale"]*3) || kinds[KindPoll].OK == 0 {
		t.Errorf("got %+v and %+v", kinds[KindPage], kinds[KindPoll])
	}
}

// An attack that is let in is a fault.
func TestAnAttackThatIsLetInIsAFault(t *testing.T) {
	if n := repelled(0, Answer{Status: http.StatusAccepted}); !n.Failed || n.Outcome != "status 202 in the place of 401" {
		t.Errorf("got %+v", n)
	}
}

func TestAMixIsReadAndWritten(t *testing.T) {
	m, err := ParseMix("purchases=80, pages=15,attackers=5")
	if err != nil || m[Purchases] != 80 || m[Pages] != 15 || m.String() != "purchases=80,pages=15,attackers=5" {
		t.Errorf("got %v %v", m, err)
	}
	for _, bad := range []string{"", "buyers=3", "purchases", "purchases=-1", "purchases=NaN", "purchases=0"} {
		if _, err := ParseMix(bad); err == nil {
			t.Errorf("%q is no mix", bad)
		}
	}
	arrivals := make([]time.Duration, 10_000)
	_, visits := Crush{Arrivals: arrivals, Mix: m, SKUs: 10, Hot: 0.9}.Visits()
	n, hot := map[Persona]int{}, 0
	for _, v := range visits {
		n[v.Persona]++
		if v.SKU == 0 {
			hot++
		}
	}
	if n[Purchases] < 7_700 || n[Purchases] > 8_300 || n[Attackers] < 400 || hot < 8_800 || hot > 9_200 {
		t.Errorf("got %v, %d who want the first item", n, hot)
	}
}

func TestTheProcessorTimeOfTheGeneratorIsSeen(t *testing.T) {
	stop, err := WatchCPU(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	used, err := processorTime()
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); ; n = n*6364136223846793005 + 1 { // until there is something to see
		if n%65536 == 1 {
			if now, err := processorTime(); err != nil || now-used > 200*time.Millisecond {
				break
			}
		}
	}
	if c := stop(); c.Mean <= 0 || c.Peak < c.Mean/2 || len(c.Windows) == 0 {
		t.Errorf("got %+v", c)
	}
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// The fakes of this file stand for the commands. What buying and finding do over
// real stores is tested elsewhere; here only what HTTP makes of it.

const (
	testSale  = "0000000g"
	testOrder = "0101g000000000000000000000000000000000000000w"
)

var testSecret = []byte("a secret of the tests, not of any installation")

type fakePurchaser struct {
	mu     sync.Mutex
	asked  []commands.PurchaseRequest
	answer func(commands.PurchaseRequest) (commands.PurchaseResult, error)
	ahead  chan commands.PurchaseRequest // hears who is looked ahead for
}

func (f *fakePurchaser) LookAhead(_ context.Context, req *commands.PurchaseRequest) {
	if f.ahead != nil {
		f.ahead <- *req
	}
}

func (f *fakePurchaser) Purchase(_ context.Context, req commands.PurchaseRequest) (commands.PurchaseResult, error) {
	f.mu.Lock()
	kept := req
	kept.Judged = nil // functions cannot be compared
	f.asked = append(f.asked, kept)
	f.mu.Unlock()
	if req.Sale != testSale {
		return commands.PurchaseResult{}, &domain.Problem{Code: domain.CodeSaleNotFound}
	}
	return f.answer(req)
}

func (f *fakePurchaser) requests() []commands.PurchaseRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]commands.PurchaseRequest{}, f.asked...)
}

func orderIn(status domain.OrderStatus) commands.OrderAnswer {
	return commands.OrderAnswer{Order: domain.Order{ID: testOrder, SaleID: testSale, Status: status}, TraceID: strings.Repeat("a", 32)}
}

func accept(commands.PurchaseRequest) (commands.PurchaseResult, error) {
	return commands.PurchaseResult{Outcome: domain.Reserved, Order: orderIn(domain.OrderStatusQueued)}, nil
}

type fakeFinder struct {
	find func(ctx context.Context, buyer, id string) (commands.OrderAnswer, error)
	wait func(ctx context.Context, buyer, id string, after int64, wait time.Duration) (commands.OrderAnswer, error)
	list func(ctx context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error)
}

func (f *fakeFinder) Find(ctx context.Context, buyer, id string) (commands.OrderAnswer, error) {
	return f.find(ctx, buyer, id)
}

func (f *fakeFinder) Wait(ctx context.Context, buyer, id string, after int64, wait time.Duration) (commands.OrderAnswer, error) {
	return f.wait(ctx, buyer, id, after, wait)
}

func (f *fakeFinder) List(ctx context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error) {
	return f.list(ctx, sale, buyer, limit, cursor)
}

type fakeShower struct {
	mu         sync.Mutex
	soldOut    bool
	recovering bool
	err        error
	others     []commands.SaleAnswer // in the list, beside the one
	looked     int                   // how often it was asked for the sale of now
	units      map[string]commands.ItemUnits
}

func saleTerms() domain.SaleTerms {
	return domain.SaleTerms{
		Title: "Red shoes", OpensAt: time.Date(2026, 11, 11, 0, 0, 0, 0, time.FixedZone("", 8*3600)),
		ClosesAt: time.Date(2026, 11, 11, 2, 0, 0, 0, time.UTC), AutoOpen: true,
		Items: []domain.ItemTerms{{SKU: "shoe-42", Title: "Size 42", Price: domain.Money{Minor: 1990, Currency: "CNY"}, Stock: 5}},
	}.WithDefaults()
}

func (f *fakeShower) Show(_ context.Context, id string) (commands.SaleAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return commands.SaleAnswer{}, f.err
	}
	if id != testSale {
		return commands.SaleAnswer{}, &domain.Problem{Code: domain.CodeSaleNotFound}
	}
	return commands.SaleAnswer{
		FoldedSale: commands.FoldedSale{Sale: domain.Sale{ID: id, Version: 3, TermsVersion: 2, Terms: saleTerms()}},
		State:      domain.SaleStateOpen, ServerTime: time.Now(), SoldOut: map[string]bool{"shoe-42": f.soldOut}, Recovering: f.recovering,
	}, nil
}

func (f *fakeShower) Look(ctx context.Context, id string) (commands.SaleAnswer, error) {
	f.mu.Lock()
	f.looked++
	f.mu.Unlock()
	return f.Show(ctx, id)
}

func (f *fakeShower) Units(context.Context, domain.Sale) map[string]commands.ItemUnits {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.units
}

// List pages as the real one does; its cursors are numbers.
func (f *fakeShower) List(ctx context.Context, q commands.SaleQuery) (commands.SaleList, error) {
	sale, err := f.Show(ctx, testSale)
	if err != nil {
		return commands.SaleList{}, err
	}
	var list commands.SaleList
	from := 0
	if q.Cursor != "" {
		if from, err = strconv.Atoi(q.Cursor); err != nil {
			return list, domain.Invalid(domain.FieldError{Field: "cursor", Reason: "was not given by us"})
		}
	}
	all := append([]commands.SaleAnswer{sale}, f.others...)
	for i, sale := range all {
		hidden := sale.Rehearsal() && sale.Over(sale.ServerTime) && !q.OverRehearsals
		switch {
		case i < from || hidden:
		case len(list.Sales) == q.Limit:
			list.Next = strconv.Itoa(i)
			return list, nil
		default:
			list.Sales = append(list.Sales, sale)
		}
	}
	return list, nil
}

type fakeOperator struct {
	mu     sync.Mutex
	terms  domain.SaleTerms
	actor  commands.Actor
	did    []string
	failed error
}

func (f *fakeOperator) do(name, sale string, actor commands.Actor, terms domain.SaleTerms) (commands.FoldedSale, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did, f.actor = append(f.did, name), actor
	if f.failed != nil {
		return commands.FoldedSale{}, f.failed
	}
	if sale != testSale {
		return commands.FoldedSale{}, &domain.Problem{Code: domain.CodeSaleNotFound}
	}
	folded := domain.Sale{ID: sale, Version: 2, Terms: terms}
	if name == "pause" {
		folded.Pauses = []domain.PauseReason{domain.PausedByOperator}
	}
	return commands.FoldedSale{Sale: folded}, nil
}

func (f *fakeOperator) Schedule(_ context.Context, terms domain.SaleTerms, actor commands.Actor) (commands.FoldedSale, error) {
	f.mu.Lock()
	f.terms = terms
	f.mu.Unlock()
	if bad := domain.ValidateTerms(terms.WithDefaults()); len(bad) > 0 {
		return commands.FoldedSale{}, domain.Invalid(bad...)
	}
	return f.do("schedule", testSale, actor, terms.WithDefaults())
}

func (f *fakeOperator) Pause(_ context.Context, sale string, _ domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error) {
	return f.do("pause", sale, actor, saleTerms())
}

func (f *fakeOperator) Resume(_ context.Context, sale string, _ domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error) {
	return f.do("resume", sale, actor, saleTerms())
}

func (f *fakeOperator) Close(_ context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error) {
	return f.do("close", sale, actor, saleTerms())
}

func (f *fakeOperator) Release(_ context.Context, r commands.Release, actor commands.Actor) (commands.Released, error) {
	if _, err := f.do("release", r.Sale, actor, saleTerms()); err != nil {
		return commands.Released{}, err
	}
	return commands.Released{Released: 5 + r.Quantity, Available: r.Quantity}, nil
}

// fakeRehydrator knows the test sale.
type fakeRehydrator struct{}

func (fakeRehydrator) Rehydrate(_ context.Context, sale string, _ func(commands.RehydrateProgress)) (commands.Rehydration, error) {
	if sale != testSale {
		return commands.Rehydration{}, &domain.Problem{Code: domain.CodeSaleNotFound}
	}
	return commands.Rehydration{Sale: sale, Lanes: []commands.LaneRehydrated{}, Events: 3}, nil
}

// house is an API on a real listener over fakes.
type house struct {
	t         testing.TB
	purchaser *fakePurchaser
	finder    *fakeFinder
	shower    *fakeShower
	operator  *fakeOperator
	orders    *fakeOrders
	switches  fakeSwitches
	preheats  fakePreheats
	tickets   fakeTickets
	members   fakeMembers
	overviews fakeOverviews
	dead      fakeDead
	teller    fakeTeller
	log       *logBuffer
	server    *Server
	url       string
}

// logBuffer is a log that tests may read while handlers write.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newHouse(t testing.TB, change func(*Deps, *Options)) *house {
	t.Helper()
	h := &house{
		t: t, purchaser: &fakePurchaser{answer: accept}, finder: &fakeFinder{}, shower: &fakeShower{}, operator: &fakeOperator{}, log: &logBuffer{},
		orders: &fakeOrders{},
	}
	verifier, err := SecretVerifier(testSecret, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	deps := Deps{
		Overviews: &h.overviews, Stacks: fakeStacks{}, DeadLetters: &h.dead,
		Purchaser: h.purchaser, Finder: h.finder, Shower: h.shower, Operator: h.operator, Cleanup: fakeCleanup(nil), Reconciler: fakeReconciler(nil), Rehydrator: fakeRehydrator{}, Teller: &h.teller, Tickets: &h.tickets, Members: &h.members, Reviser: h.operator, Preheats: &h.preheats, Switches: &h.switches, Verifier: verifier,
		Log: slog.New(slog.NewJSONHandler(h.log, nil)), Now: time.Now,
		Prover: fakeProver(nil), Stater: fakeStater(nil), Orders: h.orders, Providers: testProviders(),
	}
	opts := Options{RefusalLogEvery: 1}
	if change != nil {
		change(&deps, &opts)
	}
	if h.server, err = New(deps, opts); err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewUnstartedServer(nil)
	listening.Config = h.server.HTTPServer()
	listening.Listener = SparingDeadlines(listening.Listener) // as it is served
	listening.Start()
	t.Cleanup(listening.Close)
	h.url = listening.URL
	return h
}

func tokenOf(t testing.TB, buyer, role string) string {
	t.Helper()
	token, err := SignToken(testSecret, buyer, role, "gold", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// reply is an answer read whole.
type reply struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   string
}

func (r *reply) json() map[string]any {
	r.t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(r.Body), &m); err != nil {
		r.t.Fatalf("answer %d is no JSON object: %v\n%s", r.Status, err, r.Body)
	}
	return m
}

// ask sends a request as buyer-1. Headers come in pairs; an empty value takes one
// of the usual headers away. It may be called on any goroutine: what breaks marks
// the test as failed and gives an empty reply.
func (h *house) ask(method, path, body string, headers ...string) *reply {
	h.t.Helper()
	req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return &reply{t: h.t}
	}
	req.Header.Set("Authorization", "Bearer "+tokenOf(h.t, "buyer-1", ""))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Error(err)
		return &reply{t: h.t}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Error(err)
		return &reply{t: h.t}
	}
	return &reply{t: h.t, Status: res.StatusCode, Header: res.Header, Body: string(text)}
}

func (h *house) buy(body string, headers ...string) *reply {
	h.t.Helper()
	return h.ask(http.MethodPost, "/api/v1/sales/"+testSale+"/purchases", body, headers...)
}

func (h *house) admin(method, path, body string, headers ...string) *reply {
	h.t.Helper()
	return h.ask(method, path, body, append([]string{"Authorization", "Bearer " + tokenOf(h.t, "boss", RoleAdmin)}, headers...)...)
}

// problem checks that a reply is the problem document of a code, whole and with
// its trace id, and gives it.
func (r *reply) problem(status int, code domain.Code) map[string]any {
	r.t.Helper()
	if r.Status != status {
		r.t.Fatalf("got status %d, want %d\n%s", r.Status, status, r.Body)
	}
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		r.t.Errorf("got Content-Type %q, want application/problem+json", got)
	}
	doc := r.json()
	want := map[string]any{"code": string(code), "status": float64(status), "trace_id": r.Header.Get("X-Trace-Id"), "type": "urn:seckill:problem:" + string(code)}
	for field, value := range want {
		if doc[field] != value {
			r.t.Errorf("got %s %v, want %v", field, doc[field], value)
		}
	}
	for _, field := range []string{"title", "detail", "trace_id"} {
		if s, _ := doc[field].(string); s == "" {
			r.t.Errorf("%s is missing\n%s", field, r.Body)
		}
	}
	return doc
}

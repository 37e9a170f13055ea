package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/api"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

// stagePlay is an installation that a drill can be played against: what operators
// turn, and a node that answers buyers by what it has heard of that.
type stagePlay struct {
	t  testing.TB
	mu sync.Mutex
	// on holds what is switched on, by name and sale, and when.
	on     map[turn]api.SwitchView
	since  map[turn]time.Time
	orders map[string]string
	closed bool
	head   int64

	late   time.Duration // after which a node hears of a flip
	deaf   domain.SwitchName
	before func(method, path string) error // of each call of an operator
	refuse bool                            // repeat purchases, against the rules
	given  *api.AdminSaleView
	apart  bool // operators have a listener of their own
}

func newStagePlay(t testing.TB) *stagePlay {
	return &stagePlay{t: t, on: map[turn]api.SwitchView{}, since: map[turn]time.Time{}, orders: map[string]string{}}
}

const playSale = "28t5cy4t"

// ask answers an operator.
func (s *stagePlay) ask(ctx context.Context, method, path string, body, to any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.before != nil {
		if err := s.before(method, path); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch answer := to.(type) {
	case *api.SwitchList:
		answer.Switches = nil
		for _, v := range s.on {
			answer.Switches = append(answer.Switches, v)
		}
	case *api.SwitchView:
		asked := body.(api.SwitchBody)
		at := turn{domain.SwitchName(path[strings.LastIndex(path, "/")+1:]), asked.Sale.ID}
		*answer = api.SwitchView{Name: string(at.name), Sale: asked.Sale.ID, On: asked.On, Reason: asked.Reason, By: "me"}
		delete(s.on, at)
		if asked.On {
			s.on[at] = *answer
		}
		s.since[at] = time.Now()
	case *api.AdminSaleView:
		*answer = api.AdminSaleView{SaleView: api.SaleView{ID: playSale}}
		if s.given != nil {
			*answer = *s.given
		}
		s.closed = s.closed || strings.HasSuffix(path, "/close")
	}
	return nil
}

// knows tells whether the node has heard that a switch is on, for the sale or
// everywhere.
func (s *stagePlay) knows(name domain.SwitchName) bool {
	for _, sale := range []string{"", playSale} {
		at := turn{name, sale}
		_, on := s.on[at]
		if time.Since(s.since[at]) < s.late {
			on = !on
		}
		if on && name != s.deaf {
			return true
		}
	}
	return false
}

// node serves buyers.
func (s *stagePlay) node() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		status, answer := http.StatusOK, map[string]any{}
		switch {
		case r.URL.Path == "/readyz" && s.apart:
			answer["ready"] = true
		case r.URL.Path == "/readyz":
			on := []domain.SwitchName{}
			for at := range s.on {
				if at.sale == "" {
					on = append(on, at.name)
				}
			}
			answer["switches"] = on
		case strings.HasSuffix(r.URL.Path, "/purchases"):
			status, answer = s.buy(r)
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // the drill is told by its reader
	}))
	s.t.Cleanup(server.Close)
	return server.URL
}

// buy judges a purchase in the order of the contract.
func (s *stagePlay) buy(r *http.Request) (int, map[string]any) {
	var body struct{ Quantity int64 }
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), claims); err != nil || json.NewDecoder(r.Body).Decode(&body) != nil {
		s.t.Errorf("a purchase that cannot be read")
	}
	buyer, _ := claims["sub"].(string)
	refusal := func(status int, code domain.Code) (int, map[string]any) {
		return status, map[string]any{"code": code}
	}
	order, has := s.orders[buyer]
	switch {
	case body.Quantity > domain.MaxQuantity:
		return refusal(422, domain.CodeInvalidRequest)
	case has && !s.refuse:
		return 200, map[string]any{"order_id": order}
	case s.knows(domain.PausePurchases):
		return refusal(503, domain.CodePaused)
	case s.knows(domain.ForceEnded):
		return refusal(410, domain.CodeSaleEnded)
	case claims["tier"] != rehearsalTier && !s.knows(domain.SkipEligibility):
		return refusal(403, domain.CodeNotEligible)
	case body.Quantity > drillLimit && !s.knows(domain.SkipPurchaseLimit):
		return refusal(409, domain.CodeLimitExceeded)
	}
	s.orders[buyer] = fmt.Sprintf("order-%d", len(s.orders))
	return 202, map[string]any{"order_id": s.orders[buyer]}
}

// stats has the views follow the log, but for sale_summary while that is paused.
func (s *stagePlay) stats(context.Context) (projections.Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	orders := int64(len(s.orders))
	if !s.knows(domain.PauseNoncore) {
		s.head = orders
	}
	at := func(name string, n int64, core bool) projections.ShardStats {
		return projections.ShardStats{Checkpoint: projections.Checkpoint{Projection: name, At: eventstore.Mark{Number: n}}, Core: core}
	}
	return projections.Stats{Head: eventstore.Mark{Number: orders}, Shards: []projections.ShardStats{
		at("order_view", orders, true), at("stock_log", orders, true), at("sale_summary", s.head, false),
	}}, nil
}

// play plays a drill with quick patience.
func (s *stagePlay) play(ctx context.Context, o drillOptions, sale string) (*drillReport, error) {
	s.t.Helper()
	if o.Within == 0 {
		o.Within = 20 * time.Second
	}
	o.Nodes, o.Secret, o.Rate, o.Say = []string{s.node(), s.node()}, []byte(strings.Repeat("s", 32)), 200, s.t.Logf
	o.Need = 3
	r, err := newRehearsal(s.ask, s.stats, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.play(ctx, sale)
}

// wantUndone checks that nothing is on any more and the sale is closed.
func (s *stagePlay) wantUndone() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.on) > 0 || !s.closed {
		s.t.Errorf("left on: %v, closed: %t; want nothing on and the sale closed", s.on, s.closed)
	}
}

func TestADrillTurnsEverySwitchAndTakesItBack(t *testing.T) {
	t.Parallel()
	s := newStagePlay(t)
	report, err := s.play(t.Context(), drillOptions{Global: true}, "")
	if err != nil || !report.good() || len(report.Steps) != 2*len(domain.SwitchNames())-1 {
		t.Fatalf("got %+v, %v; want four switches for the sale and five everywhere held", report, err)
	}
	if text := report.table().Render(); strings.Contains(text, "✗") || strings.Count(text, "held ✓") != len(report.Steps) {
		t.Errorf("the table:\n%s", text)
	}
	s.wantUndone()
}

func TestADrillJudgesByPurchasesWhereBuyersAreNotToldWhatIsSwitched(t *testing.T) {
	t.Parallel()
	s := newStagePlay(t)
	s.apart = true
	report, err := s.play(t.Context(), drillOptions{Global: true}, "")
	if err != nil || !report.good() || len(report.Steps) != 2*len(domain.SwitchNames())-1 {
		t.Fatalf("got %+v, %v; want all held", report, err)
	}
	s.wantUndone()
}

func TestADrillWithoutGlobalTurnsNothingEverywhere(t *testing.T) {
	t.Parallel()
	s := newStagePlay(t)
	report, err := s.play(t.Context(), drillOptions{}, "")
	if err != nil || !report.good() {
		t.Fatalf("got %+v, %v", report, err)
	}
	last := report.Steps[len(report.Steps)-1]
	if last.Switch != "pause_noncore" || last.Skipped == "" || len(report.Steps) != len(domain.SwitchNames()) {
		t.Errorf("got %+v, want pause_noncore left out", report.Steps)
	}
	for at := range s.since {
		if at.sale == "" {
			t.Errorf("%s was turned everywhere", at.name)
		}
	}
}

func TestADrillTellsOfASwitchThatDoesNotHold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about  string
		deaf   domain.SwitchName
		refuse bool
		step   domain.SwitchName
	}{
		{"a limit that is not lifted", domain.SkipPurchaseLimit, false, domain.SkipPurchaseLimit},
		{"a buyer who is not let in", domain.SkipEligibility, false, domain.SkipEligibility},
		{"an end that is none", domain.ForceEnded, false, domain.ForceEnded},
		{"a purchase that is not refused", domain.PausePurchases, false, domain.PausePurchases},
		{"owners who do not meet their order", "", true, domain.SkipPurchaseLimit},
		{"a view that goes on", domain.PauseNoncore, false, domain.PauseNoncore},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			s := newStagePlay(t)
			s.deaf, s.refuse = c.deaf, c.refuse
			report, err := s.play(t.Context(), drillOptions{Global: true, Within: 500 * time.Millisecond}, "")
			if err != nil || report.Held || report.good() {
				t.Fatalf("got %+v, %v; want not held", report, err)
			}
			for i := range report.Steps {
				if step := &report.Steps[i]; step.Switch == string(c.step) && step.held() {
					t.Errorf("%s %s: it is said to hold", step.Switch, step.For)
				}
			}
			s.wantUndone()
		})
	}
}

func TestADrillTellsOfASwitchThatIsLate(t *testing.T) {
	t.Parallel()
	s := newStagePlay(t)
	s.late = 300 * time.Millisecond
	report, err := s.play(t.Context(), drillOptions{Promise: 100 * time.Millisecond}, "")
	if err != nil || !report.Held || report.InTime || report.good() {
		t.Fatalf("got %+v, %v; want held, but late", report, err)
	}
	if step := report.Steps[0]; step.On.TookMS <= report.PromiseMS || !strings.Contains(step.verdict(report.PromiseMS), "late") {
		t.Errorf("got %+v, want it on later than promised", step.On)
	}
	s.wantUndone()
}

func TestADrillTakesItsSwitchBackWheneverItEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("the store is away")
	t.Run("interrupted", func(t *testing.T) {
		s := newStagePlay(t)
		ctx, cancel := context.WithCancel(t.Context())
		flips := 0
		s.before = func(method, _ string) error {
			if method == http.MethodPut {
				if flips++; flips == 5 { // the third switch is turned on all the same
					cancel()
				}
			}
			return nil
		}
		if _, err := s.play(ctx, drillOptions{}, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was stopped", err)
		}
		s.wantUndone()
	})
	t.Run("a store that is away for a moment", func(t *testing.T) {
		s := newStagePlay(t)
		flips := 0
		s.before = func(method, _ string) error {
			if method != http.MethodPut {
				return nil
			}
			if flips++; flips == 2 || flips == 3 { // when it is taken back
				return broken
			}
			return nil
		}
		report, err := s.play(t.Context(), drillOptions{}, "")
		if err != nil || !report.Held {
			t.Errorf("got %+v, %v; want it tried again", report, err)
		}
		s.wantUndone()
	})
	t.Run("it fails", func(t *testing.T) {
		s := newStagePlay(t)
		flips := 0
		s.before = func(method, _ string) error {
			if method == http.MethodPut {
				if flips++; flips == 3 {
					return broken
				}
			}
			return nil
		}
		if _, err := s.play(t.Context(), drillOptions{}, ""); !errors.Is(err, broken) {
			t.Errorf("got %v, want the fault", err)
		}
		s.wantUndone()
	})
}

// An operator who stops a sale in the middle of a drill must not find it running.
func TestADrillLeavesOnWhatSomebodyElseTurnedOnMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStagePlay(t)
	at := turn{domain.PausePurchases, ""}
	s.before = func(method, path string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if v, on := s.on[at]; on && method == http.MethodGet {
			v.By, v.Reason = "ann", "the price is wrong"
			s.on[at] = v
		}
		return nil
	}
	report, err := s.play(t.Context(), drillOptions{Global: true, Within: 500 * time.Millisecond}, "")
	if err != nil || report.good() || len(report.LeftOn) != 1 || !strings.Contains(report.LeftOn[0], "ann") {
		t.Fatalf("got %+v, %v; want the switch of ann left on and told", report, err)
	}
	if v, on := s.on[at]; !on || v.By != "ann" || !s.closed {
		t.Errorf("on: %t %+v, closed: %t", on, v, s.closed)
	}
	last := report.Steps[len(report.Steps)-1]
	if last.Switch != "pause_noncore" || last.Skipped == "" {
		t.Errorf("got %+v, want nothing judged that stands under somebody's switch", last)
	}
}

func TestADrillRefusesASaleOfRealBuyersAndASwitchThatIsOn(t *testing.T) {
	t.Parallel()
	sale := func(change func(*api.AdminSaleView)) *api.AdminSaleView {
		v := &api.AdminSaleView{SaleView: api.SaleView{ID: playSale, State: "open", LimitPerBuyer: drillLimit, Items: []api.ItemView{{SKU: "a"}}},
			OrdersPerBuyer: 1, EligibleTiers: []string{rehearsalTier}, Items: []api.AdminItemView{{ItemView: api.ItemView{SKU: "a"}}}}
		change(v)
		return v
	}
	s := newStagePlay(t)
	for says, change := range map[string]func(*api.AdminSaleView){
		"real buyers":      func(v *api.AdminSaleView) { v.EligibleTiers = nil },
		"rehearsal alone":  func(v *api.AdminSaleView) { v.EligibleTiers = append(v.EligibleTiers, "gold") },
		"a ticket":         func(v *api.AdminSaleView) { v.RequireTicket = true },
		"not open, but":    func(v *api.AdminSaleView) { v.State = "ended" },
		"orders_per_buyer": func(v *api.AdminSaleView) { v.OrdersPerBuyer = 2 },
		"place on a list":  func(v *api.AdminSaleView) { v.Members = &api.MembersView{} },
		"cannot be passed": func(v *api.AdminSaleView) { v.LimitPerBuyer = domain.MaxQuantity },
	} {
		s.given = sale(change)
		var refused *usageError
		if _, err := s.play(t.Context(), drillOptions{}, playSale); !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want a refusal that says %q", err, says)
		}
	}
	s.given = sale(func(*api.AdminSaleView) {})
	s.on[turn{domain.ForceEnded, ""}] = api.SwitchView{Name: "force_ended", On: true, By: "ann", Reason: "it is over"}
	var said *told
	if _, err := s.play(t.Context(), drillOptions{}, playSale); !errors.As(err, &said) || !strings.Contains(err.Error(), "ann: it is over") {
		t.Errorf("a switch is on: got %v, want a refusal that names who and why", err)
	}
	if s.closed || len(s.since) > 0 {
		t.Errorf("closed: %t, flipped: %v; want nothing touched", s.closed, s.since)
	}
	delete(s.on, turn{domain.ForceEnded, ""})
	if report, err := s.play(t.Context(), drillOptions{}, playSale); err != nil || !report.good() || !s.closed {
		t.Errorf("a rehearsal sale: got %+v, %v", report, err)
	}
}

func TestADrillIsAskedForInAWayThatCanWork(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--rate", "0"}, {"--rate", "501"}, {"--url", "127.0.0.1:80"}, {"--url", "ftp://a"}, {"--http-addr", "127.0.0.1:0"}} {
		if code, out, errs := try(t, append([]string{"drill", "--data", t.TempDir()}, args...)...); code != exitUsage || out != "" || errs == "" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want 2 and why", args, code, out, errs)
		}
	}
	d := drillCmd{URLs: []string{"http://a/", "http://b", "http://a"}}
	if nodes, err := d.nodes(console{}.settings); err != nil || !slices.Equal(nodes, []string{"http://a", "http://b"}) {
		t.Errorf("got %v, %v; want each node once", nodes, err)
	}
}

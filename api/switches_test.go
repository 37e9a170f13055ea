package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

type fakeSwitches struct {
	mu    sync.Mutex
	flip  commands.Flip
	actor commands.Actor
	on    []commands.SwitchState
}

func (f *fakeSwitches) Flip(_ context.Context, flip commands.Flip, actor commands.Actor) (commands.SwitchState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flip, f.actor = flip, actor
	if flip.Name == "tea" {
		return commands.SwitchState{}, domain.Invalid(domain.FieldError{Field: "name", Reason: "is no switch"})
	}
	return commands.SwitchState{Name: flip.Name, Sale: flip.Sale, On: flip.On, Reason: actor.Note, By: actor.By, At: time.Unix(1_800_000_000, 0)}, nil
}

func (f *fakeSwitches) List(context.Context) ([]commands.SwitchState, error) {
	return []commands.SwitchState{{Name: domain.SkipEligibility}, {Name: domain.ForceEnded, Sale: testSale, On: true, Reason: "r", By: "b", At: time.Unix(1_800_000_000, 0)}}, nil
}

func (f *fakeSwitches) Everywhere() []commands.SwitchState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.on)
}

// turnOn turns a switch on everywhere.
func (f *fakeSwitches) turnOn(name domain.SwitchName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = append(f.on, commands.SwitchState{Name: name, On: true})
}

func TestAnAdminTurnsSwitchesAndSaysWhy(t *testing.T) {
	h := newHouse(t, nil)
	got := h.admin(http.MethodPut, "/api/v1/admin/switches/pause_purchases", `{"on":true,"sale":"`+testSale+`","reason":"the price is wrong"}`)
	want := commands.Flip{Name: domain.PausePurchases, On: true, Sale: testSale}
	if got.Status != 200 || h.switches.flip != want || h.switches.actor.Note != "the price is wrong" || h.switches.actor.By == "" {
		t.Fatalf("got %d %s, asked for %+v by %+v; want %+v", got.Status, got.Body, h.switches.flip, h.switches.actor, want)
	}
	answer := got.json()
	if answer["on"] != true || answer["reason"] != "the price is wrong" || answer["by"] != h.switches.actor.By || answer["at"] != "2027-01-15T08:00:00Z" {
		t.Errorf("the switch as it stands: got %s", got.Body)
	}
	if list := h.admin(http.MethodGet, "/api/v1/admin/switches", "").json()["switches"].([]any); len(list) != 2 {
		t.Errorf("the list: got %v", list)
	}
	for _, body := range []string{`{"on":true}`, `{"reason":"x"}`, `{"on":true,"reason":""}`, `{"on":1,"reason":"x"}`, `{"on":true,"reason":"x","who":"me"}`,
		`{"on":true,"reason":"x","sale":""}`, `{"on":true,"reason":"x","sale":null}`, `{"on":true,"reason":"x","sale":7}`} {
		h.switches.flip = commands.Flip{}
		h.admin(http.MethodPut, "/api/v1/admin/switches/pause_purchases", body).problem(422, domain.CodeInvalidRequest)
		if h.switches.flip != (commands.Flip{}) {
			t.Errorf("%s: %+v was flipped", body, h.switches.flip)
		}
	}
	if got := h.admin(http.MethodPut, "/api/v1/admin/switches/pause_purchases", `{"on":true,"reason":"x"}`); got.Status != 200 || h.switches.flip.Sale != "" {
		t.Errorf("left out: got %d %s, want every sale", got.Status, got.Body)
	}
	h.admin(http.MethodPut, "/api/v1/admin/switches/tea", `{"on":true,"reason":"x"}`).problem(422, domain.CodeInvalidRequest)
	h.ask(http.MethodPut, "/api/v1/admin/switches/force_ended", `{"on":true,"reason":"x"}`).problem(403, domain.CodeForbidden)
}

func TestANodeIsReadyWhateverIsSwitchedAndSaysIt(t *testing.T) {
	h := newHouse(t, nil)
	if got := h.ask(http.MethodGet, "/readyz", ""); got.Status != 200 || len(got.json()["switches"].([]any)) != 0 {
		t.Errorf("nothing is switched: got %d %s", got.Status, got.Body)
	}
	h.switches.on = []commands.SwitchState{{Name: domain.ForceEnded, On: true, By: "boss", Reason: "the price is wrong", At: time.Unix(1_800_000_000, 0)}, {Name: domain.PauseNoncore, On: true}}
	got := h.ask(http.MethodGet, "/readyz", "")
	if list := got.json()["switches"].([]any); got.Status != 200 || len(list) != 2 || list[0] != "force_ended" {
		t.Errorf("two are on: got %d %s", got.Status, got.Body)
	}
	if strings.Contains(string(got.Body), "boss") || strings.Contains(string(got.Body), "wrong") {
		t.Errorf("with one listener for all, strangers read who and why: %s", got.Body)
	}
}

// TestStrangersLearnOfANodeOnlyWhetherItIsReady: where operators have a listener of
// their own, and there who switched what, and why.
func TestStrangersLearnOfANodeOnlyWhetherItIsReady(t *testing.T) {
	var broken atomic.Bool
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Checks = []Check{{Name: "event_store", Ready: func(context.Context) error {
			if broken.Load() {
				return errors.New("away")
			}
			return nil
		}}}
	})
	h.switches.on = []commands.SwitchState{{Name: domain.ForceEnded, On: true, By: "boss", Reason: "the price is wrong", At: time.Unix(1_800_000_000, 0)}}
	ready := func(server *http.Server, status int) string {
		t.Helper()
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != status {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, status)
		}
		return strings.TrimSpace(w.Body.String())
	}
	if got := ready(h.server.HTTPServerOutside(), 200); got != `{"ready":true}` {
		t.Errorf("outside, ready: got %s", got)
	}
	inside := ready(h.server.HTTPServerInside(), 200)
	for _, want := range []string{`"ready":true`, `"event_store"`, `"switches":["force_ended"]`, `"by":"boss"`, `"reason":"the price is wrong"`, `"at":"2027-01-15T08:00:00Z"`} {
		if !strings.Contains(inside, want) {
			t.Errorf("inside, ready: %s lacks %s", inside, want)
		}
	}
	broken.Store(true)
	if got := ready(h.server.HTTPServerOutside(), 503); got != `{"ready":false}` {
		t.Errorf("outside, not ready: got %s", got)
	}
	if got := ready(h.server.HTTPServerInside(), 503); !strings.Contains(got, "event_store") {
		t.Errorf("inside, not ready: %s does not name the store", got)
	}
}

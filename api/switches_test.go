package api

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

type fakeSwitches struct {
	mu    sync.Mutex
	flip  commands.Flip
	actor commands.Actor
	on    []domain.SwitchName
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

func (f *fakeSwitches) Everywhere() []domain.SwitchName { return f.on }

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
	for _, body := range []string{`{"on":true}`, `{"reason":"x"}`, `{"on":true,"reason":""}`, `{"on":1,"reason":"x"}`, `{"on":true,"reason":"x","who":"me"}`} {
		h.admin(http.MethodPut, "/api/v1/admin/switches/pause_purchases", body).problem(422, domain.CodeInvalidRequest)
	}
	h.admin(http.MethodPut, "/api/v1/admin/switches/tea", `{"on":true,"reason":"x"}`).problem(422, domain.CodeInvalidRequest)
	h.ask(http.MethodPut, "/api/v1/admin/switches/force_ended", `{"on":true,"reason":"x"}`).problem(403, domain.CodeForbidden)
}

func TestANodeIsReadyWhateverIsSwitchedAndSaysIt(t *testing.T) {
	h := newHouse(t, nil)
	if got := h.ask(http.MethodGet, "/readyz", ""); got.Status != 200 || len(got.json()["switches"].([]any)) != 0 {
		t.Errorf("nothing is switched: got %d %s", got.Status, got.Body)
	}
	h.switches.on = []domain.SwitchName{domain.ForceEnded, domain.PauseNoncore}
	got := h.ask(http.MethodGet, "/readyz", "")
	if list := got.json()["switches"].([]any); got.Status != 200 || len(list) != 2 || list[0] != "force_ended" {
		t.Errorf("two are on: got %d %s", got.Status, got.Body)
	}
}

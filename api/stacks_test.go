package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"seckill/domain"
)

type fakeStacks struct{}

func (fakeStacks) Stacks() StacksView {
	return StacksView{Node: "n1", Goroutines: 3, Groups: []StacksGroup{{WaitsFor: "redis_pool", Goroutines: 3}}}
}

func TestWhatGoroutinesWaitForIsForOperators(t *testing.T) {
	h := newHouse(t, nil)
	h.ask(http.MethodGet, pathStacks, "").problem(403, domain.CodeForbidden)
	h.ask(http.MethodGet, pathStacks, "", "Authorization", "").problem(401, domain.CodeUnauthenticated)
	got := h.ask(http.MethodGet, pathStacks, "", "Authorization", "Bearer "+tokenOf(t, "boss", RoleAdmin))
	var seen StacksView
	if err := json.Unmarshal([]byte(got.Body), &seen); err != nil || got.Status != 200 || len(seen.Groups) != 1 || seen.Groups[0].Goroutines != 3 {
		t.Errorf("got %d %s (%v), want what the node sees", got.Status, got.Body, err)
	}
	if got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %v, want it stored nowhere", got.Header)
	}
}

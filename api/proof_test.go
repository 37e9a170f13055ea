package api

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"seckill/domain"
	"seckill/eventstore/seal"
)

type fakeProver func(buyer, id string) (seal.Proof, error)

func (f fakeProver) Prove(_ context.Context, buyer, id string) (seal.Proof, error) {
	return f(buyer, id)
}

func TestAProofIsGivenToTheOwnerAndRefusedWhileThereIsNoSeal(t *testing.T) {
	answers := map[string]error{
		"mine": nil, "fresh": &domain.Problem{Code: domain.CodeNotReady}, "other": &domain.Problem{Code: domain.CodeOrderNotFound}, "broken": errors.New("x"),
	}
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Prover = fakeProver(func(buyer, id string) (seal.Proof, error) {
			if buyer != "buyer-1" {
				t.Errorf("asked for %s, want the caller", buyer)
			}
			return seal.Proof{OrderID: id, Events: []seal.ProvenEvent{{Position: 7, Path: []string{}}}, Seals: []seal.Wire{}, Keys: []seal.ProofKey{}}, answers[id]
		})
	})
	path := func(id string) string { return "/api/v1/orders/" + id + "/proof" }
	got := h.ask(http.MethodGet, path("mine"), "")
	if got.Status != http.StatusOK || got.json()["order_id"] != "mine" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	fresh := h.ask(http.MethodGet, path("fresh"), "")
	fresh.problem(http.StatusServiceUnavailable, domain.CodeNotReady)
	if fresh.Header.Get("Retry-After") == "" {
		t.Error("a proof that is not ready says nothing of when to ask again")
	}
	h.ask(http.MethodGet, path("other"), "").problem(http.StatusNotFound, domain.CodeOrderNotFound)
	h.ask(http.MethodGet, path("broken"), "").problem(http.StatusInternalServerError, domain.CodeInternal)
	h.ask(http.MethodGet, path("mine"), "", "Authorization", "").problem(http.StatusUnauthorized, domain.CodeUnauthenticated)
}

package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// fakeTickets notes what was asked, and answers as it is told.
type fakeTickets struct {
	mu     sync.Mutex
	asked  commands.TicketRequest
	answer commands.TicketAnswer
	err    error
}

func (f *fakeTickets) Give(_ context.Context, req commands.TicketRequest) (commands.TicketAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = req
	return f.answer, f.err
}

func (f *fakeTickets) Challenge(_ context.Context, req commands.TicketRequest) (commands.PuzzleAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answer.Outcome == domain.NotEligible {
		return commands.PuzzleAnswer{Outcome: domain.NotEligible}, f.err
	}
	puzzle := commands.Puzzle{Algorithm: "SHA-256", Challenge: "c", MaxNumber: 5, Salt: req.Sale + req.Buyer, Signature: "s"}
	return commands.PuzzleAnswer{Outcome: domain.Reserved, Puzzle: puzzle}, f.err
}

const ticketsOf = "/api/v1/sales/" + testSale + "/tickets"

func TestABuyerGetsATicketOrHearsWhyNot(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	expires := time.Date(2026, 11, 11, 0, 2, 0, 0, time.UTC)
	h.tickets.answer = commands.TicketAnswer{Outcome: domain.Reserved, Ticket: "a-ticket", Expires: expires}
	got := h.ask(http.MethodPost, ticketsOf, `{"solution":"abc"}`)
	if got.Status != http.StatusCreated || got.json()["ticket"] != "a-ticket" || got.json()["expires_at"] != "2026-11-11T00:02:00Z" {
		t.Fatalf("got %d %s, want 201 and the ticket", got.Status, got.Body)
	}
	if want := (commands.TicketRequest{Sale: testSale, Buyer: "buyer-1", Tier: "gold", Solution: "abc"}); h.tickets.asked != want {
		t.Errorf("asked %+v, want %+v", h.tickets.asked, want)
	}
	if got := h.ask(http.MethodPost, ticketsOf, ""); got.Status != http.StatusCreated {
		t.Errorf("without a body: got %d %s, want 201", got.Status, got.Body)
	}
	if got := h.ask(http.MethodPost, ticketsOf, "", "Authorization", ""); got.Status != http.StatusUnauthorized {
		t.Errorf("not signed in: got %d, want 401", got.Status)
	}
	for outcome, want := range map[domain.Outcome]struct {
		status int
		code   string
	}{
		domain.SoldOut: {409, "sold_out"}, domain.TooEarly: {425, "too_early"}, domain.Ended: {410, "sale_ended"},
		domain.NotEligible: {403, "not_eligible"}, domain.NotReady: {503, "not_ready"},
	} {
		h.tickets.answer = commands.TicketAnswer{Outcome: outcome, From: expires, Now: expires.Add(-time.Second)}
		got := h.ask(http.MethodPost, ticketsOf, "")
		if got.Status != want.status || got.json()["code"] != want.code {
			t.Errorf("%s: got %d %s, want %d %s", outcome, got.Status, got.Body, want.status, want.code)
		}
		if outcome == domain.TooEarly && (got.json()["opens_at"] != "2026-11-11T00:02:00Z" || got.json()["retry_after_ms"] != 1000.0) {
			t.Errorf("too early: got %s, want when tickets are given out", got.Body)
		}
	}
	h.tickets.err = &domain.Problem{Code: domain.CodeNotFound}
	if got := h.ask(http.MethodPost, ticketsOf, ""); got.Status != http.StatusNotFound {
		t.Errorf("a sale without tickets: got %d, want 404", got.Status)
	}
}

func TestAChallengeIsInTheFormOfALTCHA(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	got := h.ask(http.MethodGet, "/api/v1/sales/"+testSale+"/challenge", "")
	want := `{"algorithm":"SHA-256","challenge":"c","maxnumber":5,"salt":"` + testSale + `buyer-1","signature":"s"}`
	if got.Status != http.StatusOK || strings.TrimSpace(got.Body) != want {
		t.Errorf("got %d %s, want %s", got.Status, got.Body, want)
	}
	if got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got Cache-Control %q, want no-store", got.Header.Get("Cache-Control"))
	}
	h.tickets.answer = commands.TicketAnswer{Outcome: domain.NotEligible}
	if got := h.ask(http.MethodGet, "/api/v1/sales/"+testSale+"/challenge", ""); got.Status != http.StatusForbidden || got.json()["code"] != "not_eligible" {
		t.Errorf("who gets no ticket: got %d %s, want 403 not_eligible", got.Status, got.Body)
	}
}

func TestATicketGoesWithThePurchase(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.buy(`{"sku":"shoe-42","quantity":1}`, "Purchase-Ticket", "a-ticket")
	h.buy(`{"sku":"shoe-42","quantity":1}`)
	asked := h.purchaser.requests()
	if len(asked) != 2 || asked[0].Ticket != "a-ticket" || asked[1].Ticket != "" {
		t.Errorf("got %+v, want the ticket with the first purchase only", asked)
	}
}

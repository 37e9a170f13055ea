package api

import (
	"context"
	"net/http"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// Tickets gives out purchase tickets. Refusals are outcomes; errors a person may
// see are *domain.Problem.
type Tickets interface {
	Give(ctx context.Context, req commands.TicketRequest) (commands.TicketAnswer, error)
	Challenge(ctx context.Context, req commands.TicketRequest) (commands.PuzzleAnswer, error)
}

const (
	pathTickets   = "/api/v1/sales/{sale}/tickets"
	pathChallenge = "/api/v1/sales/{sale}/challenge"
	// headerTicket is the header of a ticket in a purchase.
	headerTicket = "Purchase-Ticket"
)

const ticketDescription = `For a sale that requires tickets: send it as Purchase-Ticket with the purchase. It is good for this buyer and this sale, until
expires_at, and for one purchase that is accepted. Asked again, the same buyer gets the same ticket while it is good and unused.

425 too_early: opens_at is when tickets are given out, ten minutes before the sale opens. 409 sold_out: as many buyers have tickets as the sale
gives out. 404 not_found: the sale needs no ticket. Where this server asks for a proof of work, solution is that of the challenge, in base64, and gives one ticket.`

const challengeDescription = `A proof of work as ALTCHA's clients solve it: the number from 0 to maxnumber for which SHA-256 over salt and its decimal digits is
challenge. It is good for five minutes, for this buyer and this sale. The more buyers ask, the harder they get. 404 not_found: none is asked for.`

// TicketBody is what a buyer may send for a ticket.
type TicketBody struct {
	Solution string `json:"solution,omitempty" maxLength:"4096" doc:"Base64 over the JSON of a solved challenge, as ALTCHA's clients make it"`
}

// TicketView is a ticket.
type TicketView struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expires_at"`
}

// ChallengeView is a puzzle to be solved.
type ChallengeView struct {
	Algorithm string `json:"algorithm" enum:"SHA-256"`
	Challenge string `json:"challenge"`
	MaxNumber int64  `json:"maxnumber"`
	Salt      string `json:"salt"`
	Signature string `json:"signature"`
}

type ticketRequest struct {
	Sale string      `path:"sale"`
	Body *TicketBody `required:"false"`
}

type ticketAnswer struct {
	Body TicketView
}

// giveTicket gives a buyer a ticket.
func (s *Server) giveTicket(ctx context.Context, in *ticketRequest) (*ticketAnswer, error) {
	caller := callOf(ctx).caller
	req := commands.TicketRequest{Sale: in.Sale, Buyer: caller.Buyer, Tier: caller.Tier}
	if in.Body != nil {
		req.Solution = in.Body.Solution
	}
	got, err := s.Tickets.Give(ctx, req)
	if err != nil {
		return nil, err
	}
	if got.Outcome != domain.Reserved {
		return nil, refusalOfOutcome(commands.PurchaseResult{Outcome: got.Outcome, OpensAt: got.From, Now: got.Now})
	}
	return &ticketAnswer{Body: TicketView{Ticket: got.Ticket, ExpiresAt: got.Expires.UTC()}}, nil
}

type challengeRequest struct {
	Sale string `path:"sale"`
}

type challengeAnswer struct {
	Body ChallengeView
}

// challenge gives a buyer a puzzle.
func (s *Server) challenge(ctx context.Context, in *challengeRequest) (*challengeAnswer, error) {
	caller := callOf(ctx).caller
	got, err := s.Tickets.Challenge(ctx, commands.TicketRequest{Sale: in.Sale, Buyer: caller.Buyer, Tier: caller.Tier})
	if err != nil {
		return nil, err
	}
	if got.Outcome != domain.Reserved {
		return nil, refusalOfOutcome(commands.PurchaseResult{Outcome: got.Outcome, OpensAt: got.From, Now: got.Now})
	}
	return &challengeAnswer{Body: ChallengeView(got.Puzzle)}, nil
}

// ticketOf gives the ticket that came with a purchase, "" without one. What is
// none is left for the command to refuse in its order.
func ticketOf(h http.Header) (string, error) {
	values := h[headerTicket]
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", wrong(domain.FieldError{Field: headerTicket, Reason: wantOnce})
}

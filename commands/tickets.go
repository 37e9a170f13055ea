package commands

import (
	"context"
	"fmt"
	"time"

	"seckill/domain"
)

// TicketLook tells whether a gate accepted a purchase with a ticket. Gates offer it.
type TicketLook interface {
	// TicketUsed looks at a sale's record in one bucket and changes nothing.
	TicketUsed(ctx context.Context, place domain.Place, ticket string) (bool, error)
}

// DirectTicketLook is TicketLook for sales that have no gate. Implementation: Direct.
type DirectTicketLook interface {
	TicketUsedBy(ctx context.Context, sale, buyer, ticket string) (bool, error)
}

// TicketAsk asks for the ticket of a buyer.
type TicketAsk struct {
	Sale, Buyer string
	// Opens and Closes are the sale's; First is when the first ticket is given out.
	First, Opens, Closes time.Time
	// Life is how long a ticket is good, counted from the opening or from now.
	Life time.Duration
	// Most bounds the buyers who get tickets; 0: no bound.
	Most int64
	// Used is until when a ticket was good that the buyer has used up: he gets
	// another one. The zero time: none.
	Used time.Time
	// Solution names the solved puzzle that this asks with, "" for none.
	Solution string
}

// TicketGrant is the answer. Outcome is Reserved with Expires, SoldOut where as
// many buyers have tickets as may, TooEarly or Ended.
type TicketGrant struct {
	Outcome domain.Outcome
	Expires time.Time
	// Again: the buyer had this one already.
	Again bool
	// Spent: the solution was for another ticket already, and gives none.
	Spent bool
	Now   time.Time // the clock that decided
	// Begun is when the book was begun, the zero time for one that is empty. A book
	// that was lost and begun again has another time.
	Begun time.Time
}

// BookState is how the book of a sale stands: how many buyers are in it, and when it
// was begun. While Begun stays nobody in it leaves.
type BookState struct {
	Begun  time.Time
	Buyers int64
}

// TicketBook remembers who has a ticket, until when, in one step for all nodes:
// the same buyer gets the same one while it is good, and then a new one in its
// place, which counts no further.
type TicketBook interface {
	Grant(ctx context.Context, ask TicketAsk) (TicketGrant, error)
	Look(ctx context.Context, sale string) (BookState, error)
	// Holders names every buyer who is in the book from before the call until after
	// it, and perhaps others who came into it meanwhile; a buyer may come twice.
	Holders(ctx context.Context, sale string, each func(buyer string)) error
}

// Tickets gives out purchase tickets.
type Tickets struct {
	Env     *Env
	Sales   *Sales
	Members MemberJudge
	Book    TicketBook
	Gate    TicketLook
	// Direct tells the same of sales that have no gate.
	Direct DirectTicketLook
	Guards TicketGuards
	// Budget bounds one question to the book.
	Budget time.Duration
	// Puzzle asks for a solved puzzle before. Nil: none.
	Puzzle *Puzzles
	// Clock tells whether a sale is over. Nil: this node's clock, which is given some
	// seconds of doubt.
	Clock *GateClock

	released releases
	full     fullBooks
}

// TicketRequest asks for a ticket. Buyer and Tier come from the signed token.
type TicketRequest struct {
	Sale, Buyer, Tier string
	// Solution is that of a puzzle as it was sent, "" without one.
	Solution string
}

// TicketAnswer is a ticket, or the outcome for which there is none.
type TicketAnswer struct {
	Outcome domain.Outcome
	Ticket  string
	Expires time.Time
	// From is when tickets are given out, with TooEarly.
	From time.Time
	Now  time.Time
}

// Give gives a buyer a ticket, from ten minutes before the opening until the end.
// A sale that needs none is a *domain.Problem not_found; a puzzle that is not
// solved, or a solution that gave another ticket, invalid_request. A book that is
// away is busy: tickets that are out stay good. Who cannot come into a full book is
// told so without asking any store.
func (t *Tickets) Give(ctx context.Context, req TicketRequest) (TicketAnswer, error) {
	sale, err := t.sale(ctx, req.Sale)
	if err != nil {
		return TicketAnswer{}, err
	}
	if no := t.refuses(sale.Sale, req); no != domain.Reserved {
		return TicketAnswer{Outcome: no}, nil
	}
	ask := askOf(sale.Sale, req.Buyer)
	if t.Puzzle != nil {
		if ask.Solution, err = t.Puzzle.Check(req.Sale, req.Buyer, req.Solution); err != nil {
			return TicketAnswer{}, err
		}
	}
	grant, err := t.grant(ctx, ask)
	if err == nil && grant.Outcome == domain.SoldOut {
		grant, err = t.grantReleased(ctx, sale.Sale, ask, grant)
	}
	if err != nil {
		return TicketAnswer{}, err
	}
	answer, id, err := t.answer(ask, grant)
	if err != nil || !grant.Again || !manyOrders(sale.Sale) {
		return answer, err
	}
	if used, err := t.used(ctx, sale.Sale, req.Buyer, id); err != nil || !used {
		return answer, nil // where the gate cannot say, the one there is
	}
	ask.Used = grant.Expires
	if grant, err = t.grant(ctx, ask); err != nil {
		return TicketAnswer{}, err
	}
	answer, _, err = t.answer(ask, grant)
	return answer, err
}

// used tells whether a purchase was accepted with a buyer's ticket.
func (t *Tickets) used(ctx context.Context, sale domain.Sale, buyer, ticket string) (bool, error) {
	if sale.Gateless() {
		return t.Direct.TicketUsedBy(ctx, sale.ID, buyer, ticket)
	}
	return t.Gate.TicketUsed(ctx, placeOfBuyer(t.Env.Store, sale, buyer), ticket)
}

// refuses gives the outcome for which a buyer gets no ticket of the sale, whatever
// he solves; Reserved for none.
func (t *Tickets) refuses(sale domain.Sale, req TicketRequest) domain.Outcome {
	if t.over(&sale) {
		return domain.Ended
	}
	switch ok, known := mayBuy(&sale, t.Members, req.Buyer, req.Tier); {
	case !known:
		return domain.NotReady
	case !ok:
		return domain.NotEligible
	case t.full.ready().leavesOut(&sale, req.Buyer, t.Env.Now()):
		return domain.SoldOut
	}
	return domain.Reserved
}

// over tells whether a sale has ended beyond doubt, also by a switch. A sale that is
// paused has not: it may go on, and tickets are given out for that.
func (t *Tickets) over(sale *domain.Sale) bool {
	now, doubt := t.Env.Now(), ticketDoubt
	if t.Clock != nil {
		if gate, bound, ok := t.Clock.Now(); ok {
			now, doubt = gate, bound
		}
	}
	state := sale.StateAt(now.Add(-doubt))
	return state == domain.SaleStateEnded || state == domain.SaleStateCleaned
}

// grantReleased asks once more where units were released since the sale was
// scheduled, so that these can be sold.
func (t *Tickets) grantReleased(ctx context.Context, sale domain.Sale, ask TicketAsk, none TicketGrant) (TicketGrant, error) {
	most, err := t.most(ctx, sale)
	if err != nil {
		t.Env.Log.Warn("no ticket given out", "buyer_id", ask.Buyer, "sale_id", sale.ID, "error", err)
		return TicketGrant{}, &domain.Problem{Code: domain.CodeBusy}
	}
	if most > ask.Most {
		ask.Most = most
		if none, err = t.grant(ctx, ask); err != nil {
			return TicketGrant{}, err
		}
	}
	if none.Outcome == domain.SoldOut {
		t.full.want(sale.ID)
	}
	return none, nil
}

// PuzzleAnswer is a puzzle with Reserved, or the outcome for which there is none.
type PuzzleAnswer struct {
	Outcome domain.Outcome
	Puzzle  Puzzle
	// From is when tickets are given out, with TooEarly; Now is this node's clock.
	From, Now time.Time
}

// ticketDoubt is by how much this node's clock may differ from the one that decides:
// so much before tickets are given out their puzzles are.
const ticketDoubt = 10 * time.Second

// Challenge gives a buyer a puzzle to solve for a ticket of a sale; not_found where
// none is asked for. Who gets no ticket gets no puzzle, and makes none harder.
func (t *Tickets) Challenge(ctx context.Context, req TicketRequest) (PuzzleAnswer, error) {
	sale, err := t.sale(ctx, req.Sale)
	if err != nil {
		return PuzzleAnswer{}, err
	}
	if t.Puzzle == nil {
		return PuzzleAnswer{}, &domain.Problem{Code: domain.CodeNotFound}
	}
	answer := PuzzleAnswer{Outcome: t.refuses(sale.Sale, req), From: sale.Terms.OpensAt.Add(-TicketsBefore), Now: t.Env.Now()}
	if answer.Outcome == domain.Reserved && answer.Now.Before(answer.From.Add(-ticketDoubt)) {
		answer.Outcome = domain.TooEarly
	}
	if answer.Outcome == domain.Reserved {
		t.full.ready().suspect(&sale.Sale, answer.Now)
		answer.Puzzle, err = t.Puzzle.New(req.Sale, req.Buyer)
	}
	return answer, err
}

// sale gives a sale that needs tickets.
func (t *Tickets) sale(ctx context.Context, id string) (FoldedSale, error) {
	sale, err := t.Sales.Get(ctx, id)
	if err != nil {
		return FoldedSale{}, err
	}
	if !sale.Cleaned && !sale.Terms.RequireTicket {
		return FoldedSale{}, &domain.Problem{Code: domain.CodeNotFound}
	}
	awaitMembers(ctx, t.Members, &sale.Sale)
	return sale, nil
}

func (t *Tickets) grant(ctx context.Context, ask TicketAsk) (TicketGrant, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Budget)
	defer cancel()
	grant, err := t.Book.Grant(ctx, ask)
	if err != nil {
		t.Env.Log.Warn("no ticket given out", "buyer_id", ask.Buyer, "sale_id", ask.Sale, "error", err)
		return TicketGrant{}, &domain.Problem{Code: domain.CodeBusy}
	}
	t.full.ready().saw(ask.Sale, grant.Begun)
	if grant.Spent {
		return TicketGrant{}, wrongSolution("gave a ticket already: solve a new challenge")
	}
	return grant, nil
}

// answer signs the ticket of a grant, and gives its id too.
func (t *Tickets) answer(ask TicketAsk, g TicketGrant) (TicketAnswer, string, error) {
	answer := TicketAnswer{Outcome: g.Outcome, Expires: g.Expires, Now: g.Now, From: ask.First}
	if g.Outcome != domain.Reserved {
		return answer, "", nil
	}
	var err error
	if answer.Ticket, err = domain.NewTicket(t.Env.Keys, ask.Sale, ask.Buyer, g.Expires); err != nil {
		return TicketAnswer{}, "", err
	}
	id, _, err := domain.ParseTicket(t.Env.Keys, ask.Sale, ask.Buyer, answer.Ticket)
	if err != nil {
		return TicketAnswer{}, "", fmt.Errorf("read the ticket that was signed: %w", err)
	}
	return answer, id, nil
}

func askOf(sale domain.Sale, buyer string) TicketAsk {
	terms := sale.Terms
	return TicketAsk{
		Sale: sale.ID, Buyer: buyer, First: terms.OpensAt.Add(-TicketsBefore), Opens: terms.OpensAt, Closes: terms.ClosesAt,
		Life: TicketLife, Most: terms.MostTickets(),
	}
}

// manyOrders tells whether a buyer may need another ticket after one was used.
func manyOrders(sale domain.Sale) bool { return sale.Terms.OrdersPerBuyer > 1 || sale.Terms.Rebuy }

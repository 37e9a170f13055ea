package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// MemberJudge tells who is on a list; known is false while that cannot be told.
type MemberJudge interface {
	Has(list domain.MemberList, buyer string) (has, known bool)
	// Await waits until a small list that counts for the first time is in memory, for
	// a moment and no longer than ctx: whether it is there says Has.
	Await(ctx context.Context, list domain.MemberList)
}

// awaitMembers lets who comes right after a list changed wait until it is read,
// instead of turning him away.
func awaitMembers(ctx context.Context, members MemberJudge, sale *domain.Sale) {
	if sale.Members != nil && members != nil && !sale.Cleaned && !sale.On(domain.SkipEligibility) {
		members.Await(ctx, *sale.Members)
	}
}

// mayBuy tells whether a sale is for a buyer: of an eligible tier where the sale
// names tiers, and on its list where it has one; who buys there fulfils both.
// known is false while the list is not in memory: then nobody new buys.
func mayBuy(sale *domain.Sale, members MemberJudge, buyer, tier string) (ok, known bool) {
	switch {
	case sale.On(domain.SkipEligibility):
		return true, true
	case !eligible(sale.Terms.EligibleTiers, tier):
		return false, true
	case sale.Members == nil:
		return true, true
	case members == nil:
		return false, false
	}
	has, known := members.Has(*sale.Members, buyer)
	return has && known, known
}

// judgeBuyer fills in what the gate is told of who asks: may he buy, and is his
// ticket good. The gate says so in its place, after the buyer's own orders.
func (p *Purchaser) judgeBuyer(r *Reservation, sale *domain.Sale, req *PurchaseRequest) {
	var known bool
	r.Eligible, known = mayBuy(sale, p.opts.Members, req.Buyer, req.Tier)
	r.Unsure = !known
	if !sale.Terms.RequireTicket {
		return
	}
	if req.Ticket == "" {
		r.TicketFault = domain.TicketRequired
		return
	}
	switch id, expires, err := domain.ParseTicket(p.env.Keys, sale.ID, req.Buyer, req.Ticket); {
	case err != nil || !p.env.Now().Before(expires):
		r.TicketFault = domain.TicketInvalid
	default:
		r.Ticket = id
	}
}

// Times of tickets: how long before the opening the first is given out, and how
// long one is good, from the opening on or from when it was given out.
const (
	TicketsBefore = 10 * time.Minute
	TicketLife    = 2 * time.Minute
)

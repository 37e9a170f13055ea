package commands

import (
	"context"
	"fmt"
	"strings"

	"seckill/domain"
)

// MemberPreparer reads lists of buyers ahead. Implementation: KnownMembers.
type MemberPreparer interface {
	Prepare(ctx context.Context, list domain.MemberList) MemberState
}

// TicketLooker tells how many buyers have tickets of a sale, and how many may (0: any
// number). Implementation: Tickets.
type TicketLooker interface {
	State(ctx context.Context, sale string) (book BookState, most int64, err error)
}

// who lists by what it is judged who may buy, and whether this node can judge it: the
// list in memory, with the count and digest of the log, and the book of tickets there.
func (p *Preheats) who(ctx context.Context, sale domain.Sale, report *PreheatReport) error {
	at := func(what, field string) string { return what + ":" + sale.ID + "/" + field }
	report.Values[at("eligible", "tiers")] = strings.Join(sale.Terms.EligibleTiers, ",")
	if sale.Members != nil && p.Members != nil {
		list := *sale.Members
		seen := p.Members.Prepare(ctx, list)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		report.Values[at("members", "list")] = list.ID
		report.compare(at("members", "count"), fmt.Sprint(list.Count), fmt.Sprint(seen.Count))
		report.compare(at("members", "digest"), list.Digest, seen.Digest)
		loaded := "loaded"
		if seen.Fault != "" {
			loaded = seen.Fault
		}
		report.compare(at("members", "state"), "loaded", loaded)
	}
	if !sale.Terms.RequireTicket || p.Tickets == nil {
		return nil
	}
	book, most, err := p.Tickets.State(ctx, sale.ID)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answers := "answers"
	if err != nil {
		p.Env.Log.Warn("the book of tickets does not answer a preheat", "sale_id", sale.ID, "error", err)
		answers, most = "away", sale.Terms.MostTickets()
	} else {
		report.Values[at("tickets", "given")] = fmt.Sprint(book.Buyers)
	}
	report.compare(at("tickets", "book"), "answers", answers)
	report.Values[at("tickets", "most")] = fmt.Sprint(most)
	return nil
}

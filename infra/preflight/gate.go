package preflight

import (
	"context"
	"fmt"
	"time"
)

// gateHoldsTheSale compares what the gate holds with the log.
func gateHoldsTheSale(ctx context.Context, s *Site) []Row {
	const name, want = "gate.preheat", "everything as the log says"
	if s.Sale != nil && s.Sale.Gateless() {
		return []Row{row(name, OK, "the strategy has no gate", "no gate", "")}
	}
	if s.Preheat == nil {
		return []Row{unseen(name, want, nil)}
	}
	report, err := s.Preheat(ctx)
	if err != nil {
		return []Row{unseen(name, want, err)}
	}
	seen := fmt.Sprintf("%d values, %d of them not what the log says", report.Keys, len(report.Differences))
	if len(report.Differences) > 0 {
		d := report.Differences[0]
		seen += fmt.Sprintf("; the first is %s: %s in the place of %s", d.Key, d.Got, d.Want)
	}
	return []Row{row(name, unless(report.Verified, NoGo), seen, want, "`seckill preheat --sale "+s.SaleID+"`, which lists them all")}
}

// ticketsCanBeHad looks at the book of tickets of a sale that asks for them.
func ticketsCanBeHad(ctx context.Context, s *Site) []Row {
	const book, tokens = "tickets.book", "tickets.tokens"
	if s.Sale == nil {
		return []Row{unseen(book, "answers", nil)}
	}
	t := s.Sale.Terms
	if !t.RequireTicket {
		return []Row{row(book, OK, "the sale asks for no tickets", "none needed", "")}
	}
	most := "as many as ask"
	good := true
	if t.Tokens > 0 {
		most = fmt.Sprintf("%d tickets: %d for a unit", t.MostTickets(), t.Tokens)
		good = t.Tokens > 1
	}
	rows := []Row{row(tokens, unless(good, Warning), most, "more than one for a unit",
		"a ticket of somebody who does not buy keeps a unit unsold for as long as the ticket is good: revise the sale's tokens")}
	if s.Tickets == nil {
		return append(rows, unseen(book, "answers", nil))
	}
	state, err := s.Tickets(ctx)
	if err != nil {
		return append(rows, row(book, NoGo, "does not answer: "+err.Error(), "answers", "nobody gets a ticket without the Redis of limits and caches (SECKILL_CACHE_REDIS_URL): bring it up"))
	}
	seen := "answers; nobody has a ticket yet"
	if !state.Begun.IsZero() {
		seen = fmt.Sprintf("answers; %d buyers since %s", state.Buyers, state.Begun.UTC().Format(time.RFC3339))
	}
	return append(rows, row(book, OK, seen, "answers", ""))
}

package guard

import (
	"context"
	"errors"
	"log/slog"

	"seckill/commands"
)

// Tickets is the book of tickets as buyers' questions reach it. While its Redis
// rests nobody gets a ticket, at once and without waiting; tickets that are out stay
// good, and purchases do not need the book.
type Tickets struct {
	*Breaker
	book commands.TicketBook
}

var _ commands.TicketBook = (*Tickets)(nil)

// NewTickets guards a book.
func NewTickets(book commands.TicketBook, log *slog.Logger) *Tickets {
	return &Tickets{Breaker: newBreaker("tickets", log, ofTickets), book: book}
}

// Grant is commands.TicketBook's.
func (t *Tickets) Grant(ctx context.Context, ask commands.TicketAsk) (commands.TicketGrant, error) {
	return through(t.Breaker, func() (commands.TicketGrant, error) { return t.book.Grant(ctx, ask) })
}

// Look is commands.TicketBook's.
func (t *Tickets) Look(ctx context.Context, sale string) (commands.BookState, error) {
	return through(t.Breaker, func() (commands.BookState, error) { return t.book.Look(ctx, sale) })
}

// Holders is commands.TicketBook's.
func (t *Tickets) Holders(ctx context.Context, sale string, each func(buyer string)) error {
	_, err := through(t.Breaker, func() (struct{}, error) { return struct{}{}, t.book.Holders(ctx, sale, each) })
	return err
}

// ofTickets sorts an error of the book. Who hangs up says nothing about it.
func ofTickets(err error) verdict {
	switch {
	case err == nil:
		return good
	case errors.Is(err, context.Canceled):
		return nothing
	}
	return bad
}

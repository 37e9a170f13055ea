package cli

import (
	"cmp"
	"context"
	"time"

	"seckill/commands"
	"seckill/infra/guard"
	"seckill/infra/members"
	"seckill/infra/obs"
	"seckill/infra/tickets"
)

const (
	// storingMembers is longer than any list may take to be stored.
	storingMembers = 10 * time.Minute
	// ticketBudget bounds one question to the book of tickets.
	ticketBudget = 400 * time.Millisecond
)

// newMembers makes what says who may buy, and what knows it in memory.
func (a *app) newMembers() {
	lists := members.New(a.pool, storingMembers)
	a.members = &commands.Members{Env: a.env, Sales: a.sales, Log: a.sink, Lists: lists}
	a.knownMembers = commands.NewKnownMembers(a.env, a.sales, lists, commands.KnownMembersOptions{Alarm: a.alarm})
}

// newTickets makes what gives out tickets. Its book is in the Redis of limits and
// caches; that it is away keeps nothing from starting.
func (a *app) newTickets() error {
	book, err := tickets.Open(string(cmp.Or(a.settings.CacheRedisURL, a.stores.redis)), a.settings.Namespace)
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) error { return book.Close() })
	a.watchTicketWork = func(ctx context.Context) error {
		return book.WatchWork(ctx, a.env.Node, int64(a.settings.TicketPoW), a.log)
	}
	guarded := guard.NewTickets(book, a.log)
	a.metrics.Breaker("tickets", guarded.State)
	a.metrics.Pool("redis_tickets", func() obs.PoolStats { return redisStats(*book.Stats()) })
	a.tickets = &commands.Tickets{Env: a.env, Sales: a.sales, Members: a.knownMembers, Book: guarded, Gate: a.gate, Direct: a.direct, Guards: a.sink, Budget: ticketBudget, Clock: a.clock}
	if work := a.settings.TicketPoW; work > 0 {
		a.tickets.Puzzle = commands.NewPuzzles(a.env, int64(work))
	}
	return nil
}

package tickets

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/redisconn"
)

//go:embed scripts/grant.lua
var grantLua string

// Book is the book in Redis. It is safe for concurrent use; Close ends it.
type Book struct {
	client    redis.UniversalClient
	script    *redis.Script
	namespace string
}

// poolSize bounds the connections of a book, and patience a call.
const (
	poolSize = 16
	patience = 250 * time.Millisecond
)

// Open opens a book at url, in a form that redisconn reads. The server need not
// answer now: until it does no ticket is given out.
func Open(url, namespace string) (*Book, error) {
	address, err := redisconn.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("the Redis URL of limits and caches %w", err)
	}
	client := address.Open(redisconn.Tuning{
		Dial: time.Second, Read: patience, Write: patience, Pool: patience, Conns: poolSize,
		Again: 1, // asked again, a grant gives the same ticket
	})
	return &Book{client: client, script: redis.NewScript(grantLua), namespace: namespace}, nil
}

// Close closes the connections.
func (b *Book) Close() error { return b.client.Close() }

// solvedFor is for how long a solution is remembered: longer than any is good, by
// clocks that differ.
const solvedFor = 15 * time.Minute

// Grant gives a buyer the ticket he has, or another one: see commands.TicketBook.
func (b *Book) Grant(ctx context.Context, ask commands.TicketAsk) (commands.TicketGrant, error) {
	used := ""
	if !ask.Used.IsZero() {
		used = strconv.FormatInt(ask.Used.UnixMicro(), 10)
	}
	keys := []string{b.key(ask.Sale)}
	if ask.Solution != "" {
		keys = append(keys, b.namespace+":solved:{"+ask.Sale+"}:"+ask.Solution)
	}
	answer, err := b.script.Run(ctx, b.client, keys, ask.Buyer, ask.First.UnixMicro(), ask.Opens.UnixMicro(), ask.Closes.UnixMicro(),
		ask.Life.Microseconds(), ask.Most, used, solvedFor.Milliseconds()).Slice()
	if err != nil {
		return commands.TicketGrant{}, fmt.Errorf("ask the book of tickets of sale %s: %w", ask.Sale, err)
	}
	if len(answer) != 5 {
		return commands.TicketGrant{}, fmt.Errorf("ask the book of tickets of sale %s: %d values in the answer", ask.Sale, len(answer))
	}
	outcome, how := number(answer[0]), number(answer[2])
	return commands.TicketGrant{
		Outcome: domain.Outcome(outcome), Expires: moment(answer[1]), Again: how == 1, Spent: how == 2, Now: moment(answer[3]), Begun: begun(answer[4]),
	}, nil
}

// Look tells how a book stands: see commands.TicketBook.
func (b *Book) Look(ctx context.Context, sale string) (commands.BookState, error) {
	var since *redis.StringCmd
	var fields *redis.IntCmd
	_, err := b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		since, fields = p.HGet(ctx, b.key(sale), beginning), p.HLen(ctx, b.key(sale))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return commands.BookState{}, fmt.Errorf("look at the book of tickets of sale %s: %w", sale, err)
	}
	state := commands.BookState{Buyers: fields.Val(), Begun: begun(since.Val())}
	if since.Val() != "" {
		state.Buyers--
	}
	return state, nil
}

// holdersPage is about how many fields of a book are read at once.
const holdersPage = 1000

// Holders names the buyers in a book: see commands.TicketBook.
func (b *Book) Holders(ctx context.Context, sale string, each func(buyer string)) error {
	for cursor := uint64(0); ; {
		fields, next, err := b.client.HScan(ctx, b.key(sale), cursor, "", holdersPage).Result()
		if err != nil {
			return fmt.Errorf("read the book of tickets of sale %s: %w", sale, err)
		}
		for i := 0; i < len(fields); i += 2 {
			if fields[i] != beginning {
				each(fields[i])
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// Stats shows the connections.
func (b *Book) Stats() *redis.PoolStats { return b.client.PoolStats() }

// beginning is the field that says when a book was begun.
const beginning = " "

func (b *Book) key(sale string) string { return b.namespace + ":tickets:{" + sale + "}" }

// begun is the zero time for a book that nobody has begun.
func begun(v any) time.Time {
	if number(v) == 0 {
		return time.Time{}
	}
	return moment(v)
}

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

func moment(v any) time.Time { return time.UnixMicro(number(v)).UTC() }

package tickets

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"seckill/commands"
	"seckill/domain"
)

//go:embed scripts/grant.lua
var grantLua string

// Book is the book in Redis. It is safe for concurrent use; Close ends it.
type Book struct {
	client    *redis.Client
	script    *redis.Script
	namespace string
}

// poolSize bounds the connections of a book.
const poolSize = 16

// Open opens a book at url (redis://, rediss:// or unix://). The server need not
// answer now: until it does no ticket is given out.
func Open(url, namespace string) (*Book, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		// The text of err may repeat the URL, and with it a password.
		return nil, errors.New("the Redis URL of limits and caches cannot be read: want redis://host:port/db, rediss:// or unix://")
	}
	o.MaxRetries, o.DialerRetries = 1, 1 // asked again, a grant gives the same ticket
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = time.Second, 250*time.Millisecond, 250*time.Millisecond, 250*time.Millisecond
	o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol, o.PoolSize = true, true, 2, poolSize
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &Book{client: redis.NewClient(o), script: redis.NewScript(grantLua), namespace: namespace}, nil
}

// Close closes the connections.
func (b *Book) Close() error { return b.client.Close() }

// Grant gives a buyer the ticket he has, or another one: see commands.TicketBook.
func (b *Book) Grant(ctx context.Context, ask commands.TicketAsk) (commands.TicketGrant, error) {
	used := ""
	if !ask.Used.IsZero() {
		used = strconv.FormatInt(ask.Used.UnixMicro(), 10)
	}
	answer, err := b.script.Run(ctx, b.client, []string{b.namespace + ":tickets:{" + ask.Sale + "}"},
		ask.Buyer, ask.First.UnixMicro(), ask.Opens.UnixMicro(), ask.Closes.UnixMicro(), ask.Life.Microseconds(), ask.Most, used).Slice()
	if err != nil {
		return commands.TicketGrant{}, fmt.Errorf("ask the book of tickets of sale %s: %w", ask.Sale, err)
	}
	if len(answer) != 4 {
		return commands.TicketGrant{}, fmt.Errorf("ask the book of tickets of sale %s: %d values in the answer", ask.Sale, len(answer))
	}
	outcome, again := number(answer[0]), number(answer[2])
	return commands.TicketGrant{
		Outcome: domain.Outcome(outcome), Expires: moment(answer[1]), Again: again == 1, Now: moment(answer[3]),
	}, nil
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

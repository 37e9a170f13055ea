package tickets

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// workEvery is how often a node says which proof of work it asks for.
	workEvery = 15 * time.Second
	// workLive is how old what a node said may be: after it the node is taken to be
	// gone. Clocks of nodes may differ by less.
	workLive = time.Minute
	// workBudget bounds one look.
	workBudget = 2 * time.Second
)

// WatchWork says beside the books, until ctx ends, how many tries this node asks for
// before it gives a ticket (0: none), and warns when another one that is running asks
// for more or fewer: buyers who know take the node that asks for the fewest. It warns
// once of each difference. While that Redis is away nothing is said.
func (b *Book) WatchWork(ctx context.Context, node string, work int64, log *slog.Logger) error {
	tick := time.NewTicker(workEvery)
	defer tick.Stop()
	var warned map[string]int64
	for {
		others, err := b.sayWork(ctx, node, work, time.Now())
		if err == nil && !maps.Equal(others, warned) {
			for _, other := range slices.Sorted(maps.Keys(others)) {
				log.Warn("another node asks for another proof of work for a ticket: set SECKILL_TICKET_POW alike on every node",
					"other_node", other, "here", work, "there", others[other])
			}
			warned = others
		}
		if err != nil && ctx.Err() == nil {
			log.Debug("proofs of work of other nodes not looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sayWork says what this node asks for, and gives what others ask for that are running
// and differ.
func (b *Book) sayWork(ctx context.Context, node string, work int64, now time.Time) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, workBudget)
	defer cancel()
	key := b.namespace + ":ticketwork"
	var said *redis.MapStringStringCmd
	_, err := b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		said = p.HGetAll(ctx, key)
		p.HSet(ctx, key, node, fmt.Sprintf("%d %d", work, now.UnixMilli()))
		p.PExpire(ctx, key, workLive)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compare the proof of work of nodes: %w", err)
	}
	others := map[string]int64{}
	var gone []string
	for other, text := range said.Val() {
		tries, at, _ := strings.Cut(text, " ")
		asked, err := strconv.ParseInt(tries, 10, 64)
		ms, err2 := strconv.ParseInt(at, 10, 64)
		switch {
		case err != nil, err2 != nil, now.Sub(time.UnixMilli(ms)).Abs() > workLive:
			gone = append(gone, other)
		case other != node && asked != work:
			others[other] = asked
		}
	}
	gone = slices.DeleteFunc(gone, func(other string) bool { return other == node })
	if len(gone) > 0 {
		if err := b.client.HDel(ctx, key, gone...).Err(); err != nil {
			return nil, fmt.Errorf("forget nodes that are gone: %w", err)
		}
	}
	return others, nil
}

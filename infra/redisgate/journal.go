package redisgate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// Read gives entries after the cursors: see commands.Journal. On a cluster, or with
// several servers, the lanes of one that does not answer have none; its fault is the
// answer only when no other lane had any.
func (g *Gate) Read(ctx context.Context, after []eventstore.Cursor, max int, wait time.Duration) ([]commands.JournalEntry, error) {
	if len(after) == 0 {
		return nil, nil
	}
	count := 1 + (max-1)/len(after)
	read := g.readBlocking
	if len(g.servers) > 1 || g.servers[0].cluster != nil {
		read = g.readPolling
	}
	streams, err := read(ctx, after, count, time.Now().Add(wait))
	if err != nil {
		return nil, nothing(fmt.Errorf("read the journals of %d lanes: %w", len(after), err))
	}
	return g.topUp(ctx, after, streams, count, max)
}

// waitSlice bounds one blocking read, because a read that waits does not hear
// that its context was cancelled.
const waitSlice = 100 * time.Millisecond

// readBlocking lets one server wait for the first entry of any lane.
func (g *Gate) readBlocking(ctx context.Context, after []eventstore.Cursor, count int, until time.Time) ([]redis.XStream, error) {
	for {
		streams, err := g.readStreams(ctx, &g.servers[0], after, count, min(waitSlice, time.Until(until)))
		switch {
		case err != nil && !errors.Is(err, redis.Nil):
			return nil, err
		case len(streams) > 0:
			return streams, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !time.Now().Before(until):
			return nil, nil
		}
	}
}

// readStreams reads once; block below a millisecond does not wait.
func (g *Gate) readStreams(ctx context.Context, at *server, after []eventstore.Cursor, count int, block time.Duration) ([]redis.XStream, error) {
	names := make([]string, 2*len(after))
	for i, c := range after {
		names[i] = g.keys.journal(c.Lane)
		names[len(after)+i] = streamID(c.Epoch, c.N)
	}
	if block < time.Millisecond {
		block = -1
	}
	return at.blocking.XRead(ctx, &redis.XReadArgs{Streams: names, Count: int64(count), Block: block}).Result()
}

// topUp reads on in lanes that had more than their share while others had none.
func (g *Gate) topUp(ctx context.Context, after []eventstore.Cursor, streams []redis.XStream, count, max int) ([]commands.JournalEntry, error) {
	lanes := make(map[string]int, len(after))
	for _, c := range after {
		lanes[g.keys.journal(c.Lane)] = c.Lane
	}
	var all []commands.JournalEntry
	perLane := make([][]commands.JournalEntry, len(streams))
	total, full := 0, 0
	for i, s := range streams {
		entries, err := journalEntries(lanes[s.Stream], s.Messages)
		if err != nil {
			return nil, err
		}
		perLane[i] = entries
		total += len(entries)
		if len(entries) >= count {
			full++
		}
	}
	for _, entries := range perLane {
		all = append(all, entries...)
		if share := max - total; len(entries) >= count && share >= full {
			last := entries[len(entries)-1]
			more, err := g.ReadLane(ctx, last.Lane, last.ID, share/full)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// ReadLane pages through a lane's journal: see commands.Journal.
func (g *Gate) ReadLane(ctx context.Context, lane int, after domain.EntryID, max int) ([]commands.JournalEntry, error) {
	from := streamID(after.Epoch, after.N+1)
	messages, err := g.at(lane).rest.XRangeN(ctx, g.keys.journal(lane), from, "+", int64(max)).Result()
	if err != nil {
		return nil, nothing(fmt.Errorf("read the journal of lane %d after %s: %w", lane, after, err))
	}
	return journalEntries(lane, messages)
}

// Entry gives one entry: see commands.Journal.
func (g *Gate) Entry(ctx context.Context, lane int, id domain.EntryID) (commands.JournalEntry, bool, error) {
	at := streamID(id.Epoch, id.N)
	messages, err := g.at(lane).rest.XRangeN(ctx, g.keys.journal(lane), at, at, 1).Result()
	if err != nil {
		return commands.JournalEntry{}, false, nothing(fmt.Errorf("read entry %s of lane %d: %w", id, lane, err))
	}
	entries, err := journalEntries(lane, messages)
	if err != nil || len(entries) == 0 {
		return commands.JournalEntry{}, false, err
	}
	return entries[0], true, nil
}

func streamID(epoch, n int64) string {
	return strconv.FormatInt(epoch, 10) + "-" + strconv.FormatInt(n, 10)
}

func journalEntries(lane int, messages []redis.XMessage) ([]commands.JournalEntry, error) {
	entries := make([]commands.JournalEntry, len(messages))
	for i, m := range messages {
		id, err := domain.ParseEntryID(m.ID)
		body, ok := m.Values["b"].(string)
		digest, ok2 := m.Values["d"].(string)
		if err != nil || !ok || !ok2 {
			return nil, fmt.Errorf("read entry %q of lane %d: it has no body or digest", m.ID, lane)
		}
		entries[i] = commands.JournalEntry{Lane: lane, ID: id, Body: body, Digest: digest}
	}
	return entries, nil
}

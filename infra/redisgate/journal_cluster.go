package redisgate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/eventstore"
)

// Streams of different lanes lie in different slots, and one command reads one slot
// only: on a cluster nobody can wait for the first entry of any, and no more on several
// servers. So the lanes are asked again and again, the less often the longer nothing
// comes.
const (
	pollLeast = time.Millisecond
	pollMost  = 20 * time.Millisecond
)

// readPolling asks until an entry has come or the time is over.
func (g *Gate) readPolling(ctx context.Context, after []eventstore.Cursor, count int, until time.Time) ([]redis.XStream, error) {
	for rest := pollLeast; ; rest = min(2*rest, pollMost) {
		streams, err := g.readAll(ctx, after, count)
		left := time.Until(until)
		switch {
		case len(streams) > 0:
			return streams, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case left <= 0:
			return nil, err
		}
		timer := time.NewTimer(min(rest, left))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// readAll reads every lane once, the servers side by side. It gives what came, and the
// faults.
func (g *Gate) readAll(ctx context.Context, after []eventstore.Cursor, count int) ([]redis.XStream, error) {
	parts := make([][]eventstore.Cursor, len(g.servers))
	for _, c := range after {
		home := g.home[c.Lane]
		parts[home] = append(parts[home], c)
	}
	streams, errs := make([][]redis.XStream, len(parts)), make([]error, len(parts))
	var reading sync.WaitGroup
	for i, part := range parts {
		at := &g.servers[i]
		switch {
		case len(part) == 0:
		case at.cluster != nil:
			reading.Go(func() { streams[i], errs[i] = g.readNodes(ctx, at, part, count) })
		default:
			reading.Go(func() {
				if streams[i], errs[i] = g.readStreams(ctx, at, part, count, 0); errors.Is(errs[i], redis.Nil) {
					errs[i] = nil
				}
			})
		}
	}
	reading.Wait()
	return slices.Concat(streams...), errors.Join(errs...)
}

// readNodes reads lanes of a cluster once, those of each master in one round trip and
// the masters side by side. It gives what came, and the first fault.
func (g *Gate) readNodes(ctx context.Context, at *server, after []eventstore.Cursor, count int) (streams []redis.XStream, err error) {
	pipe := at.blocking.Pipeline()
	reads := make([]*redis.XStreamSliceCmd, len(after))
	for i, c := range after {
		reads[i] = pipe.XRead(ctx, &redis.XReadArgs{
			Streams: []string{g.keys.journal(c.Lane), streamID(c.Epoch, c.N)}, Count: int64(count), Block: -1,
		})
	}
	_, _ = pipe.Exec(ctx) // each read has its own error
	for _, read := range reads {
		some, failed := read.Result()
		streams = append(streams, some...)
		if err == nil && failed != nil && !errors.Is(failed, redis.Nil) {
			err = failed
		}
	}
	return streams, err
}

package pgstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const (
	takeLogLock = `select pg_advisory_xact_lock($1)`

	// The newest event stands at $1 or behind it; without the bound every
	// partition of a long log would be opened to look for it.
	selectHead = `
select clock_timestamp(), coalesce(e.position, 0), coalesce(e.hash, ''), coalesce(e.recorded_at, 'epoch'),
       (select coalesce(max(next_position), 1) from event_partitions)
from (values (1)) one left join lateral (
  select position, hash, recorded_at from events where position >= $1 order by position desc limit 1) e on true`

	selectStream = `select $1::text, version, type, hash from streams where stream = $1::text order by version desc limit 1`

	// A LIMIT or OFFSET inside keeps the planner at one index probe per key.
	selectStreams = `
select n.name, s.version, s.type, s.hash from unnest($1::text[]) n(name), lateral (
  select version, type, hash from streams where stream = n.name order by version desc limit 1) s`

	selectGuards = `
select n.name, g.version, g.released, g.reserved, g.returned, g.overdraft from unnest($1::text[]) n(name), lateral (
  select version, released, reserved, returned, overdraft from guards where stream = n.name order by version desc limit 1) g`

	selectClaims = `
select n.sale_id, n.buyer_id, c.ordinal, c.order_id, c.quantity, c.live, c.key, c.body_hash
from unnest($1::text[], $2::text[]) n(sale_id, buyer_id), lateral (
  select ordinal, order_id, quantity, live, key, body_hash from claims
  where sale_id = n.sale_id and buyer_id = n.buyer_id order by ordinal offset 0) c
order by n.sale_id, n.buyer_id, c.ordinal`

	selectCursors = `
select n.lane, c.epoch, c.n, c.digest from unnest($1::integer[]) n(lane), lateral (
  select epoch, n, digest from cursors where lane = n.lane order by epoch desc, n desc limit 1) c`

	selectIDs = `select event_id, stream, version from events where event_id = any($1::uuid[])`

	selectSpan = `
select position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash
from events where stream = $1 and version between $2 and $3 order by version`
)

// queryer sends a batch of statements in one round trip.
type queryer interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// lockAndRead begins a transaction, takes the log lock and reads the head and
// all that f has room for. Each statement sees what was committed before it
// ran, so what comes after the lock sees everything before it. Seen is a
// position where an event stood once, or 0.
func lockAndRead(ctx context.Context, conn queryer, lockKey, seen int64, f *facts) error {
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue(takeLogLock, lockKey)
	queueHead(b, seen, &f.head)
	queueStreams(b, slices.Collect(maps.Keys(f.streams)), f.streams)
	queueGuards(b, slices.Collect(maps.Keys(f.guards)), f.guards)
	queueClaims(b, slices.Collect(maps.Keys(f.claims)), f.claims)
	queueCursors(b, slices.Collect(maps.Keys(f.cursors)), f.cursors)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("lock and read: %w", err)
	}
	if f.head.mark.Number >= seen {
		return nil
	}
	again := &pgx.Batch{} // the log went back: a backup was restored
	queueHead(again, 0, &f.head)
	if err := conn.SendBatch(ctx, again).Close(); err != nil {
		return fmt.Errorf("read the head: %w", err)
	}
	return nil
}

// answer reads what a plan had to guess into f, and tells whether any guess was
// wrong, so that the plan must be made again.
func answer(ctx context.Context, conn queryer, f *facts, q questions) (wrong bool, err error) {
	streams := map[string]eventstore.StreamState{}
	cursors := map[int]eventstore.Cursor{}
	b := &pgx.Batch{}
	queueStreams(b, slices.Collect(maps.Keys(q.streams)), streams)
	queueCursors(b, slices.Collect(maps.Keys(q.lanes)), cursors)
	ids := map[uuid.UUID]place{}
	queueIDs(b, slices.Collect(maps.Keys(q.ids)), ids)
	spans := map[span][]eventstore.Record{}
	for s := range q.spans {
		b.Queue(selectSpan, s.stream, s.version, s.version+int64(s.count)-1).Query(func(rows pgx.Rows) error {
			records, err := collectRecords(rows)
			if len(records) > 0 {
				spans[s] = records
			}
			return err
		})
	}
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return false, fmt.Errorf("read what the works touch: %w", err)
	}
	learn(f.streams, streams, q.streams)
	learn(f.ids, ids, q.ids)
	learn(f.spans, spans, q.spans)
	for lane := range q.lanes {
		f.cursors[lane] = eventstore.Cursor{Lane: lane}
	}
	maps.Copy(f.cursors, cursors)
	return len(streams)+len(cursors)+len(ids)+len(spans) > 0, nil
}

// learn adds what was found, and remembers what was not.
func learn[K comparable, V any](known, found map[K]V, asked map[K]bool) {
	for k := range asked {
		known[k] = found[k]
	}
}

func queueHead(b *pgx.Batch, seen int64, h *head) {
	b.Queue(selectHead, seen).QueryRow(func(row pgx.Row) error {
		var now, last time.Time
		var hash []byte
		if err := row.Scan(&now, &h.mark.Number, &hash, &last, &h.partitionsEnd); err != nil {
			return err
		}
		copy(h.mark.Hash[:], hash)
		if last.After(now) {
			now = last
		}
		h.now = now.UTC()
		return nil
	})
}

func queueStreams(b *pgx.Batch, names []string, into map[string]eventstore.StreamState) {
	if len(names) == 0 {
		return
	}
	sql, wanted := selectStreams, any(names)
	if len(names) == 1 {
		sql, wanted = selectStream, names[0]
	}
	b.Queue(sql, wanted).Query(func(rows pgx.Rows) error {
		var name string
		var hash []byte
		var state eventstore.StreamState
		_, err := pgx.ForEachRow(rows, []any{&name, &state.Version, &state.Type, &hash}, func() error {
			copy(state.Hash[:], hash)
			into[name] = state
			return nil
		})
		return err
	})
}

func queueGuards(b *pgx.Batch, names []string, into map[string]eventstore.Guard) {
	if len(names) == 0 {
		return
	}
	b.Queue(selectGuards, names).Query(func(rows pgx.Rows) error {
		var g eventstore.Guard
		_, err := pgx.ForEachRow(rows, []any{&g.Stream, &g.Version, &g.Released, &g.Reserved, &g.Returned, &g.Overdraft}, func() error {
			into[g.Stream] = g
			return nil
		})
		return err
	})
}

func queueClaims(b *pgx.Batch, keys []eventstore.ClaimKey, into map[eventstore.ClaimKey][]eventstore.Claim) {
	if len(keys) == 0 {
		return
	}
	sales, buyers := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		sales[i], buyers[i] = k.SaleID, k.BuyerID
	}
	b.Queue(selectClaims, sales, buyers).Query(func(rows pgx.Rows) error {
		claims, err := collectClaims(rows)
		for _, c := range claims {
			key := eventstore.ClaimKey{SaleID: c.SaleID, BuyerID: c.BuyerID}
			into[key] = append(into[key], c)
		}
		return err
	})
}

func queueCursors(b *pgx.Batch, lanes []int, into map[int]eventstore.Cursor) {
	if len(lanes) == 0 {
		return
	}
	b.Queue(selectCursors, lanes).Query(func(rows pgx.Rows) error {
		var c eventstore.Cursor
		_, err := pgx.ForEachRow(rows, []any{&c.Lane, &c.Epoch, &c.N, &c.Digest}, func() error {
			into[c.Lane] = c
			return nil
		})
		return err
	})
}

func queueIDs(b *pgx.Batch, ids []uuid.UUID, into map[uuid.UUID]place) {
	if len(ids) == 0 {
		return
	}
	b.Queue(selectIDs, uuids(ids)).Query(func(rows pgx.Rows) error {
		var id [16]byte
		var at place
		_, err := pgx.ForEachRow(rows, []any{&id, &at.stream, &at.version}, func() error {
			into[id] = at
			return nil
		})
		return err
	})
}

func uuids(ids []uuid.UUID) [][16]byte {
	raw := make([][16]byte, len(ids))
	for i, id := range ids {
		raw[i] = id
	}
	return raw
}

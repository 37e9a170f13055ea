package pgstore

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const (
	// One event is the whole of most small batches: without arrays, and in one
	// statement with its stream, it costs the server half.
	insertEvent = `
with event as (
  insert into events (position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12))
insert into streams (stream, version, type, hash) values ($3, $4, $5, $12)`

	insertEvents = `
insert into events (position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash)
select n.position, n.event_id, n.stream, n.version, n.type, n.schema, n.sale_id, n.order_id, $9, n.payload, n.metadata, n.hash
from unnest($1::bigint[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::integer[], $7::text[], $8::text[],
            $10::bytea[], $11::bytea[], $12::bytea[])
  n(position, event_id, stream, version, type, schema, sale_id, order_id, payload, metadata, hash)`

	insertStreams = `
insert into streams (stream, version, type, hash)
select n.stream, n.version, n.type, n.hash from unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[]) n(stream, version, type, hash)`

	// A guard meets its own version only when it changes without its stream.
	insertGuards = `
insert into guards (stream, version, released, reserved, returned, overdraft)
select n.stream, n.version, n.released, n.reserved, n.returned, n.overdraft
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
  n(stream, version, released, reserved, returned, overdraft)
on conflict (stream, version) do update
set released = excluded.released, reserved = excluded.reserved, returned = excluded.returned, overdraft = excluded.overdraft`

	// The newest guard is the one with the highest version: one that is beyond its
	// stream, which only a hand can write, would hide every later one.
	deleteGuardsBeyond = `
delete from guards g using unnest($1::text[], $2::bigint[]) n(stream, version)
where g.stream = n.stream and g.version > n.version`

	upsertClaims = `
insert into claims (sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash)
select n.sale_id, n.buyer_id, n.ordinal, n.order_id, n.quantity, n.live, n.key, n.body_hash
from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::bigint[], $6::boolean[], $7::text[], $8::text[])
  n(sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash)
on conflict (sale_id, buyer_id, ordinal) do update
set order_id = excluded.order_id, quantity = excluded.quantity, live = excluded.live,
    key = excluded.key, body_hash = excluded.body_hash`

	insertClaims = `
insert into claims (sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash)
select n.sale_id, n.buyer_id, n.ordinal, n.order_id, n.quantity, n.live, n.key, n.body_hash
from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::bigint[], $6::boolean[], $7::text[], $8::text[])
  n(sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash)`

	deleteClaims = `
delete from claims c using unnest($1::text[], $2::text[], $3::integer[]) n(sale_id, buyer_id, ordinal)
where c.sale_id = n.sale_id and c.buyer_id = n.buyer_id and c.ordinal = n.ordinal`

	insertCursors = `
insert into cursors (lane, epoch, n, digest)
select n.lane, n.epoch, n.n, n.digest from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::text[]) n(lane, epoch, n, digest)
on conflict (lane, epoch, n) do update set digest = excluded.digest`
)

// column gives one column of the rows.
func column[R, C any](rows []R, get func(*R) C) []C {
	out := make([]C, len(rows))
	for i := range rows {
		out[i] = get(&rows[i])
	}
	return out
}

// queueEvent adds the row of an event and that of its stream.
func queueEvent(b *pgx.Batch, r *eventstore.Record) {
	b.Queue(insertEvent, r.Position, [16]byte(r.ID), r.Stream, r.Version, r.Type, int32(r.Schema),
		r.SaleID, r.OrderID, r.RecordedAt, r.Payload, r.Metadata, r.Hash[:])
}

func queueEvents(b *pgx.Batch, p *plan) {
	if len(p.records) == 0 {
		return
	}
	type record = eventstore.Record
	rows := p.records
	b.Queue(insertEvents,
		column(rows, func(r *record) int64 { return r.Position }),
		column(rows, func(r *record) [16]byte { return r.ID }),
		column(rows, func(r *record) string { return r.Stream }),
		column(rows, func(r *record) int64 { return r.Version }),
		column(rows, func(r *record) string { return r.Type }),
		column(rows, func(r *record) int32 { return int32(r.Schema) }),
		column(rows, func(r *record) string { return r.SaleID }),
		column(rows, func(r *record) string { return r.OrderID }),
		p.facts.head.now,
		column(rows, func(r *record) []byte { return r.Payload }),
		column(rows, func(r *record) []byte { return r.Metadata }),
		column(rows, func(r *record) []byte { return r.Hash[:] }))
}

func queueNewStreams(b *pgx.Batch, names []string, streams map[string]eventstore.StreamState) {
	if len(names) == 0 {
		return
	}
	b.Queue(insertStreams, names,
		column(names, func(n *string) int64 { return streams[*n].Version }),
		column(names, func(n *string) string { return streams[*n].Type }),
		column(names, func(n *string) []byte { h := streams[*n].Hash; return h[:] }))
}

func queueNewGuards(b *pgx.Batch, p *plan) {
	if len(p.guards) == 0 {
		return
	}
	type guard = eventstore.Guard
	rows := slices.Collect(maps.Values(p.guards))
	var beyond []guard
	for _, g := range rows {
		if p.facts.guards[g.Stream].Version > g.Version {
			beyond = append(beyond, g)
		}
	}
	if len(beyond) > 0 {
		b.Queue(deleteGuardsBeyond,
			column(beyond, func(g *guard) string { return g.Stream }),
			column(beyond, func(g *guard) int64 { return g.Version }))
	}
	b.Queue(insertGuards,
		column(rows, func(g *guard) string { return g.Stream }),
		column(rows, func(g *guard) int64 { return g.Version }),
		column(rows, func(g *guard) int64 { return g.Released }),
		column(rows, func(g *guard) int64 { return g.Reserved }),
		column(rows, func(g *guard) int64 { return g.Returned }),
		column(rows, func(g *guard) int64 { return g.Overdraft }))
}

func queueGoneClaims(b *pgx.Batch, gone []eventstore.Claim) {
	if len(gone) == 0 {
		return
	}
	type claim = eventstore.Claim
	b.Queue(deleteClaims,
		column(gone, func(c *claim) string { return c.SaleID }),
		column(gone, func(c *claim) string { return c.BuyerID }),
		column(gone, func(c *claim) int64 { return int64(c.Ordinal) }))
}

func queueClaimRows(b *pgx.Batch, sql string, rows []eventstore.Claim) {
	if len(rows) == 0 {
		return
	}
	type claim = eventstore.Claim
	b.Queue(sql,
		column(rows, func(c *claim) string { return c.SaleID }),
		column(rows, func(c *claim) string { return c.BuyerID }),
		column(rows, func(c *claim) int64 { return int64(c.Ordinal) }),
		column(rows, func(c *claim) string { return c.OrderID }),
		column(rows, func(c *claim) int64 { return c.Quantity }),
		column(rows, func(c *claim) bool { return c.Live }),
		column(rows, func(c *claim) string { return c.Key }),
		column(rows, func(c *claim) string { return c.BodyHash }))
}

func queueNewCursors(b *pgx.Batch, cursors map[int]eventstore.Cursor) {
	if len(cursors) == 0 {
		return
	}
	type cursor = eventstore.Cursor
	rows := slices.Collect(maps.Values(cursors))
	b.Queue(insertCursors,
		column(rows, func(c *cursor) int64 { return int64(c.Lane) }),
		column(rows, func(c *cursor) int64 { return c.Epoch }),
		column(rows, func(c *cursor) int64 { return c.N }),
		column(rows, func(c *cursor) string { return c.Digest }))
}

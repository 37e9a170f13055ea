package pgstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const (
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
insert into guards (stream, version, released, reserved, returned)
select n.stream, n.version, n.released, n.reserved, n.returned
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) n(stream, version, released, reserved, returned)
on conflict (stream, version) do update
set released = excluded.released, reserved = excluded.reserved, returned = excluded.returned`

	upsertClaims = `
insert into claims (sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash)
select n.sale_id, n.buyer_id, n.ordinal, n.order_id, n.quantity, n.live, n.key, n.body_hash
from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::bigint[], $6::boolean[], $7::text[], $8::text[])
  n(sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash)
on conflict (sale_id, buyer_id, ordinal) do update
set order_id = excluded.order_id, quantity = excluded.quantity, live = excluded.live,
    key = excluded.key, body_hash = excluded.body_hash`

	insertCursors = `
insert into cursors (lane, epoch, n, digest)
select n.lane, n.epoch, n.n, n.digest from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::text[]) n(lane, epoch, n, digest)
on conflict (lane, epoch, n) do update set digest = excluded.digest`

	selectTransaction = `select pg_current_xact_id()::text`
)

// write sends the whole plan, each table once, in one round trip. It gives the
// id of the transaction, by which its fate can be asked later.
func write(ctx context.Context, conn queryer, p *plan) (transaction string, err error) {
	b := &pgx.Batch{}
	b.Queue(selectTransaction).QueryRow(func(row pgx.Row) error { return row.Scan(&transaction) })
	queueEvents(b, p)
	queueNewStreams(b, p.streams)
	queueNewGuards(b, p.guards)
	queueNewClaims(b, p.claims)
	queueNewCursors(b, p.cursors)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return "", fmt.Errorf("write batch of %d events: %w", len(p.records), err)
	}
	return transaction, nil
}

// column gives one column of the rows.
func column[R, C any](rows []R, get func(*R) C) []C {
	out := make([]C, len(rows))
	for i := range rows {
		out[i] = get(&rows[i])
	}
	return out
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

func queueNewStreams(b *pgx.Batch, streams map[string]eventstore.StreamState) {
	if len(streams) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(streams))
	b.Queue(insertStreams, names,
		column(names, func(n *string) int64 { return streams[*n].Version }),
		column(names, func(n *string) string { return streams[*n].Type }),
		column(names, func(n *string) []byte { h := streams[*n].Hash; return h[:] }))
}

func queueNewGuards(b *pgx.Batch, guards map[string]eventstore.Guard) {
	if len(guards) == 0 {
		return
	}
	type guard = eventstore.Guard
	rows := slices.Collect(maps.Values(guards))
	b.Queue(insertGuards,
		column(rows, func(g *guard) string { return g.Stream }),
		column(rows, func(g *guard) int64 { return g.Version }),
		column(rows, func(g *guard) int64 { return g.Released }),
		column(rows, func(g *guard) int64 { return g.Reserved }),
		column(rows, func(g *guard) int64 { return g.Returned }))
}

func queueNewClaims(b *pgx.Batch, claims map[claimID]eventstore.Claim) {
	if len(claims) == 0 {
		return
	}
	type claim = eventstore.Claim
	rows := slices.Collect(maps.Values(claims))
	b.Queue(upsertClaims,
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

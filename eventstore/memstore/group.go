package memstore

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// check refuses what a database of text and constraints could not keep.
func (d *data) check(g *eventstore.Group) error {
	refused := func(format string, args ...any) error {
		return fmt.Errorf(format+": %w", append(args, eventstore.ErrData)...)
	}
	for _, a := range g.Appends {
		for i := range a.Events {
			e := &a.Events[i]
			if e.Schema < 1 || e.Schema > math.MaxInt32 {
				return refused("append %s to %s: schema %d", e.Type, a.Stream, e.Schema)
			}
			if a.Stream == "" || e.Type == "" || !storable(a.Stream, e.Type, e.SaleID, e.OrderID) {
				return refused("append %q to %q: a name that cannot be stored", e.Type, a.Stream)
			}
		}
	}
	for _, guard := range g.Guards {
		if guard.Overdraft < 0 || guard.Left() < -guard.Overdraft {
			return refused("guard of %s: %d left, overdraft %d", guard.Stream, guard.Left(), guard.Overdraft)
		}
	}
	for _, c := range g.Claims {
		if c.Ordinal < 1 || c.Quantity < 0 || !storable(c.SaleID, c.BuyerID, c.OrderID, c.Key, c.BodyHash) {
			return refused("claim %d of buyer %q in sale %q", c.Ordinal, c.BuyerID, c.SaleID)
		}
	}
	for _, c := range g.Cursors {
		now := d.cursor(c.Lane)
		if c.Lane < 0 || c.N < 0 || c.Epoch < now.Epoch || c.Epoch == now.Epoch && c.N < now.N {
			return refused("move cursor of lane %d from %d-%d to %d-%d", c.Lane, now.Epoch, now.N, c.Epoch, c.N)
		}
	}
	return nil
}

func storable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) })
}

// Version is eventstore.Held's, as are Place and Span.
func (d *data) Version(stream string) int64 { return int64(len(d.streams[stream])) }

func (d *data) Place(event uuid.UUID) (stream string, version int64) {
	at := d.ids[event]
	return at.stream, at.version
}

func (d *data) Span(stream string, from int64, count int) []eventstore.Record {
	at := d.streams[stream]
	if from+int64(count)-1 > int64(len(at)) {
		return nil
	}
	var found []eventstore.Record
	for _, i := range at[from-1 : from-1+int64(count)] {
		found = append(found, d.records[i])
	}
	return found
}

// accept takes a group over: positions, versions, hashes.
func (d *data) accept(g *eventstore.Group, now time.Time) []eventstore.Record {
	before := len(d.records)
	for _, a := range g.Appends {
		for i := range a.Events {
			d.add(a.Stream, &a.Events[i], now)
		}
	}
	for _, guard := range g.Guards {
		guard.Version = d.state(guard.Stream).Version
		d.guards[guard.Stream] = guard
	}
	for _, claim := range g.Claims {
		key := eventstore.ClaimKey{SaleID: claim.SaleID, BuyerID: claim.BuyerID}
		d.claims[key] = eventstore.WithClaim(d.claims[key], claim)
	}
	d.putCursors(g.Cursors)
	return slices.Clone(d.records[before:])
}

func (d *data) putCursors(cursors []eventstore.Cursor) {
	for _, cursor := range cursors {
		d.cursors[cursor.Lane] = cursor
	}
}

func (d *data) add(stream string, e *eventstore.NewEvent, now time.Time) {
	last := d.head()
	r := eventstore.Record{
		Position: last.Number + 1, ID: e.ID, Stream: stream, Version: d.state(stream).Version + 1,
		Type: e.Type, Schema: e.Schema, SaleID: e.SaleID, OrderID: e.OrderID, RecordedAt: now,
		Payload: append([]byte{}, e.Payload...), Metadata: append([]byte{}, e.Metadata...),
	}
	r.Hash = eventstore.ComputeHash(last.Hash, &r)
	d.put(r)
}

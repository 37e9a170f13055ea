package gatetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// both asks two gates the same and fails the test where their answers differ in
// anything but time. It answers with the first one's.
type both struct {
	tb   testing.TB
	a, b Ports
	// serverB is the second gate's name for the server that the first calls serverA.
	serverA, serverB string
}

// agree compares what two gates made of one question.
func agree[T any](o *both, what string, a, b T, errs [2]error) (T, error) {
	o.tb.Helper()
	if (errs[0] == nil) != (errs[1] == nil) || commands.IsUnknown(errs[0]) != commands.IsUnknown(errs[1]) {
		o.tb.Fatalf("%s: one gate fails: %v and %v", what, errs[0], errs[1])
	}
	if !reflect.DeepEqual(timeless(o.tb, a), timeless(o.tb, b)) {
		o.tb.Fatalf("%s: the gates disagree:\n%+v\n%+v", what, a, b)
	}
	return a, errs[0]
}

// timeless takes away what two gates may differ in: the clock, the name of the
// server, and digests, because entries hold a time.
func timeless(tb testing.TB, v any) any {
	tb.Helper()
	switch v := v.(type) {
	case commands.Verdict:
		v.Now = time.Time{}
		return v
	case commands.GateOrder:
		v.OpenFor = 0
		return v
	case commands.LaneState:
		if v.OpenedAt.IsZero() == v.Open {
			tb.Fatalf("a lane must say when it was opened exactly while it is open: %+v", v)
		}
		v.Server, v.Digest, v.Cut.Digest, v.Now, v.OpenedAt = "", "", "", time.Time{}, time.Time{}
		return v
	case commands.Peeked:
		v.Lane = timeless(tb, v.Lane).(commands.LaneState)
		return v
	case commands.Inspection:
		v.Lane = timeless(tb, v.Lane).(commands.LaneState)
		return v
	case commands.JournalEntry:
		body, err := commands.DecodeEntry(v.Body)
		if err != nil {
			return v
		}
		body.At = 0
		return []any{v.Lane, v.ID, body}
	case []commands.JournalEntry:
		all := []any{}
		for _, e := range v {
			all = append(all, timeless(tb, e))
		}
		return all
	}
	return v
}

func (o *both) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	a, err1 := o.a.Reserve(ctx, r)
	b, err2 := o.b.Reserve(ctx, r)
	return agree(o, "reserve", a, b, [2]error{err1, err2})
}

// SoldOut says so where one of the two says so.
func (o *both) SoldOut(ctx context.Context, r commands.Reservation) (commands.Shortage, error) {
	a, err1 := o.a.SoldOut(ctx, r)
	b, err2 := o.b.SoldOut(ctx, r)
	if b.Sold {
		a = b
	}
	return a, errors.Join(err1, err2)
}

func (o *both) Time(ctx context.Context) (time.Time, error) { return o.a.Time(ctx) }

func (o *both) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (commands.Resolution, error) {
	a, err1 := o.a.Resolve(ctx, ref, buyer)
	b, err2 := o.b.Resolve(ctx, ref, buyer)
	return agree(o, "resolve", a, b, [2]error{err1, err2})
}

func (o *both) Order(ctx context.Context, ref domain.OrderRef) (commands.GateOrder, error) {
	a, err1 := o.a.Order(ctx, ref)
	b, err2 := o.b.Order(ctx, ref)
	return agree(o, "order", a, b, [2]error{err1, err2})
}

func (o *both) Read(ctx context.Context, after []eventstore.Cursor, max int, wait time.Duration) ([]commands.JournalEntry, error) {
	a, err1 := o.a.Read(ctx, after, max, wait)
	b, err2 := o.b.Read(ctx, after, max, wait)
	return agree(o, "read", a, b, [2]error{err1, err2})
}

func (o *both) ReadLane(ctx context.Context, lane int, after domain.EntryID, max int) ([]commands.JournalEntry, error) {
	a, err1 := o.a.ReadLane(ctx, lane, after, max)
	b, err2 := o.b.ReadLane(ctx, lane, after, max)
	return agree(o, "read lane", a, b, [2]error{err1, err2})
}

func (o *both) Entry(ctx context.Context, lane int, id domain.EntryID) (commands.JournalEntry, bool, error) {
	a, ok1, err1 := o.a.Entry(ctx, lane, id)
	b, ok2, err2 := o.b.Entry(ctx, lane, id)
	if ok1 != ok2 {
		o.tb.Fatalf("entry %s: one gate has it, the other has not", id)
	}
	a, err := agree(o, "entry", a, b, [2]error{err1, err2})
	return a, ok1, err
}

func (o *both) ApplyStock(ctx context.Context, p commands.StockPage) (commands.Applied, error) {
	a, err1 := o.a.ApplyStock(ctx, p)
	b, err2 := o.b.ApplyStock(ctx, p)
	return agree(o, "apply stock", a, b, [2]error{err1, err2})
}

func (o *both) ApplySale(ctx context.Context, p commands.SalePage) (commands.Applied, error) {
	a, err1 := o.a.ApplySale(ctx, p)
	b, err2 := o.b.ApplySale(ctx, p)
	return agree(o, "apply sale", a, b, [2]error{err1, err2})
}

func (o *both) Lane(ctx context.Context, lane int) (commands.LaneState, error) {
	a, err1 := o.a.Lane(ctx, lane)
	b, err2 := o.b.Lane(ctx, lane)
	o.serverA, o.serverB = a.Server, b.Server
	return agree(o, "lane", a, b, [2]error{err1, err2})
}

func (o *both) CloseLane(ctx context.Context, lane int, epoch int64) (commands.LaneState, error) {
	a, err1 := o.a.CloseLane(ctx, lane, epoch)
	b, err2 := o.b.CloseLane(ctx, lane, epoch)
	o.serverA, o.serverB = a.Server, b.Server
	return agree(o, "close lane", a, b, [2]error{err1, err2})
}

func (o *both) OpenLane(ctx context.Context, lane int, epoch int64, server string) (bool, error) {
	a, err1 := o.a.OpenLane(ctx, lane, epoch, server)
	if server == o.serverA {
		server = o.serverB
	}
	b, err2 := o.b.OpenLane(ctx, lane, epoch, server)
	return agree(o, "open lane", a, b, [2]error{err1, err2})
}

func (o *both) Peek(ctx context.Context, place domain.Place, skus []string) (commands.Peeked, error) {
	a, err1 := o.a.Peek(ctx, place, skus)
	b, err2 := o.b.Peek(ctx, place, skus)
	return agree(o, "peek", a, b, [2]error{err1, err2})
}

func (o *both) Stubs(ctx context.Context, place domain.Place, skus, reset []string, epoch int64) (bool, error) {
	a, err1 := o.a.Stubs(ctx, place, skus, reset, epoch)
	b, err2 := o.b.Stubs(ctx, place, skus, reset, epoch)
	return agree(o, "stubs", a, b, [2]error{err1, err2})
}

func (o *both) OpenHashes(ctx context.Context, place domain.Place, marks commands.HashMarks, epoch int64) (bool, error) {
	a, err1 := o.a.OpenHashes(ctx, place, marks, epoch)
	b, err2 := o.b.OpenHashes(ctx, place, marks, epoch)
	return agree(o, "open hashes", a, b, [2]error{err1, err2})
}

func (o *both) NewSale(ctx context.Context, place domain.Place, skus []string, epoch int64, token string) (commands.PreheatStart, error) {
	a, err1 := o.a.NewSale(ctx, place, skus, epoch, token)
	b, err2 := o.b.NewSale(ctx, place, skus, epoch, token)
	return agree(o, "new sale", a, b, [2]error{err1, err2})
}

func (o *both) ResetStock(ctx context.Context, place domain.Place, sku string, epoch int64, token string) (commands.PreheatStart, error) {
	a, err1 := o.a.ResetStock(ctx, place, sku, epoch, token)
	b, err2 := o.b.ResetStock(ctx, place, sku, epoch, token)
	return agree(o, "reset stock", a, b, [2]error{err1, err2})
}

func (o *both) OpenPreheated(ctx context.Context, place domain.Place, marks commands.HashMarks, epoch int64, token string) (bool, error) {
	a, err1 := o.a.OpenPreheated(ctx, place, marks, epoch, token)
	b, err2 := o.b.OpenPreheated(ctx, place, marks, epoch, token)
	return agree(o, "open preheated", a, b, [2]error{err1, err2})
}

func (o *both) Hold(ctx context.Context, place domain.Place, outcome domain.Outcome) error {
	err1 := o.a.Hold(ctx, place, outcome)
	err2 := o.b.Hold(ctx, place, outcome)
	_, err := agree(o, "hold", true, true, [2]error{err1, err2})
	return err
}

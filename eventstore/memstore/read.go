package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"seckill/eventstore"
)

// unread is the error of a read that was given up.
func unread(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, eventstore.ErrUnavailable, err)
}

// read does f under the lock unless ctx has ended.
func read[T any](ctx context.Context, s *Store, what string, f func(d *data) T) (T, error) {
	if err := ctx.Err(); err != nil {
		var none T
		return none, unread(what, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(&s.data), nil
}

// page gives up to max of records after the first n.
func page(records []eventstore.Record, n int64, max int) []eventstore.Record {
	n = min(n, int64(len(records)))
	return slices.Clone(records[n:min(n+int64(max), int64(len(records)))])
}

// ReadStream is eventstore.Reader's.
func (s *Store) ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	return read(ctx, s, "read stream "+stream, func(d *data) []eventstore.Record {
		var some []eventstore.Record
		at := d.streams[stream]
		for v := after; v < int64(len(at)) && len(some) < max; v++ {
			some = append(some, d.records[at[v]])
		}
		return some
	})
}

// ReadAll is eventstore.Reader's.
func (s *Store) ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error) {
	return read(ctx, s, "read log", func(d *data) []eventstore.Record { return page(d.records, after, max) })
}

// Find is eventstore.Reader's.
func (s *Store) Find(ctx context.Context, f eventstore.Filter, after int64, most int) ([]eventstore.Record, error) {
	return read(ctx, s, "find records", func(d *data) []eventstore.Record {
		var some []eventstore.Record
		for at := max(after, f.From-1); at < int64(len(d.records)) && len(some) < most; at++ {
			if r := &d.records[at]; chosen(f, r) {
				some = append(some, *r)
			}
		}
		return some
	})
}

func chosen(f eventstore.Filter, r *eventstore.Record) bool {
	return (f.To == 0 || r.Position <= f.To) &&
		(f.Stream == "" || r.Stream == f.Stream) && strings.HasPrefix(r.Stream, f.Prefix) &&
		(f.SaleID == "" || r.SaleID == f.SaleID) && (f.OrderID == "" || r.OrderID == f.OrderID) &&
		(f.Type == "" || r.Type == f.Type) && !r.RecordedAt.Before(f.Since)
}

// Head is eventstore.Reader's.
func (s *Store) Head(ctx context.Context) (eventstore.Mark, error) {
	return read(ctx, s, "read head", (*data).head)
}

// At is eventstore.Reader's.
func (s *Store) At(ctx context.Context, position int64) (eventstore.Record, bool, error) {
	found, err := read(ctx, s, "read position", func(d *data) []eventstore.Record {
		if position < 1 {
			return nil
		}
		return page(d.records, position-1, 1)
	})
	if err != nil || len(found) == 0 {
		return eventstore.Record{}, false, err
	}
	return found[0], true, nil
}

// each gives what f finds for each key, in their order.
func each[K, V any](ctx context.Context, s *Store, what string, keys []K, f func(d *data, key K) V) ([]V, error) {
	return read(ctx, s, what, func(d *data) []V {
		all := make([]V, len(keys))
		for i, key := range keys {
			all[i] = f(d, key)
		}
		return all
	})
}

// States is eventstore.Directory's.
func (s *Store) States(ctx context.Context, streams []string) ([]eventstore.StreamState, error) {
	return each(ctx, s, "read states", streams, (*data).state)
}

// Streams is eventstore.Directory's.
func (s *Store) Streams(ctx context.Context, prefix, after string, max int) ([]string, error) {
	return read(ctx, s, "list streams", func(d *data) []string {
		var names []string
		for name := range d.streams {
			if strings.HasPrefix(name, prefix) && name > after {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names[:min(max, len(names))]
	})
}

// Guards is eventstore.Ledger's.
func (s *Store) Guards(ctx context.Context, streams []string) ([]eventstore.Guard, error) {
	return each(ctx, s, "read guards", streams, (*data).guard)
}

// ClaimsOf is eventstore.Ledger's.
func (s *Store) ClaimsOf(ctx context.Context, key eventstore.ClaimKey) ([]eventstore.Claim, error) {
	return read(ctx, s, "read claims", func(d *data) []eventstore.Claim { return slices.Clone(d.claims[key]) })
}

// SaleClaims is eventstore.Ledger's.
func (s *Store) SaleClaims(ctx context.Context, sale string, after eventstore.Claim, max int) ([]eventstore.Claim, error) {
	order := func(a, b eventstore.Claim) int {
		return cmp.Or(strings.Compare(a.BuyerID, b.BuyerID), cmp.Compare(a.Ordinal, b.Ordinal))
	}
	return read(ctx, s, "read claims of sale "+sale, func(d *data) []eventstore.Claim {
		var some []eventstore.Claim
		for key, list := range d.claims {
			for _, c := range list {
				if key.SaleID == sale && order(c, after) > 0 {
					some = append(some, c)
				}
			}
		}
		slices.SortFunc(some, order)
		return some[:min(max, len(some))]
	})
}

// Cursors is eventstore.Ledger's.
func (s *Store) Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error) {
	return each(ctx, s, "read cursors", lanes, (*data).cursor)
}

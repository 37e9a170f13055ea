package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"seckill/domain"
	"seckill/eventstore"
)

// List gives every sale, in the order of their ids, as the log has them now. The
// answer is shared: it must not be changed. With News it asks one question, however
// many sales there are, and reads only those that changed.
func (s *Sales) List(ctx context.Context) ([]FoldedSale, error) {
	if s.opts.News == nil {
		sales, _, err := s.readAll(ctx)
		return sales, err
	}
	if err := s.hearNow(ctx); err != nil {
		return nil, fmt.Errorf("list sales: %w", err)
	}
	if sales, missing, ok := s.remembered(); ok {
		read, err := s.foldEach(ctx, missing)
		switch {
		case err == nil && len(read) == 0:
			return sales, nil
		case err == nil:
			sales = append(sales, read...)
			sortSales(sales)
			return sales, nil
		case !isNoSale(err): // the log went back, it seems
			return nil, err
		}
	}
	before := s.place()
	sales, ids, err := s.readAll(ctx)
	if err != nil {
		return nil, err
	}
	s.keepList(before, ids)
	return sales, nil
}

func isNoSale(err error) bool {
	var p *domain.Problem
	return errors.As(err, &p) && p.Code == domain.CodeSaleNotFound
}

// foldEach reads sales, several at a time.
func (s *Sales) foldEach(ctx context.Context, ids []string) ([]FoldedSale, error) {
	return inParallel(ids, func(_ int, id string) (FoldedSale, error) { return s.Fold(ctx, id) })
}

// inParallel gives what f makes of each of all, listReaders at a time, or the first of
// the errors.
func inParallel[T, R any](all []T, f func(i int, v T) (R, error)) ([]R, error) {
	results, faults := make([]R, len(all)), make([]error, len(all))
	var working sync.WaitGroup
	for w := range min(listReaders, len(all)) {
		working.Go(func() {
			for i := w; i < len(all); i += listReaders {
				results[i], faults[i] = f(i, all[i])
			}
		})
	}
	working.Wait()
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// listReaders is how many sales are read at once where many are not known.
const listReaders = 8

// readAll asks the store for every sale; those that did not change are not read.
func (s *Sales) readAll(ctx context.Context) ([]FoldedSale, []string, error) {
	ids, err := s.IDs(ctx)
	if err != nil {
		return nil, nil, err
	}
	sales := make([]FoldedSale, 0, len(ids))
	for page := range slices.Chunk(ids, streamPage) {
		streams := make([]string, len(page))
		for i, id := range page {
			streams[i] = domain.SaleStream(id)
		}
		states, err := s.store.States(ctx, streams)
		if err != nil {
			return nil, nil, fmt.Errorf("list sales: %w", err)
		}
		read, err := inParallel(page, func(i int, id string) (FoldedSale, error) { return s.upTo(ctx, id, markOf(states[i])) })
		if err != nil {
			return nil, nil, err
		}
		sales = append(sales, read...)
	}
	return sales, ids, nil
}

// upTo gives a sale that has at least the events up to mark, reading only what it
// lacks.
func (s *Sales) upTo(ctx context.Context, id string, mark eventstore.Mark) (FoldedSale, error) {
	if sale, ok := s.Known(id); ok && sale.Mark == mark {
		return sale, nil
	}
	return s.Fold(ctx, id)
}

// madeOf keeps what was made of a list of all sales until there is another one: most
// look at it far more often than it changes. The zero value is usable.
type madeOf[T any] struct {
	mu   sync.Mutex
	of   []FoldedSale
	made T
	any  bool
}

func (m *madeOf[T]) get(list []FoldedSale, make func([]FoldedSale) T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.any || !sameList(m.of, list) {
		m.of, m.made, m.any = list, make(list), true
	}
	return m.made
}

// sameList tells whether a list is the very same answer as another one.
func sameList(a, b []FoldedSale) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

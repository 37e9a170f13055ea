package commands

import (
	"context"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// ItemUnits is where the units of an item stand, over all buckets, a moment ago. What
// nobody could say is nil.
type ItemUnits struct {
	// Released is what was ever put on sale, and Taken what is out of it: units of live
	// orders, and those that were taken off sale, as the log has it.
	Released, Taken *int64
	// Available is what may still be sold: by the gate, which is ahead of the log,
	// or by the log (ByLog) of a sale that does not sell or has no gate, or whose gate
	// does not answer.
	Available *int64
	ByLog     bool
}

// saleUnits is what is known of the units of one sale.
type saleUnits struct {
	shared[map[string]ItemUnits]
	// movesRead is the position in the log up to which moved is the sum of all moves; only
	// who asks touches them.
	movesRead int64
	moved     map[string]int64
}

// Bounds of what operators look at all the time.
const (
	unitsFresh  = 500 * time.Millisecond
	unitsBudget = time.Second
)

// Units tells where the items of a sale stand, by SKU. It waits for no store longer
// than a second and fails for none: what it does not know it leaves out.
func (s *Shower) Units(ctx context.Context, sale domain.Sale) map[string]ItemUnits {
	s.mu.Lock()
	if s.units == nil || len(s.units) >= maxLooks {
		s.units = map[string]*saleUnits{}
	}
	known := s.units[sale.ID]
	if known == nil {
		known = &saleUnits{moved: map[string]int64{}}
		s.units[sale.ID] = known
	}
	s.mu.Unlock()
	units, err := known.get(ctx, s.Env.Now, unitsFresh, func(ctx context.Context) (map[string]ItemUnits, error) {
		return s.askUnits(ctx, sale, known), nil
	})
	if err != nil { // the caller is gone
		return map[string]ItemUnits{}
	}
	return units
}

func (s *Shower) askUnits(ctx context.Context, sale domain.Sale, known *saleUnits) map[string]ItemUnits {
	units := s.loggedUnits(ctx, sale, known)
	if state := sale.StateAt(s.Env.Now()); sale.Gateless() || state != domain.SaleStateOpen && state != domain.SaleStatePaused {
		return units
	}
	for sku, left := range s.gateUnits(ctx, sale) {
		u := units[sku]
		u.Available, u.ByLog = &left, false
		units[sku] = u
	}
	return units
}

// loggedUnits is the log's own account.
func (s *Shower) loggedUnits(ctx context.Context, sale domain.Sale, known *saleUnits) map[string]ItemUnits {
	ctx, cancel := context.WithTimeout(ctx, unitsBudget)
	defer cancel()
	for range changeTries {
		before := known.movesRead
		units, err := s.accounts(ctx, sale, known.moved)
		if err == nil {
			err = s.followMoves(ctx, sale, known)
		}
		if err != nil {
			s.Env.Log.Debug("units shown without the log", "sale_id", sale.ID, "error", err)
			return map[string]ItemUnits{}
		}
		if known.movesRead == before { // nothing moved between accounts and moves
			return units
		}
	}
	return map[string]ItemUnits{}
}

// followMoves reads the moves that were recorded since it was asked last.
func (s *Shower) followMoves(ctx context.Context, sale domain.Sale, known *saleUnits) error {
	if !several(&sale) {
		return nil
	}
	var err error
	known.movesRead, err = eachSince(ctx, s.Guards, sale.ID, &domain.StockMovedIn{}, known.movesRead, known.add)
	return err
}

// add takes in a move.
func (u *saleUnits) add(_ *eventstore.Record, ev domain.Event) {
	if e, ok := ev.(*domain.StockMovedIn); ok {
		u.moved[e.SKU] += e.Quantity
	}
}

// accounts sums the accounts of all buckets. What moved between buckets stands in them
// as taken from one and as released to the other.
func (s *Shower) accounts(ctx context.Context, sale domain.Sale, moved map[string]int64) (map[string]ItemUnits, error) {
	units := map[string]ItemUnits{}
	for _, sku := range sale.SKUs() {
		streams := make([]string, sale.Terms.Buckets)
		for b := range streams {
			streams[b] = domain.StockStream(sale.ID, sku, b)
		}
		guards, err := s.Guards.Guards(ctx, streams)
		if err != nil {
			return nil, err
		}
		released, taken, left := -moved[sku], -moved[sku], int64(0)
		for _, g := range guards {
			released, taken, left = released+g.Released, taken+g.Reserved-g.Returned, left+g.Left()
		}
		units[sku] = ItemUnits{Released: &released, Taken: &taken, Available: &left, ByLog: true}
	}
	return units, nil
}

// gateUnits is what the gate has left, or nothing where it does not answer or does not
// hold every bucket whole.
func (s *Shower) gateUnits(ctx context.Context, sale domain.Sale) map[string]int64 {
	ctx, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	skus := sale.SKUs()
	levels, err := s.Gate.Levels(ctx, Places(s.Env.Store, sale), skus)
	if err != nil {
		s.Env.Log.Debug("units shown without the gate", "sale_id", sale.ID, "error", err)
		return nil
	}
	left := map[string]int64{}
	for _, level := range levels {
		if !level.Selling || len(level.Stocks) != len(skus) {
			return nil
		}
		for i, stock := range level.Stocks {
			left[skus[i]] += max(stock.Available, 0)
		}
	}
	return left
}

package commands

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// SaleAnswer is a sale as buyers are told about it.
type SaleAnswer struct {
	FoldedSale
	State      domain.SaleState
	ServerTime time.Time
	// Recovering: the gate of an open or paused sale is closed until it was built
	// again from the log.
	Recovering bool
	// SoldOut says per SKU whether no unit was left a moment ago. It is advice for
	// pages; only a purchase is judged exactly.
	SoldOut map[string]bool
}

// Shower answers what a sale looks like now.
type Shower struct {
	Env   *Env
	Sales *Sales
	Gate  interface {
		Peek(ctx context.Context, place domain.Place, skus []string) (Peeked, error)
		Levels
	}
	Guards interface {
		Guards(ctx context.Context, streams []string) ([]eventstore.Guard, error)
		movesLog
	}

	newest madeOf[[]FoldedSale] // of the list of all sales

	mu    sync.Mutex
	looks map[string]*shared[saleLook]
	units map[string]*saleUnits
	away  time.Time // when the gate did not answer last
}

// saleLook is what the gate said of a sale a moment ago.
type saleLook struct {
	soldOut map[string]bool
	paused  bool
}

// Bounds of what Shower remembers.
const (
	lookFresh  = 200 * time.Millisecond
	lookBudget = 250 * time.Millisecond
	maxLooks   = 10_000
)

// Show gives one sale. While a lane of it recovers, an open sale shows paused.
func (s *Shower) Show(ctx context.Context, id string) (SaleAnswer, error) {
	sale, err := s.Sales.Get(ctx, id)
	if err != nil {
		return SaleAnswer{}, err
	}
	return s.show(ctx, sale), nil
}

// Look is Show as the log has the sale now, whichever process changed it last: for
// operators, who read what they wrote. While the log is away it is Show.
func (s *Shower) Look(ctx context.Context, id string) (SaleAnswer, error) {
	if _, err := domain.ParseSaleID(id); err != nil {
		return SaleAnswer{}, errNoSale()
	}
	sale, err := s.Sales.Fold(ctx, id)
	if errors.Is(err, eventstore.ErrUnavailable) {
		return s.Show(ctx, id)
	}
	if err != nil {
		return SaleAnswer{}, err
	}
	return s.show(ctx, sale), nil
}

func (s *Shower) show(ctx context.Context, sale FoldedSale) SaleAnswer {
	now := s.Env.Now()
	state := sale.StateAt(now)
	look := saleLook{soldOut: map[string]bool{}}
	if state == domain.SaleStateOpen || state == domain.SaleStatePaused {
		look = s.look(ctx, sale.Sale)
	}
	if state == domain.SaleStateOpen && look.paused {
		state = domain.SaleStatePaused
	}
	return SaleAnswer{FoldedSale: sale, State: state, ServerTime: now, SoldOut: look.soldOut, Recovering: look.paused}
}

// look gives what the gate says of a sale; of a crowd that asks, one does.
func (s *Shower) look(ctx context.Context, sale domain.Sale) saleLook {
	s.mu.Lock()
	if s.looks == nil || len(s.looks) >= maxLooks {
		s.looks = map[string]*shared[saleLook]{}
	}
	known := s.looks[sale.ID]
	if known == nil {
		known = &shared[saleLook]{}
		s.looks[sale.ID] = known
	}
	s.mu.Unlock()
	look, err := known.get(ctx, s.Env.Now, lookFresh, func(ctx context.Context) (saleLook, error) {
		return s.askOrGuess(ctx, sale, s.Env.Now()), nil
	})
	if err != nil { // the caller is gone
		return saleLook{soldOut: map[string]bool{}, paused: true}
	}
	return look
}

// askOrGuess asks the gate, unless it did not answer a moment ago.
func (s *Shower) askOrGuess(ctx context.Context, sale domain.Sale, now time.Time) saleLook {
	if sale.Gateless() {
		return s.fromGuards(ctx, sale)
	}
	s.mu.Lock()
	away := now.Sub(s.away) < lookFresh
	s.mu.Unlock()
	if away {
		return s.fromGuards(ctx, sale)
	}
	look, err := s.ask(ctx, sale)
	if err == nil {
		return look
	}
	s.Env.Log.Warn("sales shown without the gate", "sale_id", sale.ID, "error", err)
	s.mu.Lock()
	s.away = s.Env.Now()
	s.mu.Unlock()
	return s.fromGuards(ctx, sale)
}

// Pauses lists every reason for which nothing is sold: those of the log, and
// recovery.
func (a SaleAnswer) Pauses() []domain.PauseReason {
	pauses := slices.Clone(a.Sale.Pauses)
	if a.Sale.On(domain.PausePurchases) {
		pauses = append(pauses, domain.PausedBySwitch)
	}
	if a.Recovering {
		pauses = append(pauses, domain.PausedByRecovery)
	}
	return pauses
}

// ask asks what the gate has left.
func (s *Shower) ask(ctx context.Context, sale domain.Sale) (saleLook, error) {
	ctx, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	if several(&sale) {
		return s.askAll(ctx, sale)
	}
	skus := sale.SKUs()
	look := saleLook{soldOut: map[string]bool{}}
	for _, place := range Places(s.Env.Store, sale) {
		seen, err := s.Gate.Peek(ctx, place, skus)
		if err != nil {
			return saleLook{}, err
		}
		look.paused = !seen.Lane.Selling() || seen.Sale.State != HashOpen
		for i, stock := range seen.Stocks {
			look.soldOut[skus[i]] = !look.paused && stock.Available <= 0
		}
	}
	return look, nil
}

// askAll sums over several buckets. Where nothing lies in any, units may be on their way
// between two: then the log still has them.
func (s *Shower) askAll(ctx context.Context, sale domain.Sale) (saleLook, error) {
	skus := sale.SKUs()
	levels, err := s.Gate.Levels(ctx, Places(s.Env.Store, sale), skus)
	if err != nil {
		return saleLook{}, err
	}
	look := saleLook{soldOut: map[string]bool{}}
	left := make([]int64, len(skus))
	for _, level := range levels {
		if !level.Selling {
			look.paused = true
			continue
		}
		for i, stock := range level.Stocks {
			left[i] += max(stock.Available, 0)
		}
	}
	if look.paused || slices.Min(left) > 0 {
		return look, nil
	}
	log := s.fromGuards(ctx, sale)
	for i, sku := range skus {
		look.soldOut[sku] = left[i] == 0 && log.soldOut[sku]
	}
	return look, nil
}

// fromGuards answers from the log's own account while the gate is away, or where there
// is none.
func (s *Shower) fromGuards(ctx context.Context, sale domain.Sale) saleLook {
	look := saleLook{soldOut: map[string]bool{}, paused: !sale.Gateless()}
	for _, sku := range sale.SKUs() {
		streams := make([]string, sale.Terms.Buckets)
		for b := range streams {
			streams[b] = domain.StockStream(sale.ID, sku, b)
		}
		guards, err := s.Guards.Guards(ctx, streams)
		if err != nil {
			continue
		}
		var left int64
		for _, g := range guards {
			left += g.Left()
		}
		look.soldOut[sku] = left <= 0
	}
	return look
}

package gatetest

import (
	"slices"
	"strconv"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// steer changes a sale in the log.
func (w *walk) steer(show *Show) {
	id := show.Place.Sale
	early, late, waits := w.terms, w.terms, w.terms
	waits.AutoOpen = false
	early.OpensAt, early.ClosesAt = early.OpensAt.Add(-3*time.Hour), early.OpensAt.Add(-2*time.Hour)
	late.OpensAt, late.ClosesAt = late.ClosesAt.Add(2*time.Hour), late.ClosesAt.Add(3*time.Hour)
	e := oneOf[domain.Event](w, "steer",
		&domain.SalePaused{SaleID: id, Reason: domain.PausedByOperator}, &domain.SalePaused{SaleID: id, Reason: domain.PausedByDrift},
		&domain.SaleResumed{SaleID: id, Reason: domain.PausedByOperator}, &domain.SaleResumed{SaleID: id, Reason: domain.PausedByDrift},
		&domain.SaleRevised{SaleID: id, SaleTerms: early}, &domain.SaleRevised{SaleID: id, SaleTerms: late},
		&domain.SaleRevised{SaleID: id, SaleTerms: w.terms}, &domain.SaleRevised{SaleID: id, SaleTerms: w.terms},
		&domain.SaleRevised{SaleID: id, SaleTerms: w.terms}, &domain.SaleRevised{SaleID: id, SaleTerms: waits},
		&domain.SaleConfirmed{SaleID: id}, &domain.SaleConfirmed{SaleID: id}, &domain.SaleClosed{SaleID: id})
	if w.pick("really", 2) == 0 { // most sales should sell
		w.Say(show, e)
	}
}

func (w *walk) hold(show *Show) {
	o := oneOf(w, "hold", domain.Paused, domain.Paused, domain.Ended)
	w.check(true, w.Hold(w.ctx, show.Place, o))
}

func (w *walk) recover(show *Show) { w.Recover(show.Place.Lane()) }

func (w *walk) epoch(show *Show) int64 {
	return w.lane(show.Place.Lane()).Epoch + oneOf(w, "epoch", int64(0), 0, 0, 1, -1)
}

func (w *walk) closeOnly(show *Show) {
	if w.pick("close", 2) == 0 {
		w.check(w.CloseLane(w.ctx, show.Place.Lane(), w.epoch(show)))
	}
}

// openOnly tries the steps of a recovery wherever the lane is.
func (w *walk) openOnly(show *Show) {
	epoch, skus := w.epoch(show), show.Sale.SKUs()
	reset := skus[:w.pick("reset", len(skus)+1)]
	w.check(w.Stubs(w.ctx, show.Place, skus, reset, epoch))
	if w.pick("catch up", 2) == 0 {
		w.catchup(show)
	}
	w.check(w.OpenHashes(w.ctx, show.Place, w.Marks(show, skus...), epoch))
	// A lane of more than one sale opens only by a recovery: it would sell
	// without what the other sale's journal says.
}

func (w *walk) reset(show *Show) {
	w.token++
	sku := oneOf(w, "item", show.Sale.SKUs()...)
	w.check(w.ResetStock(w.ctx, show.Place, sku, w.epoch(show), "token"+strconv.Itoa(w.token)))
}

// preheat goes on with a reset that may be of an older token.
func (w *walk) preheat(show *Show) {
	token := "token" + strconv.Itoa(w.token-w.pick("older", 4)/3)
	if w.pick("new sale", 4) == 0 {
		w.check(w.NewSale(w.ctx, show.Place, show.Sale.SKUs(), w.epoch(show), token))
	}
	sku := oneOf(w, "item", show.Sale.SKUs()...)
	w.Record(show)
	p := w.peek(show, sku)
	w.check(w.ApplySale(w.ctx, commands.SalePage{Place: show.Place, From: p.Sale.Applied, To: show.Mark, Sale: show.Sale}))
	w.check(w.ApplyStock(w.ctx, w.page(show, sku, p.Stocks[0].Applied)))
	w.check(w.OpenPreheated(w.ctx, show.Place, w.Marks(show, sku), w.epoch(show), token))
}

// fault lets a hash go, another process answer, or an older copy come back.
func (w *walk) fault(show *Show) {
	switch w.pick("fault", 4) {
	case 0:
		if w.Lose != nil {
			w.Lose(w.tb, show.Place, oneOf(w, "lost", append(show.Sale.SKUs(), "")...))
		}
	case 1:
		if w.Failover != nil {
			w.Failover(w.tb)
		}
	case 2:
		if w.Copy != nil {
			w.back = w.Copy(w.tb)
		}
	case 3:
		if w.back != nil && w.Failover != nil {
			w.back(w.tb)
			w.Failover(w.tb)
		}
	}
}

// finish recovers everything; then the gates must hold what the log says.
func (w *walk) finish() {
	var lanes []int
	for _, show := range w.shows {
		if lane := show.Place.Lane(); !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
			w.Recover(lane)
		}
	}
	for _, show := range w.shows {
		for i, k := range w.peek(show, show.Sale.SKUs()...).Stocks {
			sku := show.Sale.SKUs()[i]
			if want := w.fold(show, sku); k.Available != want.Available || k.State != commands.HashOpen {
				w.tb.Fatalf("after a recovery the gates hold %+v of %s, the log says %d", k, sku, want.Available)
			}
		}
	}
}

// fold gives the stock of an item as the log has it.
func (s *Stage) fold(show *Show, sku string) *domain.Stock {
	s.tb.Helper()
	stock := domain.NewStock(domain.StockKey{Sale: show.Place.Sale, SKU: sku, Bucket: show.Place.Bucket})
	all, _ := s.events(show, sku)
	for _, e := range all {
		if err := stock.Fold(e.Event); err != nil {
			s.tb.Fatalf("fold the log: %v", err)
		}
	}
	return stock
}

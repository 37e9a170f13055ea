package commands

import (
	"context"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// PreheatReport is everything that the gate holds of a sale but what is of single
// buyers, and by what it is judged who may buy, compared with what the log says it
// must be. Keys is the number of
// Values. Verified: there is no difference.
type PreheatReport struct {
	Sale        string              `json:"sale"`
	Version     int64               `json:"version"`
	Keys        int                 `json:"keys"`
	Values      map[string]string   `json:"values" nullable:"false"`
	OfBuyers    int64               `json:"of_buyers"`
	Verified    bool                `json:"verified"`
	Differences []PreheatDifference `json:"differences" nullable:"false"`
}

// PreheatDifference is a value of the gate that is not what the log says.
type PreheatDifference struct {
	Key  string `json:"key"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// PreheatGate is what Preheats ask of the gate.
type PreheatGate interface {
	Inspector
	Applier
}

// Preheats make the gate ready for a sale and say whether it is.
type Preheats struct {
	Env   *Env
	Sales *Sales
	Log   Log
	Gate  PreheatGate
	// Preheat builds what is missing and brings up what stayed behind; see Keeper.
	Preheat  func(ctx context.Context, sale string) error
	Operator *Operator
	// Members and Tickets say whether this node can judge who may buy; nil ones are
	// not asked.
	Members MemberPreparer
	Tickets TicketLooker
	// Patience bounds waiting for the gate to come up to the log, and for the log to
	// record what the gate had sold (3 s).
	Patience time.Duration
}

// Full makes the gate ready and compares everything it holds. It changes nothing
// that is sold: what stands is brought up, a record whose terms are not the log's
// is written again from the log, and a wrong account is told, not mended (that is
// a repair). The log learns what was found: a sale that waits for its confirmation
// may be confirmed where that is nothing. A sale that was cleaned up, or that others
// change all the time meanwhile, is a *domain.Problem.
func (p *Preheats) Full(ctx context.Context, sale string, actor Actor) (PreheatReport, error) {
	if _, err := p.alive(ctx, sale); err != nil {
		return PreheatReport{}, err
	}
	if err := p.Preheat(ctx, sale); err != nil {
		return PreheatReport{}, err
	}
	p.Env.step("preheat.after-build")
	if err := p.settle(ctx, sale); err != nil {
		return PreheatReport{}, err
	}
	if err := p.rewrite(ctx, sale); err != nil {
		return PreheatReport{}, err
	}
	for range changeTries {
		report, err := p.Verify(ctx, sale)
		if err != nil {
			return PreheatReport{}, err
		}
		p.Env.step("preheat.after-compare")
		if noted, err := p.note(ctx, report, actor); noted || err != nil {
			return report, err
		}
	}
	return PreheatReport{}, &domain.Problem{Code: domain.CodeVersionConflict}
}

// alive gives a sale that the gate is to hold.
func (p *Preheats) alive(ctx context.Context, id string) (FoldedSale, error) {
	if _, err := domain.ParseSaleID(id); err != nil {
		return FoldedSale{}, errNoSale()
	}
	sale, err := p.Sales.Fold(ctx, id)
	if err == nil && sale.Cleaned {
		err = &domain.Problem{Code: domain.CodeSaleEnded, Note: noteCleaned}
	}
	return sale, err
}

// rewrite writes records of a sale again that stand at the newest version and do
// not say what it does, such as one that another version of the program wrote. One
// that is held is left alone: whoever holds it is about to change it.
func (p *Preheats) rewrite(ctx context.Context, id string) error {
	sale, err := p.Sales.Fold(ctx, id)
	if err != nil {
		return err
	}
	want, err := SaleFields(sale.Sale)
	if err != nil {
		return err
	}
	for _, place := range Places(p.Env.Store, sale.Sale) {
		seen, err := p.Gate.Inspect(ctx, place, nil)
		if err != nil {
			return fmt.Errorf("inspect sale %s: %w", id, err)
		}
		if seen.Hold != "" || seen.Sale.Applied != sale.Mark || sameFields(seen.Fields, want) {
			continue
		}
		if _, err := p.Gate.ApplySale(ctx, SalePage{Place: place, From: sale.Mark, To: sale.Mark, Sale: sale.Sale}); err != nil {
			return fmt.Errorf("write sale %s again: %w", id, err)
		}
	}
	return nil
}

func sameFields(a, b []SaleField) bool {
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// note tells the log what a preheat found and brings it into the gate; false where
// the sale is not any more what was compared.
func (p *Preheats) note(ctx context.Context, report PreheatReport, actor Actor) (bool, error) {
	stale := false
	sale, err := p.Operator.change(ctx, report.Sale, func(s domain.Sale) domain.Event {
		if stale = s.Version != report.Version; stale {
			return nil
		}
		return s.Check(report.Keys, len(report.Differences), actor.By, actor.Routine)
	}, actor)
	if err != nil || stale {
		return false, err
	}
	if sale.Version != report.Version {
		p.Operator.apply(ctx, sale)
	}
	return true, nil
}

// Verify compares and changes nothing. Of a sale that has no gate only who may buy is
// left to look at: everything else is judged by the log itself.
func (p *Preheats) Verify(ctx context.Context, id string) (PreheatReport, error) {
	sale, err := p.alive(ctx, id)
	if err != nil {
		return PreheatReport{}, err
	}
	report := PreheatReport{Sale: id, Version: sale.Version, Values: map[string]string{}, Differences: []PreheatDifference{}}
	for _, place := range Places(p.Env.Store, sale.Sale) {
		if err := p.bucket(ctx, place, &report); err != nil {
			return PreheatReport{}, err
		}
	}
	if err := p.strength(ctx, sale.Sale, &report); err != nil {
		return PreheatReport{}, fmt.Errorf("look at what the gate's server gives sale %s: %w", id, err)
	}
	if err := p.who(ctx, sale.Sale, &report); err != nil {
		return PreheatReport{}, fmt.Errorf("look at who may buy in sale %s: %w", id, err)
	}
	report.Keys, report.Verified = len(report.Values), len(report.Differences) == 0
	return report, nil
}

// held is what a bucket held at a cut, and the fold of the sale it was compared with.
type held struct {
	sale  FoldedSale
	skus  []string
	heads []eventstore.StreamState // of the stock streams, before the cut
	seen  Inspection
}

// bucket compares one bucket.
func (p *Preheats) bucket(ctx context.Context, place domain.Place, report *PreheatReport) error {
	h, err := p.cut(ctx, place)
	if err != nil {
		return fmt.Errorf("inspect sale %s, bucket %d: %w", place.Sale, place.Bucket, err)
	}
	report.Version = h.sale.Version
	report.OfBuyers += h.seen.OfBuyers
	for _, n := range h.seen.Holds {
		report.OfBuyers += n
	}
	recorded, err := p.lane(ctx, place.Lane(), h.seen.Lane, report)
	if err != nil {
		return err
	}
	if err := report.record(place, h); err != nil {
		return err
	}
	for i, sku := range h.skus {
		if err := p.stock(ctx, place, sku, stockSeen{h.seen.Stocks[i], h.seen.Lane, h.heads[i], recorded}, report); err != nil {
			return err
		}
	}
	return nil
}

// inspectPause is the pause between two looks at a gate that is behind.
const inspectPause = 20 * time.Millisecond

// cut looks at a bucket once it stands at the places that the streams had before,
// or Patience is over.
func (p *Preheats) cut(ctx context.Context, place domain.Place) (held, error) {
	sale, err := p.Sales.Fold(ctx, place.Sale)
	if err != nil {
		return held{}, err
	}
	h := held{skus: sale.SKUs()}
	streams := saleBucket{place, h.skus}.streams()[1:]
	if h.heads, err = p.Log.States(ctx, streams); err != nil {
		return held{}, fmt.Errorf("read the heads of the stock streams: %w", err)
	}
	for deadline := p.Env.Now().Add(p.patience()); ; pause(ctx, inspectPause) {
		if h.seen, err = p.Gate.Inspect(ctx, place, h.skus); err != nil {
			return held{}, err
		}
		if h.sale, err = p.Sales.Fold(ctx, place.Sale); err != nil {
			return held{}, err
		}
		if h.level() || ctx.Err() != nil || p.Env.Now().After(deadline) {
			return h, ctx.Err()
		}
	}
}

// level tells whether the gate has come up to the log.
func (h *held) level() bool {
	for i, stock := range h.seen.Stocks {
		if stock.State != HashMissing && stock.Applied.Number < h.heads[i].Version {
			return false
		}
	}
	return h.seen.Sale.State == HashMissing || h.seen.Sale.Applied == h.sale.Mark && h.seen.Hold == ""
}

func (p *Preheats) patience() time.Duration { return orDefault(p.Patience, 3*time.Second) }

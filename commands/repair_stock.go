package commands

import (
	"context"
	"errors"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// skuOfRecord names the items of an order's finding.
func (f Finding) skuOfRecord() string {
	if f.about.record == nil {
		return ""
	}
	return fmt.Sprint(f.about.wrong)
}

// stock builds the gate's account of an item again from the log. A finding about
// an order names the items by what is wrong of it.
func (m *mend) stock(ctx context.Context, f Finding) (string, error) {
	skus := f.about.wrong
	if f.SKU != "" {
		skus = []string{f.SKU}
	}
	built := false
	for _, sku := range skus {
		ok, err := m.rebuildStock(ctx, f, sku)
		if err != nil {
			return "", err
		}
		built = built || ok
	}
	if !built {
		return "it was mended meanwhile", errNotMended
	}
	return "the gate's account was built again from the log", nil
}

func (m *mend) rebuildStock(ctx context.Context, f Finding, sku string) (bool, error) {
	var found Finding
	return m.Keeper.RebuildStock(ctx, f.about.place, sku, RebuildWish{
		Still: func(ctx context.Context) (wrong bool, err error) {
			found, wrong, err = m.stillWrong(ctx, f, sku)
			return wrong, err
		},
		Note: func(ctx context.Context) error {
			return m.noteStock(ctx, &domain.StockAdjusted{
				SaleID: f.about.place.Sale, SKU: sku, Bucket: f.about.place.Bucket, Kind: found.Kind,
				Before: found.about.before, After: found.about.after, Note: m.actor.Note, By: m.actor.By,
			})
		},
	})
}

// stillWrong compares one item of a bucket with its stream once more, by a cut of
// its own.
func (m *mend) stillWrong(ctx context.Context, f Finding, sku string) (Finding, bool, error) {
	run := &reconciliation{Reconciler: m.Reconciler, sale: m.sale, opts: m.withDefaults(), books: newBooks(m.sale)}
	run.report.Items = []ItemReport{{SKU: sku}}
	c := cut{place: f.about.place, skus: []string{sku}}
	var err error
	if c.seen, err = run.recordedCut(ctx, c); err != nil {
		return Finding{}, false, err
	}
	stream := domain.StockStream(c.place.Sale, sku, c.place.Bucket)
	book, err := run.books.stockOf(stream)
	if err != nil {
		return Finding{}, false, err
	}
	seen := c.seen.Stocks[0]
	book.seen = &stockCut{applied: seen.Applied, available: seen.Available, epoch: c.seen.Lane.Epoch, n: c.seen.Lane.N}
	book.prefix = seen.Applied.Number == 0
	err = eachRecord(ctx, m.Log, stream, 0, func(r *eventstore.Record) error { return run.books.add(r) })
	if err != nil {
		return Finding{}, false, err
	}
	found := Finding{Kind: f.Kind, about: about{before: seen.Available, after: book.expected}}
	if f.OrderID != "" {
		off := stranded{}
		if err := run.lookAgain(ctx, c, []OrderOf{{Order: f.OrderID, Buyer: f.BuyerID}}, off); err != nil {
			return found, false, err
		}
		return found, len(run.report.Findings) > 0 && run.report.Findings[0].Kind == f.Kind, nil
	}
	run.judgeCut(c, nil)
	for _, again := range run.report.Findings {
		if again.SKU == sku {
			return again, true, nil
		}
	}
	return found, false, nil
}

// noteTries bounds how often a stream that moves is read again.
const noteTries = 50

// noteStock appends to a stock stream that is quiet: its item sells nothing at the
// moment. Expected is the version read before: what was noted by another repair
// meanwhile is a conflict.
func (m *mend) noteStock(ctx context.Context, ev *domain.StockAdjusted) error {
	stream := domain.StockStream(ev.SaleID, ev.SKU, ev.Bucket)
	stored, err := m.Env.newEvent(ev, ev.SaleID, "", m.meta())
	if err != nil {
		return err
	}
	for range noteTries {
		states, err := m.Log.States(ctx, []string{stream})
		if err != nil {
			return fmt.Errorf("read where %s stands: %w", stream, err)
		}
		receipt, err := m.Log.Submit(ctx, eventstore.Work{
			Needs: eventstore.Needs{Guards: []string{stream}, Streams: []string{stream}},
			Decide: func(look eventstore.Look) (*eventstore.Group, error) {
				return &eventstore.Group{ // the guard follows its stream
					Appends: []eventstore.Append{{Stream: stream, Expected: states[0].Version, Events: []eventstore.NewEvent{stored}}},
					Guards:  []eventstore.Guard{look.Guard(stream)},
				}, nil
			},
		})
		if err != nil {
			return fmt.Errorf("note a repair of %s: %w", stream, err)
		}
		if receipt.Outcome != eventstore.Conflict {
			return nil
		}
	}
	return fmt.Errorf("note a repair of %s: %w", stream, errMoves)
}

// errMoves: a stream moved each time it was read.
var errMoves = errors.New("its stream did not hold still")

// guard writes a guard from its stream, under the log lock and only if the stream
// is where it was folded to.
func (m *mend) guard(ctx context.Context, f Finding) (string, error) {
	stream := domain.StockStream(f.about.place.Sale, f.SKU, f.about.place.Bucket)
	var fold domain.Account
	for range noteTries {
		err := eachRecord(ctx, m.Log, stream, fold.Version, func(r *eventstore.Record) error {
			ev, err := decode(r)
			if err != nil {
				return err
			}
			fold = fold.Fold(ev)
			return nil
		})
		if err != nil {
			return "", err
		}
		outcome, err := m.writeGuard(ctx, f, stream, fold)
		if err != nil {
			return "", fmt.Errorf("write the guard of %s: %w", stream, err)
		}
		switch outcome {
		case eventstore.Nothing:
			return "it was mended meanwhile", errNotMended
		case eventstore.Stored, eventstore.AlreadyThere:
			return fmt.Sprintf("the guard says %d left, as its stream does", fold.Left()), nil
		}
	}
	return "", fmt.Errorf("write the guard of %s: %w", stream, errMoves)
}

func (m *mend) writeGuard(ctx context.Context, f Finding, stream string, fold domain.Account) (eventstore.Outcome, error) {
	receipt, err := m.Log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Guards: []string{stream}, Streams: []string{stream}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			g := look.Guard(stream)
			at := look.Stream(stream).Version
			overdraft := max(m.sale.OverdraftIn(f.SKU, f.about.place.Bucket), -fold.Left(), 0)
			if g.Released == fold.Released && g.Reserved == fold.Reserved && g.Returned == fold.Returned && g.Version == at && g.Overdraft <= overdraft && at == fold.Version {
				return nil, nil
			}
			ev := &domain.StockAdjusted{SaleID: f.about.place.Sale, SKU: f.SKU, Bucket: f.about.place.Bucket, Kind: f.Kind,
				Before: g.Left(), After: fold.Left(), Note: m.actor.Note, By: m.actor.By}
			stored, err := m.Env.newEvent(ev, ev.SaleID, "", m.meta())
			if err != nil {
				return nil, err
			}
			g.Stream, g.Released, g.Reserved, g.Returned = stream, fold.Released, fold.Reserved, fold.Returned
			g.Overdraft = overdraft
			return &eventstore.Group{
				Appends: []eventstore.Append{{Stream: stream, Expected: fold.Version, Events: []eventstore.NewEvent{stored}}},
				Guards:  []eventstore.Guard{g},
			}, nil
		},
	})
	if err == nil && len(receipt.Records) > 0 {
		if err := m.Follow.Push(ctx, receipt.Records); err != nil {
			m.Env.Log.Warn("repair recorded; the gate follows later", "sale_id", m.sale.ID, "error", err)
		}
	}
	return receipt.Outcome, err
}

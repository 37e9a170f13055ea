package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// CleanupItem is one line of the checklist that ends a sale's life. Every part
// that keeps something of a sale registers its own.
type CleanupItem interface {
	// Name is a word of its own; operators and the log are told it.
	Name() string
	// Do looks, or does what is left to do, and says what it found. Doing it again
	// is harmless. A check that does not hold is a *domain.Problem, such as
	// not_ended or not_reconciled, and nothing is cleaned up then.
	Do(ctx context.Context, run *CleanupRun) (found string, err error)
}

// CleanupRun is one run through the checklist.
type CleanupRun struct {
	Sale  FoldedSale // as the log has it
	Actor Actor
	// cuts are where the lanes of the sale stood when it was over and everything
	// the gate had accepted was recorded.
	cuts []saleCut
}

// saleCut is a bucket of a sale that sells no more: every entry up to N of Epoch
// is recorded.
type saleCut struct {
	place domain.Place
	epoch int64
	n     int64
}

// CleanReport is the checklist as it was gone through.
type CleanReport struct {
	Items []domain.CleanItem `json:"items"`
}

// Done tells whether every item is ticked.
func (r CleanReport) Done() bool {
	for _, item := range r.Items {
		if !item.Done {
			return false
		}
	}
	return true
}

// CleanupDeps is what a Cleanup works with. All are required.
type CleanupDeps struct {
	Env    *Env
	Sales  *Sales
	Log    Log
	Keeper *Keeper
	Gate   interface {
		Peek(ctx context.Context, place domain.Place, skus []string) (Peeked, error)
	}
	// Close ends a sale for good: Operator.Close.
	Close func(ctx context.Context, sale string, actor Actor) (FoldedSale, error)
	// Drift gives what a reconciliation of the sale finds now. ErrNoCut where the
	// gate cannot be looked at.
	Drift func(ctx context.Context, sale string) ([]Finding, error)
	Parts LogParts
}

// Cleanup ends the life of sales that are over: a checklist whose first part only
// looks and refuses to lose anything, then one event, sale.cleaned, and then what
// need not be kept goes. It may be run again after a crash at any point, and by
// several at once.
type Cleanup struct {
	CleanupDeps
	checks, effects []CleanupItem
}

// NewCleanup makes the checklist: ended, reconciled, recorded; log; gate, journal,
// partition.
func NewCleanup(d CleanupDeps) *Cleanup {
	c := &Cleanup{CleanupDeps: d}
	c.Before(endedItem{c})
	c.Before(reconciledItem{c})
	c.Before(recordedItem{c})
	c.After(gateItem{c})
	c.After(journalItem{c})
	c.After(partitionItem{c})
	return c
}

// Before registers a check behind those that are there: it must hold before
// anything is cleaned up.
func (c *Cleanup) Before(item CleanupItem) { c.checks = append(c.checks, item) }

// After registers an item that is done once the log says that the sale is cleaned
// up, behind those that are there.
func (c *Cleanup) After(item CleanupItem) { c.effects = append(c.effects, item) }

// effectBudget bounds what is done after the event: whoever hangs up by then
// changes nothing.
const effectBudget = time.Minute

// Clean goes through the checklist. A check that does not hold is a
// *domain.Problem, and nothing was changed but that a sale whose time is over is
// closed. What could not be done after the event is an item that is not ticked:
// run it again.
func (c *Cleanup) Clean(ctx context.Context, sale string, actor Actor) (CleanReport, error) {
	run := &CleanupRun{Actor: actor}
	report, err := c.record(ctx, sale, run)
	if err != nil {
		return CleanReport{}, err
	}
	c.Env.step("cleanup.after-log")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), effectBudget)
	defer cancel()
	for _, item := range c.effects {
		found, err := item.Do(ctx, run)
		if err != nil {
			c.Env.Log.Warn("clean-up not finished; run it again", "sale_id", sale, "item", item.Name(), "error", err)
			found = "not finished, run it again: " + err.Error()
		}
		report.Items = append(report.Items, domain.CleanItem{Name: item.Name(), Done: err == nil, Detail: found})
		c.Env.step("cleanup.after-" + item.Name())
	}
	return report, nil
}

// errCutMoved: a lane was recovered, or the sale changed, while it was looked at.
var errCutMoved = errors.New("the sale changed while it was looked at")

// record brings sale.cleaned into the log, or finds it there, and gives what was
// ticked off.
func (c *Cleanup) record(ctx context.Context, id string, run *CleanupRun) (CleanReport, error) {
	for range changeTries {
		var err error
		if run.Sale, err = c.Sales.Fold(ctx, id); err != nil {
			return CleanReport{}, err
		}
		if run.Sale.Cleaned {
			return c.recorded(ctx, run.Sale)
		}
		ticked, err := c.check(ctx, run)
		if err == nil {
			err = c.append(ctx, run, ticked)
		}
		if err != nil && !errors.Is(err, errCutMoved) && !c.overtaken(ctx, id) {
			return CleanReport{}, err
		}
	}
	return CleanReport{}, &domain.Problem{Code: domain.CodeVersionConflict}
}

// overtaken tells whether somebody else has cleaned the sale up meanwhile: then a
// check that does not hold met what he took away.
func (c *Cleanup) overtaken(ctx context.Context, id string) bool {
	sale, err := c.Sales.Fold(ctx, id)
	return err == nil && sale.Cleaned
}

func (c *Cleanup) check(ctx context.Context, run *CleanupRun) ([]domain.CleanItem, error) {
	var ticked []domain.CleanItem
	for _, item := range c.checks {
		found, err := item.Do(ctx, run)
		if err != nil {
			return nil, fmt.Errorf("clean up sale %s: %s: %w", run.Sale.ID, item.Name(), err)
		}
		ticked = append(ticked, domain.CleanItem{Name: item.Name(), Done: true, Detail: found})
	}
	return ticked, nil
}

// append ends the sale's stream, if it and the lanes of the sale are still as
// they were looked at.
func (c *Cleanup) append(ctx context.Context, run *CleanupRun, ticked []domain.CleanItem) error {
	if run.Sale.Cleaned { // by somebody else, while this was looked at
		return errCutMoved
	}
	stream := domain.SaleStream(run.Sale.ID)
	ev, err := c.Env.newEvent(run.Sale.Clean(ticked, run.Actor.Note, run.Actor.By), run.Sale.ID, "", Meta{TraceID: run.Actor.TraceID, By: run.Actor.By})
	if err != nil {
		return err
	}
	needs := eventstore.Needs{Streams: []string{stream}}
	for _, cut := range run.cuts {
		needs.Lanes = append(needs.Lanes, cut.place.Lane())
	}
	receipt, err := c.Log.Submit(ctx, eventstore.Work{Needs: needs, Decide: func(look eventstore.Look) (*eventstore.Group, error) {
		for _, cut := range run.cuts {
			if at := look.Cursor(cut.place.Lane()); at.Epoch != cut.epoch || at.N < cut.n {
				return nil, errCutMoved
			}
		}
		return &eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Expected: run.Sale.Version, Events: []eventstore.NewEvent{ev}}}}, nil
	}})
	if err != nil {
		return fmt.Errorf("record that sale %s is cleaned up: %w", run.Sale.ID, err)
	}
	if receipt.Outcome == eventstore.Stored {
		c.Env.Log.Info("sale cleaned up", "sale_id", run.Sale.ID, "by", run.Actor.By)
	}
	return nil // the next look finds it there, whoever wrote it
}

// recorded reads the checklist that was ticked off when the sale was cleaned up.
// Where that record was archived, only that it stands there is known.
func (c *Cleanup) recorded(ctx context.Context, sale FoldedSale) (CleanReport, error) {
	report := CleanReport{Items: []domain.CleanItem{}}
	detail := fmt.Sprintf("sale.cleaned is version %d of %s", sale.Version, domain.SaleStream(sale.ID))
	page, err := c.Log.ReadStream(ctx, domain.SaleStream(sale.ID), sale.Version-1, 1)
	if errors.Is(err, eventstore.ErrUnavailable) {
		return report, fmt.Errorf("read the clean-up of sale %s: %w", sale.ID, err)
	}
	if len(page) == 1 {
		var cleaned domain.SaleCleaned
		if err := json.Unmarshal(page[0].Payload, &cleaned); err != nil {
			return report, fmt.Errorf("read the clean-up of sale %s: %w", sale.ID, err)
		}
		report.Items = append(report.Items, cleaned.Items...)
		detail += fmt.Sprintf(", position %d", page[0].Position)
	}
	report.Items = append(report.Items, domain.CleanItem{Name: "log", Done: true, Detail: detail})
	return report, nil
}

package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// endedItem: the sale is over for good, everything the gate accepted is recorded,
// and no order waits for its payment.
type endedItem struct{ c *Cleanup }

func (endedItem) Name() string { return "ended" }

func (i endedItem) Do(ctx context.Context, run *CleanupRun) (string, error) {
	if run.Sale.On(domain.ForceEnded) && !run.Sale.Over(i.c.Env.Now()) {
		return "", &domain.Problem{Code: domain.CodeNotEnded, Note: "A switch ended it for the moment: close it to end it for good."}
	}
	if run.Sale.StateAt(i.c.Env.Now()) != domain.SaleStateEnded {
		return "", &domain.Problem{Code: domain.CodeNotEnded,
			Note: fmt.Sprintf("It is %s, until %s.", run.Sale.StateAt(i.c.Env.Now()), run.Sale.Terms.ClosesAt.Format(time.RFC3339))}
	}
	if !run.Sale.Closed {
		// Its window is over by this clock. Closed, it is over by every clock.
		var err error
		if run.Sale, err = i.c.Close(ctx, run.Sale.ID, run.Actor); err != nil {
			return "", err
		}
	}
	var err error
	if run.cuts, err = i.c.cuts(ctx, run.Sale); err != nil {
		return "", err
	}
	orders, err := countOrders(ctx, i.c.Log, run.Sale.ID)
	if err != nil {
		return "", err
	}
	if n := len(orders.waiting); n > 0 {
		return "", &domain.Problem{Code: domain.CodeNotEnded, Note: fmt.Sprintf("Orders that still wait for their payment: %d.", n)}
	}
	return fmt.Sprintf("closed; of %d placed and %d rejected orders none waits for anything", orders.placed, orders.rejected), nil
}

// orderCount is how many orders of a sale the log has, and those that are placed
// and neither paid nor ended.
type orderCount struct {
	placed, rejected int
	waiting          map[string]bool
}

// countOrders reads every record of a sale. Memory follows the orders that wait.
func countOrders(ctx context.Context, log eventstore.Reader, sale string) (orderCount, error) {
	count := orderCount{waiting: map[string]bool{}}
	var after int64
	for {
		page, err := log.Find(ctx, eventstore.Filter{SaleID: sale}, after, streamPage)
		if err != nil {
			return count, fmt.Errorf("read the orders of sale %s: %w", sale, err)
		}
		for i := range page {
			count.add(&page[i])
			after = page[i].Position
		}
		if len(page) < streamPage {
			return count, nil
		}
	}
}

func (c *orderCount) add(r *eventstore.Record) {
	switch r.Type {
	case (&domain.OrderPlaced{}).EventType():
		c.placed++
		c.waiting[r.Stream] = true
	case (&domain.OrderRejected{}).EventType():
		c.rejected++
	case (&domain.OrderPaid{}).EventType(), (&domain.OrderCancelled{}).EventType(), (&domain.OrderExpired{}).EventType():
		delete(c.waiting, r.Stream)
	}
}

// cutWait bounds waiting for the gate to have what the log says of a sale, and
// for the log to have what the gate accepted.
const cutWait = 10 * time.Second

// cuts waits until every bucket of an ended sale has heard that it is over, and
// until all that it had accepted by then is recorded.
func (c *Cleanup) cuts(ctx context.Context, sale FoldedSale) ([]saleCut, error) {
	ctx, cancel := context.WithTimeout(ctx, cutWait)
	defer cancel()
	var cuts []saleCut
	for _, place := range Places(c.Env.Store, sale.Sale) {
		cut, why, err := c.cut(ctx, place, sale)
		for ; err == nil && why != ""; cut, why, err = c.cut(ctx, place, sale) {
			if ctx.Err() != nil {
				return nil, &domain.Problem{Code: domain.CodeNotReady, Note: fmt.Sprintf("Bucket %d: %s.", place.Bucket, why)}
			}
			pause(ctx, cutPause)
		}
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, cut)
	}
	return cuts, nil
}

// cut looks at one bucket; why says what it waits for.
func (c *Cleanup) cut(ctx context.Context, place domain.Place, sale FoldedSale) (cut saleCut, why string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	seen, err := c.Gate.Peek(ctx, place, sale.SKUs())
	switch {
	case err != nil:
		return cut, "", fmt.Errorf("look at sale %s in the gate: %w", sale.ID, err)
	case !seen.Lane.Selling() || seen.Sale.State != HashOpen:
		return cut, "the gate is recovering", nil
	case seen.Sale.Applied != sale.Mark:
		return cut, "the gate has not heard yet that the sale is over", nil
	}
	cursors, err := c.Log.Cursors(ctx, []int{place.Lane()})
	switch {
	case err != nil:
		return cut, "", fmt.Errorf("read the cursor: %w", err)
	case cursors[0].Epoch != seen.Lane.Epoch:
		return cut, "the gate is recovering", nil
	case cursors[0].N < seen.Lane.N:
		return cut, "not all that was accepted is recorded yet", nil
	}
	return saleCut{place: place, epoch: seen.Lane.Epoch, n: seen.Lane.N}, "", nil
}

// reconciledItem: a reconciliation finds nothing.
type reconciledItem struct{ c *Cleanup }

func (reconciledItem) Name() string { return "reconciled" }

func (i reconciledItem) Do(ctx context.Context, run *CleanupRun) (string, error) {
	drift, err := i.c.Drift(ctx, run.Sale.ID)
	switch {
	case errors.Is(err, ErrNoCut):
		return "", &domain.Problem{Code: domain.CodeNotReady, Note: "The gate is not open, so the books cannot be compared with it."}
	case err != nil:
		return "", err
	case len(drift) > 0:
		return "", &domain.Problem{Code: domain.CodeNotReconciled, Note: fmt.Sprintf("Findings: %d, the first of kind %s. See `seckill reconcile --sale %s`.",
			len(drift), drift[0].Kind, run.Sale.ID)}
	}
	if run.Sale.Gateless() {
		return "log and views agree", nil
	}
	return "gate, log and views agree", nil
}

// noGate is told of a sale whose purchases the log alone judged.
const noGate = "the sale has no gate and no journal"

// recordedItem: since the sale ended, no lane of it was recovered, and each has
// recorded all that it wrote.
type recordedItem struct{ c *Cleanup }

func (recordedItem) Name() string { return "recorded" }

func (i recordedItem) Do(ctx context.Context, run *CleanupRun) (string, error) {
	if run.Sale.Gateless() {
		return noGate, nil
	}
	before := run.cuts
	var err error
	if run.cuts, err = i.c.cuts(ctx, run.Sale); err != nil {
		return "", err
	}
	var at []string
	for b, cut := range run.cuts {
		if cut.epoch != before[b].epoch {
			return "", errCutMoved // a recovery may have recorded more: begin again
		}
		at = append(at, fmt.Sprintf("lane %d up to entry %d-%d", cut.place.Lane(), cut.epoch, cut.n))
	}
	return strings.Join(at, ", "), nil
}

// gateItem: the gate holds nothing of the sale.
type gateItem struct{ c *Cleanup }

func (gateItem) Name() string { return "gate" }

func (i gateItem) Do(ctx context.Context, run *CleanupRun) (string, error) {
	if run.Sale.Gateless() {
		return noGate, nil
	}
	keys, err := i.c.Keeper.RemoveSale(ctx, run.Sale.Sale)
	if err != nil {
		return "", err
	}
	if keys == 0 {
		return "nothing of the sale is there", nil
	}
	return fmt.Sprintf("keys taken away: %d", keys), nil
}

// journalItem: the journals hold only what other sales need.
type journalItem struct{ c *Cleanup }

func (journalItem) Name() string { return "journal" }

func (i journalItem) Do(ctx context.Context, run *CleanupRun) (string, error) {
	if run.Sale.Gateless() {
		return noGate, nil
	}
	var lanes []int
	for _, place := range Places(i.c.Env.Store, run.Sale.Sale) {
		if lane := place.Lane(); !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
		}
	}
	var found []string
	for _, lane := range lanes {
		cut, err := i.c.Keeper.CutJournal(ctx, lane)
		if err != nil {
			return "", err
		}
		found = append(found, cut.text())
	}
	return strings.Join(found, ", "), nil
}

func (c LaneCut) text() string {
	text := fmt.Sprintf("lane %d: entries cut: %d", c.Lane, c.Entries)
	if c.Cut.ID.N > 0 {
		text += ", it begins behind " + c.Cut.ID.String()
	}
	if c.KeptFor != "" {
		text += ", the rest is kept for sale " + c.KeptFor
	}
	return text
}

// LogPart is a partition of the log and how far it is on its way out: open,
// closed, sealed, exported, detaching or detached.
type LogPart struct {
	First, Last int64
	State       string
}

// LogParts tells in which parts of the log a sale has records.
type LogParts interface {
	PartsOf(ctx context.Context, sale string) ([]LogPart, error)
}

// partitionItem tells where the sale's records are and what can be done about
// them. It never stands in the way.
type partitionItem struct{ c *Cleanup }

func (partitionItem) Name() string { return "partition" }

func (i partitionItem) Do(ctx context.Context, run *CleanupRun) (string, error) {
	parts, err := i.c.Parts.PartsOf(ctx, run.Sale.ID)
	if err != nil {
		return "", err
	}
	if len(parts) == 0 {
		return "its records are archived", nil
	}
	next := map[string]string{
		"open": "the log still writes there", "closed": "wait until it is sealed",
		"sealed": "`seckill archive export %d`", "exported": "`seckill archive detach %d`, once every sale there is cleaned up",
	}
	var told []string
	for _, p := range parts {
		text := fmt.Sprintf("positions %d to %d are %s", p.First, p.Last, p.State)
		if step := next[p.State]; strings.Contains(step, "%d") {
			text += ": " + fmt.Sprintf(step, p.First)
		} else if step != "" {
			text += ": " + step
		}
		told = append(told, text)
	}
	return strings.Join(told, "; "), nil
}

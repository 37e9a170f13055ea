package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// TallyItem of a clean-up waits for what the API nodes counted: after sale.cleaned
// nobody can tell it any more, and the closing statement would not know who was
// refused. A node that does not tell within the time is named and not waited for:
// it died.
type TallyItem struct {
	Env *Env
	Log eventstore.Reader
	// Settle is how long after its end a sale is waited for (5 s): nodes that sold
	// nothing are known by what they tell alone.
	Settle time.Duration
	// Wait bounds waiting for the nodes that sold something (15 s).
	Wait time.Duration
}

// Name is tallied.
func (TallyItem) Name() string { return "tallied" }

// Do waits for the tallies.
func (i TallyItem) Do(ctx context.Context, run *CleanupRun) (string, error) {
	settle, wait := orDefault(i.Settle, 5*time.Second), orDefault(i.Wait, 15*time.Second)
	ended, err := i.ended(ctx, run.Sale)
	if err != nil {
		return "", err
	}
	sold, err := i.nodes(ctx, run.Sale.ID)
	if err != nil {
		return "", err
	}
	giveUp := i.Env.Now().Add(wait)
	for {
		told, err := i.told(ctx, run.Sale.ID)
		if err != nil {
			return "", err
		}
		missing := slices.DeleteFunc(slices.Clone(sold), func(node string) bool { return slices.Contains(told, node) })
		now := i.Env.Now()
		if now.Sub(ended) >= settle && (len(missing) == 0 || !now.Before(giveUp)) {
			run.Sale, err = i.again(ctx, run.Sale)
			return heardFrom(told, missing), err
		}
		if pause(ctx, cutPause); ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
}

func heardFrom(told, missing []string) string {
	found := fmt.Sprintf("nodes that told what they were asked: %d", len(told))
	if len(missing) > 0 {
		found += "; no word from " + strings.Join(missing, ", ")
	}
	return found
}

// again gives the sale with the tallies that came meanwhile in its stream, so that
// the end of its life is written behind them.
func (i TallyItem) again(ctx context.Context, sale FoldedSale) (FoldedSale, error) {
	err := eachRecord(ctx, i.Log, domain.SaleStream(sale.ID), sale.Version, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		sale.Sale, sale.Mark = sale.FoldSale(ev), r.At()
		return nil
	})
	return sale, err
}

// ended is when the sale was over: its time, or when it was closed.
func (i TallyItem) ended(ctx context.Context, sale FoldedSale) (time.Time, error) {
	end := sale.Terms.ClosesAt
	closed, err := i.Log.Find(ctx, eventstore.Filter{SaleID: sale.ID, Type: (&domain.SaleClosed{}).EventType()}, 0, 1)
	if err != nil {
		return end, fmt.Errorf("read when sale %s was closed: %w", sale.ID, err)
	}
	if len(closed) > 0 && closed[0].RecordedAt.Before(end) {
		end = closed[0].RecordedAt
	}
	return end, nil
}

// nodes lists the nodes that took placed purchases.
func (i TallyItem) nodes(ctx context.Context, sale string) ([]string, error) {
	var nodes []string
	err := i.each(ctx, sale, (&domain.OrderPlaced{}).EventType(), func(r *eventstore.Record) error {
		var m Meta
		if err := json.Unmarshal(r.Metadata, &m); err == nil && m.Node != "" && !slices.Contains(nodes, m.Node) {
			nodes = append(nodes, m.Node)
		}
		return nil
	})
	return nodes, err
}

// told lists the nodes that told what they counted.
func (i TallyItem) told(ctx context.Context, sale string) ([]string, error) {
	var nodes []string
	err := i.each(ctx, sale, (&domain.SaleTallied{}).EventType(), func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		if e := ev.(*domain.SaleTallied); !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
		return nil
	})
	return nodes, err
}

func (i TallyItem) each(ctx context.Context, sale, kind string, do func(*eventstore.Record) error) error {
	var after int64
	for {
		page, err := i.Log.Find(ctx, eventstore.Filter{SaleID: sale, Type: kind}, after, streamPage)
		if err != nil {
			return fmt.Errorf("read %s of sale %s: %w", kind, sale, err)
		}
		for n := range page {
			if err := do(&page[n]); err != nil {
				return err
			}
			after = page[n].Position
		}
		if len(page) < streamPage {
			return nil
		}
	}
}

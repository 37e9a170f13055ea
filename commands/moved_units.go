package commands

import (
	"context"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// movesLog finds the moves of a sale.
type movesLog interface {
	Find(ctx context.Context, f eventstore.Filter, after int64, max int) ([]eventstore.Record, error)
}

// movedInto gives the units that moves have brought into any bucket, by SKU: the
// account of each bucket counts them as released, that of the item does not.
func movedInto(ctx context.Context, log movesLog, sale *domain.Sale) (map[string]int64, error) {
	units := map[string]int64{}
	if !several(sale) {
		return units, nil
	}
	err := eachOf(ctx, log, sale.ID, &domain.StockMovedIn{}, func(_ *eventstore.Record, ev domain.Event) {
		if e, ok := ev.(*domain.StockMovedIn); ok {
			units[e.SKU] += e.Quantity
		}
	})
	return units, err
}

// eachOf reads the events of one type of a sale.
func eachOf(ctx context.Context, log movesLog, sale string, kind domain.Event, f func(*eventstore.Record, domain.Event)) error {
	_, err := eachSince(ctx, log, sale, kind, 0, f)
	return err
}

// eachSince is eachOf after a position of the log, and gives that of the last one read.
func eachSince(ctx context.Context, log movesLog, sale string, kind domain.Event, after int64, f func(*eventstore.Record, domain.Event)) (int64, error) {
	for {
		page, err := log.Find(ctx, eventstore.Filter{SaleID: sale, Type: kind.EventType()}, after, streamPage)
		if err != nil {
			return after, fmt.Errorf("read %s of sale %s: %w", kind.EventType(), sale, err)
		}
		for i := range page {
			ev, err := decode(&page[i])
			if err != nil {
				return after, err
			}
			after = page[i].Position
			f(&page[i], ev)
		}
		if len(page) < streamPage {
			return after, nil
		}
	}
}

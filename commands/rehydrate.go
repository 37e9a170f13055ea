package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"seckill/domain"
)

// Rehydration is what building the gate again from the log did.
type Rehydration struct {
	Sale   string           `json:"sale,omitempty"` // "" for every sale
	Lanes  []LaneRehydrated `json:"lanes"`
	Events int64            `json:"events_applied"`
	TookMS int64            `json:"took_ms"`
}

// LaneRehydrated is one lane that was built again and sells under Epoch.
type LaneRehydrated struct {
	Lane   int      `json:"lane"`
	Epoch  int64    `json:"epoch"`
	Sales  []string `json:"sales"`
	Events int64    `json:"events_applied"`
	TookMS int64    `json:"took_ms"`
}

// RehydrateProgress is told how a rehydration goes on: Lane is the Done-th of All,
// and Events went into it so far. Finished is true once for each lane.
type RehydrateProgress struct {
	Lane, Done, All int
	Events          int64
	Finished        bool
}

// Rehydrate builds the gate again from the log under a new epoch, lane by lane,
// by the one procedure of recoverLane: the record and every stock hash of the sale
// (of every sale for "") start again from version 0. Purchases meet not_ready in a lane
// that is under way; accepted ones that are not yet recorded are recorded first.
// Others at the same lane wait for each other. A sale that was cleaned up stays
// away. tell may be nil. What was done before an error stays done.
func (k *Keeper) Rehydrate(ctx context.Context, sale string, tell func(RehydrateProgress)) (Rehydration, error) {
	began := k.env.Now()
	if tell == nil {
		tell = func(RehydrateProgress) {}
	}
	all, err := k.rehydrated(ctx, sale)
	if err != nil {
		return Rehydration{}, err
	}
	done := Rehydration{Sale: sale, Lanes: []LaneRehydrated{}}
	lanes := slices.Sorted(maps.Keys(all))
	for i, lane := range lanes {
		at := RehydrateProgress{Lane: lane, Done: i + 1, All: len(lanes)}
		one, err := k.rehydrateLane(ctx, lane, sale, func(events int64) {
			at.Events = events
			tell(at)
		})
		if err != nil {
			return done, fmt.Errorf("rehydrate lane %d: %w", lane, err)
		}
		one.Sales = all[lane]
		at.Events, at.Finished = one.Events, true
		tell(at)
		done.Lanes = append(done.Lanes, one)
		done.Events += one.Events
	}
	done.TookMS = k.env.Now().Sub(began).Milliseconds()
	return done, nil
}

// noteCleaned follows the sentence that a sale has ended.
const noteCleaned = "It was cleaned up, so the gate does not hold it any more."

// rehydrated lists the sales to build again by lane. An unknown sale, or one that
// was cleaned up, is a *domain.Problem.
func (k *Keeper) rehydrated(ctx context.Context, sale string) (map[int][]string, error) {
	if sale != "" {
		if _, err := domain.ParseSaleID(sale); err != nil {
			return nil, errNoSale()
		}
		folded, err := k.sales.Fold(ctx, sale)
		if err != nil {
			return nil, err
		}
		if folded.Cleaned {
			return nil, &domain.Problem{Code: domain.CodeSaleEnded, Note: noteCleaned}
		}
	}
	all, err := k.contents(ctx)
	if err != nil {
		return nil, err
	}
	lanes := map[int][]string{}
	for lane, buckets := range all {
		for _, b := range buckets {
			if (sale == "" || b.place.Sale == sale) && !slices.Contains(lanes[lane], b.place.Sale) {
				lanes[lane] = append(lanes[lane], b.place.Sale)
			}
		}
	}
	return lanes, nil
}

// rehydrateLane waits for the lane's lock as long as it takes.
func (k *Keeper) rehydrateLane(ctx context.Context, lane int, sale string, tell func(events int64)) (LaneRehydrated, error) {
	one := LaneRehydrated{Lane: lane}
	err := k.lockedWithin(ctx, ctx, lane, func(ctx context.Context) error {
		began := k.env.Now()
		seen, err := k.gate.Lane(ctx, lane)
		if err != nil {
			return fmt.Errorf("look at it: %w", err)
		}
		one.Epoch, err = k.recoverNow(ctx, lane, seen, recoveryWish{
			fresh: func(s string) bool { return sale == "" || s == sale },
			applied: func(events int) {
				one.Events += int64(events)
				tell(one.Events)
			},
		})
		one.TookMS = k.env.Now().Sub(began).Milliseconds()
		return err
	})
	return one, err
}

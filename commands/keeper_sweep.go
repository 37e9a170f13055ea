package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// sweepLane looks at everything a healthy lane holds, builds again what is missing,
// and notes what is behind the log: where that is no better at the next round, it is
// brought up.
func (k *Keeper) sweepLane(ctx context.Context, lane int, buckets []saleBucket) error {
	var faults []error
	for _, b := range buckets {
		k.keep(ctx, b)
		heads, err := k.look(ctx, b)
		if err != nil {
			faults = append(faults, fmt.Errorf("sweep sale %s: %w", b.place.Sale, err))
			continue
		}
		switch heads.standing {
		case bucketBroken:
			faults = append(faults, k.mend(ctx, b))
		case bucketBehind:
			k.late = append(k.late, lateBucket{b, heads.marks})
		}
	}
	return errors.Join(faults...)
}

// mend builds again what a bucket lacks, and brings up what stayed behind.
func (k *Keeper) mend(ctx context.Context, b saleBucket) error {
	err := k.locked(ctx, b.place.Lane(), func(ctx context.Context) error { return k.preheat(ctx, b) })
	if err != nil {
		return fmt.Errorf("sweep sale %s: %w", b.place.Sale, err)
	}
	return nil
}

// lateBucket is a bucket that was behind the log, and where the log stood then: the
// sale's stream, then the stock stream of each SKU.
type lateBucket struct {
	saleBucket
	heads []eventstore.Mark
}

// mendLate brings up what was behind and has not come to where the log stood then:
// what sells is always a little behind, and gets there by itself.
func (k *Keeper) mendLate(ctx context.Context, b lateBucket) error {
	seen, err := k.gate.Peek(ctx, b.place, b.skus)
	switch {
	case err != nil:
		return fmt.Errorf("look at sale %s again: %w", b.place.Sale, err)
	case reached(seen, b.heads):
		return nil
	}
	return k.mend(ctx, b.saleBucket)
}

// reached tells whether a bucket is whole and stands at places or beyond.
func reached(seen Peeked, places []eventstore.Mark) bool {
	if seen.Sale.State != HashOpen || seen.Sale.Applied.Number < places[0].Number {
		return false
	}
	for i, stock := range seen.Stocks {
		if stock.State != HashOpen || stock.Applied.Number < places[i+1].Number {
			return false
		}
	}
	return true
}

// How a bucket stands in the gate.
const (
	bucketWhole = iota
	bucketBehind
	bucketBroken
)

// bucketLook is how a bucket stands, and where its streams do.
type bucketLook struct {
	standing int
	marks    []eventstore.Mark
}

// look tells whether a bucket is not whole, not at its heads, or held without a word
// in the log. One that is beyond a head, or at another event than it, is broken: the
// log went back.
func (k *Keeper) look(ctx context.Context, b saleBucket) (bucketLook, error) {
	seen, err := k.gate.Peek(ctx, b.place, b.skus)
	if err != nil {
		return bucketLook{}, err
	}
	if k.releaseHold(ctx, b, seen) {
		return bucketLook{}, nil
	}
	heads, err := k.log.States(ctx, b.streams())
	if err != nil {
		return bucketLook{}, err
	}
	found := bucketLook{marks: make([]eventstore.Mark, len(heads))}
	for i, head := range heads {
		found.marks[i] = markOf(head)
	}
	found.standing = standingAt(seen.Sale.State, seen.Sale.Applied, found.marks[0])
	for i, stock := range seen.Stocks {
		found.standing = max(found.standing, standingAt(stock.State, stock.Applied, found.marks[i+1]))
	}
	return found, nil
}

func standingAt(state HashState, applied, head eventstore.Mark) int {
	switch {
	case state != HashOpen, applied.Number == Unreadable, applied.Number > head.Number:
		return bucketBroken
	case applied == head:
		return bucketWhole
	case applied.Number == head.Number:
		return bucketBroken
	}
	return bucketBehind
}

// heldTooLong is after what time a hold that the log does not confirm is taken
// for left behind: who set it died before it was recorded.
const heldTooLong = 5 * time.Second

// releaseHold takes away a hold that has stood for long without an event.
func (k *Keeper) releaseHold(ctx context.Context, b saleBucket, seen Peeked) bool {
	k.mu.Lock()
	since, known := k.held[b.place]
	switch {
	case !seen.Sale.Held:
		delete(k.held, b.place)
	case !known:
		k.held[b.place] = k.env.Now()
	}
	k.mu.Unlock()
	if !seen.Sale.Held || !known || k.env.Now().Sub(since) < heldTooLong {
		return false
	}
	sale, err := k.sales.Fold(ctx, b.place.Sale)
	if err == nil {
		_, err = k.gate.ApplySale(ctx, SalePage{Place: b.place, From: seen.Sale.Applied, To: sale.Mark, Sale: sale.Sale})
	}
	if err != nil {
		k.env.Log.Warn("hold left behind not taken away", "sale_id", b.place.Sale, "error", err)
		return false
	}
	k.env.Log.Warn("hold left behind taken away", "sale_id", b.place.Sale)
	return true
}

// streams names the sale's stream, then the stock stream of each SKU.
func (b saleBucket) streams() []string {
	names := []string{domain.SaleStream(b.place.Sale)}
	for _, sku := range b.skus {
		names = append(names, domain.StockStream(b.place.Sale, sku, b.place.Bucket))
	}
	return names
}

func markOf(s eventstore.StreamState) eventstore.Mark {
	return eventstore.Mark{Number: s.Version, Hash: s.Hash}
}

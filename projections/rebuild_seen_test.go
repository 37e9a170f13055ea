package projections_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/projections"
)

// What a reader has seen stays, by whichever way it asks, however often the tables
// are swapped under it.
func TestAnOrderOnceSeenIsInTheBuyersListAcrossSwaps(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 40)
	h.fill(200)
	p := h.projector(projections.All(), quick())
	h.run(p)
	l, _ := h.connect(p, straight)
	h.settle(projections.All())

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	var placed, seen atomic.Int64
	const first = 1_000_000
	running.Go(func() {
		for n := first; ctx.Err() == nil; n++ {
			_, group := h.placed(n)
			h.append(group...)
			l.relay.Notify()
			placed.Store(int64(n - first + 1))
		}
	})
	views := projections.NewViews(h.pool)
	for r := range 3 {
		running.Go(func() {
			for n := first + r; ctx.Err() == nil; n += 3 {
				if h.seenOnce(ctx, views, n) {
					seen.Add(1)
				}
			}
		})
	}
	for range 8 {
		h.rebuild(projections.RebuildOptions{})
	}
	stop()
	running.Wait()
	if seen.Load() < 50 {
		t.Errorf("of %d orders %d were seen: this test shows nothing", placed.Load(), seen.Load())
	}
}

// seenOnce waits until the view has an order, and asks again and again from then
// on: alone, in its buyer's list, and by number.
func (h *house) seenOnce(ctx context.Context, views *projections.Views, n int) bool {
	buyer := fmt.Sprintf("buyer-%d", n%7)
	id := h.orderID(n, buyer)
	for there := false; !there; {
		if ctx.Err() != nil {
			return false
		}
		_, ok, err := views.Order(h.ctx(), id)
		if err != nil {
			h.t.Errorf("read order %d: %v", n, err)
			return false
		}
		there = ok
	}
	for range 5 {
		page, err := views.OrdersOfBuyer(h.ctx(), h.sale, buyer, 1000, "")
		found := false
		for _, o := range page.Orders {
			found = found || o.ID == id
		}
		if _, ok, oneErr := views.Order(h.ctx(), id); !ok || err != nil || oneErr != nil || !found && page.Next == "" {
			h.t.Errorf("order %d was seen, and then: alone %v, in the list %v; errors %v, %v", n, ok, found, err, oneErr)
			return false
		}
	}
	return true
}

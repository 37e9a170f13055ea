package cli

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"seckill/projections"
)

// watchEvery is how often the demo looks how many orders are decided.
const watchEvery = 25 * time.Millisecond

// watch follows how many orders of the sale are decided and projected.
type watch struct {
	count atomic.Int64
	quit  context.CancelFunc
	done  sync.WaitGroup

	mu   sync.Mutex
	rose time.Time // when the count last rose
}

// startWatch watches until it is stopped.
func (s *stage) startWatch(ctx context.Context) *watch {
	w := &watch{}
	ctx, w.quit = context.WithCancel(ctx)
	views := projections.NewViews(s.app.pool)
	w.done.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			sum, err := views.Summary(ctx, s.sale)
			if err != nil {
				continue // looked at again in a moment; what ends badly shows at the end
			}
			if n := sum.Placed + sum.Rejected; n > w.count.Load() {
				w.mu.Lock()
				w.rose = time.Now()
				w.mu.Unlock()
				w.count.Store(n)
			}
		}
	})
	return w
}

// decided is how many orders are placed or rejected in the summary.
func (w *watch) decided() int64 { return w.count.Load() }

// lastRise is when the last order was seen decided.
func (w *watch) lastRise() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rose
}

func (w *watch) stop() {
	w.quit()
	w.done.Wait()
}

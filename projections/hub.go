package projections

import (
	"sync"

	"seckill/eventstore"
)

// Hub wakes who waits for a change of an order. It only knows changes recorded or
// applied by this process, so waiting is a hint that saves polling, never a promise:
// who waits looks again after a while, whatever happens.
type Hub struct {
	max int

	mu      sync.Mutex
	waiting map[string]*watched
	moved   chan struct{}
}

// watched is an order that somebody waits for.
type watched struct {
	changed chan struct{}
	waiters int
}

// NewHub gives a hub that remembers at most max orders that are waited for.
func NewHub(max int) *Hub {
	return &Hub{max: max, waiting: map[string]*watched{}, moved: make(chan struct{})}
}

// Watch gives a channel that is closed after the next change of an order. Watch
// first and then look, and no change is missed. Call stop when done. Where too
// many orders are waited for, ok is false and the channel never closes.
func (h *Hub) Watch(order string) (changed <-chan struct{}, stop func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.waiting[order]
	if w == nil {
		if len(h.waiting) >= h.max {
			return nil, func() {}, false
		}
		w = &watched{changed: make(chan struct{})}
		h.waiting[order] = w
	}
	w.waiters++
	return w.changed, func() { h.leave(order, w) }, true
}

func (h *Hub) leave(order string, w *watched) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.waiters--
	if w.waiters == 0 && h.waiting[order] == w {
		delete(h.waiting, order)
	}
}

// Stored wakes who waits for an order of which this process has stored an event: the
// log has it then, the view may not have it yet.
func (h *Hub) Stored(records []eventstore.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return
	}
	for i := range records {
		h.wake(records[i].OrderID)
	}
}

// wake wakes who waits for an order. The caller holds the lock.
func (h *Hub) wake(order string) {
	if w := h.waiting[order]; w != nil {
		close(w.changed)
		delete(h.waiting, order)
	}
}

// committed wakes who waits for these orders, and who waits for progress.
func (h *Hub) committed(orders []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, order := range orders {
		h.wake(order)
	}
	close(h.moved)
	h.moved = make(chan struct{})
}

// progress gives a channel that is closed after the next commit.
func (h *Hub) progress() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.moved
}

package api

import "sync"

// pollsPerBuyer is how many polls of one buyer wait at a node: one for each of a few
// orders, or of a few devices.
const pollsPerBuyer = 4

// polls bounds how many long polls wait, of one buyer and of all: each holds a
// connection for as long as it asks to. It remembers nobody who does not wait.
type polls struct {
	most int // of all

	mu      sync.Mutex
	waiting int
	of      map[string]int
}

func newPolls(most int) *polls { return &polls{most: most, of: map[string]int{}} }

// enter tells whether one more poll of a buyer may wait; then leave ends its wait. One
// that may not is answered with what is known.
func (p *polls) enter(buyer string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting >= p.most || p.of[buyer] >= pollsPerBuyer {
		return false
	}
	p.waiting++
	p.of[buyer]++
	return true
}

func (p *polls) leave(buyer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	if p.of[buyer]--; p.of[buyer] == 0 {
		delete(p.of, buyer)
	}
}

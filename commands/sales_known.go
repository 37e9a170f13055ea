package commands

import (
	"maps"
	"slices"
)

// Known gives a sale as it was last folded here, however old that is, and asks
// nobody. False where it was never asked for.
func (s *Sales) Known(id string) (FoldedSale, bool) {
	s.mu.Lock()
	c, ok := s.known[id]
	s.mu.Unlock()
	if !ok {
		return FoldedSale{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sale, true
}

// Remembered gives every sale that was folded here, as it was last, and asks nobody.
func (s *Sales) Remembered() []FoldedSale {
	s.mu.Lock()
	known := slices.Collect(maps.Values(s.known))
	s.mu.Unlock()
	sales := make([]FoldedSale, len(known))
	for i, c := range known {
		c.mu.Lock()
		sales[i] = c.sale
		c.mu.Unlock()
	}
	return sales
}

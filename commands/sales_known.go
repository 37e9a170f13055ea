package commands

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

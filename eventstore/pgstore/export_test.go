package pgstore

// Waiting tells how many works wait to be taken into a batch.
func (s *Store) Waiting() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.works)
}

// FindQuery is the statement of a search and its arguments.
var FindQuery = findQuery

package projections

import (
	"sync"

	"seckill/eventstore"
)

// RunnerStats are the place of a runner and its running totals since the start.
type RunnerStats struct {
	Projection string
	Shard      int
	Core       bool
	// At is how far the checkpoint was when this runner last saw it.
	At eventstore.Mark
	// Applied counts events folded, Gaps batches that came behind a gap, Faults
	// attempts that failed, Misdirected batches meant for others.
	Applied     int64
	Gaps        int64
	Faults      int64
	Misdirected int64
	// SetAside counts the sequences that are parked or dropped.
	SetAside int
	// Fault is what stops the shard right now, "" when nothing does.
	Fault string
}

// runnerState is what a runner tells about itself, readable while it works.
type runnerState struct {
	mu    sync.Mutex
	stats RunnerStats
	seen  eventstore.Mark // At of the last tick
}

func (s *runnerState) moved(at eventstore.Mark, facts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.At = at
	s.stats.Applied += int64(facts)
}

func (s *runnerState) setAside(parked parkedSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.SetAside = len(parked)
}

func (s *runnerState) gap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Gaps++
}

func (s *runnerState) failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.Fault != ""
}

// fail notes what stops the shard, and logs it where it is news.
func (s *runnerState) fail(r *Runner, err error) {
	s.mu.Lock()
	news := s.stats.Fault != err.Error()
	s.stats.Faults++
	s.stats.Fault = err.Error()
	s.mu.Unlock()
	if news {
		r.p.options.Log.Error("a projection's shard has stopped and will be tried again",
			"error", err, "projection", r.projection.Name, "shard", r.row.shard, "store", r.row.store)
	}
}

// recover notes that the shard goes on.
func (s *runnerState) recover(r *Runner) {
	s.mu.Lock()
	was := s.stats.Fault
	s.stats.Fault = ""
	s.mu.Unlock()
	if was != "" {
		r.p.options.Log.Info("a projection's shard goes on", "projection", r.projection.Name, "shard", r.row.shard, "store", r.row.store)
	}
}

// misdirect notes a batch for another store or another number of shards.
func (s *runnerState) misdirect(r *Runner, b eventstore.Batch) {
	s.mu.Lock()
	s.stats.Misdirected++
	first := s.stats.Misdirected == 1
	s.mu.Unlock()
	if first {
		r.p.options.Log.Error("the bus delivers batches that are not for this projection; its records are read from the store",
			"projection", r.projection.Name, "shard", r.row.shard, "shards", r.p.options.Shards, "store", r.row.store,
			"batch_shard", b.Shard, "batch_shards", b.Shards, "batch_store", b.Store)
	}
}

// place gives At without learning anything.
func (s *runnerState) place() eventstore.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.At
}

// stuck tells whether the runner has stood still since the last look although
// the log reached head before it.
func (s *runnerState) stuck(head int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	still := s.seen == s.stats.At && s.stats.At.Number < head
	s.seen = s.stats.At
	return still
}

func (r *Runner) stats() RunnerStats {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	s := r.state.stats
	s.Projection, s.Shard, s.Core = r.projection.Name, r.row.shard, r.projection.Core
	return s
}

package redisgate

import "sync/atomic"

// A crowd that finds everything gone is told so without what the journal would carry of
// its purchases: that is most of what such a call costs. So a call is lean once
// leanAfter calls of leanFrom purchases or more, one after the other, have taken nothing.
// A lean call judges as any other, and writes nothing: if something is to be had again it
// answers nothing, and the call is made again with everything. That costs a judgement
// too many, once in leanAfter calls at most.
const (
	leanAfter = 8
	leanFrom  = 16
)

// lean tells of a lane whether its calls are lean. The zero value says no.
type lean struct{ barren atomic.Int32 }

func (l *lean) on() bool { return l.barren.Load() >= leanAfter }

// saw takes notice of an answered call of n purchases that may take, or of a lean one
// that would have to.
func (l *lean) saw(n int, took bool) {
	switch {
	case took:
		l.barren.Store(0)
	case n >= leanFrom && !l.on():
		l.barren.Add(1)
	}
}

// fullAt gives how many purchases a call of the lane takes at most: of lean ones, which
// are short, twice as many. So is the one that follows where something is to be had again.
func (g *Gate) fullAt(lane int) int {
	if g.lanes[lane].lean.on() {
		return min(2*g.opt.MaxBatch, maxBatch)
	}
	return g.opt.MaxBatch
}

// wantsBlobs tells whether a lean call was answered that something is to be taken.
func wantsBlobs(reply any) bool {
	answers, ok := reply.([]any)
	return ok && len(answers) == 0
}

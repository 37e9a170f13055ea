// Package guard stands between what buyers ask and the stores: a breaker around
// each, and the measure of the gate that the admission of purchases follows.
//
// It owns when a store is given a rest: when half of what was asked of it in two
// seconds failed, and at least five questions did, nothing is asked for a second;
// then two questions probe it, and one that fails gives it another second. On a Redis
// cluster each master is a store of its own.
//
// It promises that a question that it holds back was not asked at all: to the gate
// that is "nothing happened", to the log "not available". What became of a
// purchase whose answer was lost is always asked for (Resolve passes), so that an
// unknown outcome is never taken for a failed one. A caller who gives up, and a
// purchase that waited too long in our own queue, say nothing against a store.
//
// The book of tickets has a breaker, too: while it rests nobody gets a ticket. The
// limits per buyer keep one of their own (infra/limits), which lets pass.
//
// It refuses to guard what records, recovers and repairs: that goes on trying.
package guard

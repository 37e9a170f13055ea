// Package memgate is the gate in memory: the domain's stock aggregate and the
// domain's judgement behind the ports of a gate, with an in-memory journal.
//
// It owns nothing outside the process. It promises what every gate promises
// (commands/gatetest), and gives tests what a real server cannot: a clock that
// is handed in, a process that changes on command (SetServer), hashes that get lost (Lose), and copies of
// everything it holds (Snapshot, Restore), so that failovers to older data are
// one line.
//
// It refuses to hold rules of its own: what may be bought is domain.Judge, and
// what an event does to a stock is domain.Stock.
package memgate

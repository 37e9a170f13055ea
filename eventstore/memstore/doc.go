// Package memstore is an event store in memory, for tests: the whole contract of
// eventstore (storetest) with guards, claims, cursors and the hash chain, and
// nothing that lasts.
//
// It owns nothing outside the process. Beside the contract it gives tests what a
// real database cannot: a clock that is handed in, and copies of everything it
// holds (Snapshot, Restore), so that a database that was put back to an older
// state is one line.
//
// It works on one submission at a time, under a lock that is the log lock. It
// refuses to be used by what ships: its log ends with the process.
package memstore

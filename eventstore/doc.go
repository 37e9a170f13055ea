// Package eventstore owns the form of the log: records, streams, versions,
// positions, the hash chain, and the one way to write: a Work whose decide
// function runs while the log lock is held.
//
// It promises: positions are dense (1, 2, 3 …; a hole is proof of loss),
// versions of a stream are contiguous from 1, a group of appends is stored
// whole or not at all, one refused group never fails its neighbours, and every
// record carries the hash of everything before it.
//
// It knows names and bytes, not what an event means. Beside the log it keeps
// three kinds of side rows that must change in the same transaction, under the
// same lock: guards (counters of a stock stream), claims (who holds which
// order of a sale) and cursors (how far a journal has been recorded). Their
// numbers are chosen by the caller; the store only keeps them consistent.
//
// It refuses to update, delete or reorder anything, and it never imports
// domain. Implementations live under it (pgstore); storetest is their contract.
// seal and archive are the forms in which it is proved to others.
package eventstore

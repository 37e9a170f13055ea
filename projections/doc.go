// Package projections folds the log into tables that answer questions: the
// order view, the stock log, the summary of a sale. It keeps the checkpoints,
// and it answers from the tables.
//
// It promises that rows and checkpoint change in one transaction, so that every
// record is applied exactly once however often it is delivered; that what the
// bus loses, doubles or delays is healed from the store; and that the same log
// folds to the same bytes: no clock, no chance, no order of delivery shows in a
// row.
//
// What cannot be applied is told apart. A fault of a store (connection, timeout,
// conflict) stops the shard and is tried for ever. A fault of an event (its bytes
// cannot be read, its fold refuses it, PostgreSQL refuses its data) is tried
// three times; then that event and the later ones of its sequence
// (Record.SequenceKey) are parked in dead_letters, and all others go on. Parked
// sequences are remembered across batches, processes and rebuilds, and applied in
// order by DeadLetters.Retry under the lock of their checkpoint. Where very many
// sequences fail, the events are not to blame, and the shard stops.
//
// A projection writes rows of its own shard only. The shard of a record follows
// from its order, or from its stream where it has none (eventstore.ShardOf).
//
// Rebuild folds the whole log into tables beside those that are read, verifies
// the hash chain, compares them with a quiet fold (Proof) and swaps them in one
// short transaction, while events flow. docs/views.md tells how a fold or a shape
// changes.
//
// To add one: a file here with its fold and its Proof, its test, a migration with
// its table (which it also names in view_tables), and one line in All.
//
// It refuses to decide anything, to write into the log, and to know the bus,
// the gate or HTTP.
package projections

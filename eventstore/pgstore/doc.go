// Package pgstore keeps the event store in PostgreSQL.
//
// It owns the log lock (an advisory lock whose key carries the namespace), the
// group-committing appender that writes under it, reading in short statements,
// making partitions ahead of need, and deleting old versions of hot streams.
//
// A small batch is two round trips under the lock: begin, lock and read everything
// the works look at; write each table once and commit. In between the works are
// decided in memory, one after the other, each seeing what the earlier ones
// decided. A large batch is decided and written in parts, so that the server writes
// one while the next is decided; many rows are written by COPY; one commit ends it. What a group touches beyond the needs of its work costs one more
// round trip for the batch, and so does a batch without events, which asks for
// its transaction id.
//
// It promises what package eventstore promises, and about faults: before the
// last rows and the commit behind them are sent nothing is stored, nor when PostgreSQL
// refuses any of it, and the batch is tried again for a bounded time. When the
// reply is lost the outcome is found out and never guessed: a new session takes
// the log lock, so that the old transaction has ended, and looks whether the
// batch's first event stands at its position; a batch without events (a cursor
// alone) is found out by its transaction id. Meanwhile its submitters wait. When PostgreSQL refuses the data of a batch,
// every work of it is tried alone, and only those refused alone get ErrData.
//
// An event id is unique within a partition by index. A repeated append is
// recognised by its stream and version, or, with AnyVersion, by the id of its
// first event; where that id stands in another stream of the log, other than in a
// part that was detached, the append is a conflict.
//
// Beside the log it keeps the seals, and partitions that were exported can be
// detached. A read that would have to look there gives an ArchivedError that says
// where the records are; it never gives a part for the whole. Log and seals are
// append-only also for the application's own role, by right and by trigger.
//
// It refuses to update or delete an event (so does the database), and to run a
// transaction longer than a few seconds.
package pgstore

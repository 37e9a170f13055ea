// Package chaos holds the fault matrix: every role and every store of an installation,
// broken in every way that we can break it, in the middle of three sales under a steady
// load over HTTP.
//
// Roles run as processes of their own (two API processes, two recorders, one relay, one
// projector, one scheduler) on a PostgreSQL, a Redis and a Kafka of the test, each behind
// networks of its own that fail when told to. A cell of the matrix is one fault of one of
// them, for a bounded time; of it is told what buyers were answered, what became of
// everything that was acknowledged, and how long it took until all was as before.
//
// It promises that a cell without findings has lost nothing: every acknowledged order is
// decided once, every buyer who was told to come again has come again, the scarce sales
// are sold to the last unit and not further, and log, gate and views agree (e2e.StandingChecks).
// docs/reliability.md is written by the run from docs/reliability.json. A few cells run
// with all other tests; the whole matrix by `make chaos`.
package chaos

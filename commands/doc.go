// Package commands holds what can be asked of the engine, one file per thing:
// buying, finding an order, ending or paying one (Orders), ending those that nobody
// paid (Expirer), scheduling, steering and cleaning up a sale, and the two
// machines that keep gate and log in step (recorder and lane keeper); sealing the
// log, auditing it, and proving an order; counting what was asked for, and the
// closing statement of a sale.
//
// It owns the ports of the gate (ports_gate.go, ports_lane.go, ports_clean.go,
// ports_scan.go) and the form of
// the journal between gate and log (journal.go). It promises that units leave
// the gate before the log says so and enter it only after, that every accepted
// purchase ends placed or rejected with a reason, and that an unknown outcome is
// found out, never taken for a failure.
//
// A sale of the strategy postgres has no gate: direct.go judges its purchases under the
// log lock, by the same domain.Judge, and records them in that transaction. Places lists
// nothing for it, so that whoever looks after gates passes it over; strategy.go asks, for
// each sale, whoever judges it.
//
// A sale of several buckets (level.go and its neighbours, move.go): the leveller moves
// units to the bucket that is asked for, by journal and log like everything that leaves
// and enters the gate, and it alone says that such a sale is sold out. Nothing is
// promised about where units lie; that every one can be sold is.
//
// What is known already is answered without the gate's Reserve (early.go, soldout.go,
// known.go): each such answer is the one that the gate would have given at a moment
// since the purchase arrived, and whoever may have an order is left to the gate. Sales
// are folded from the log and kept for a moment (sales.go, sales_cold.go): a crowd, or
// made-up ids, cost the log a few reads.
//
// The answer to an accepted purchase may wait until the log has decided it (placed.go):
// where the sale's strategy says so, and where the gate could not keep it as strongly
// as the sale asks. What the gate's server gives is compared with what sales ask, and
// one that asks for more does not open (strength.go, strength_watch.go).
//
// An order is decided at the version of its stream under the log lock, so it is paid,
// cancelled or expired, once, whoever asks at the same time. The end of its hold is
// one group with its event: one stock.returned (or stock.written_off) per line, the
// guard, the claim. Who committed it brings the units into the gate before it
// answers; the lane keeper's sweep is the net. Due orders are found in the order
// view, and among those that it has set aside in the dead letters; one that a view
// has lost without a trace is a finding of the reconciliation, and expires when the
// view is built again. The log alone decides, by its own clock.
//
// A reconciliation (reconcile.go) reads what stands beside the log, and only then the
// log; what changed between the two is looked at again, in one step, before it is a
// finding. A repair (repair.go) decides once more under the lock of what it changes,
// and is noted as an event; the gate is never mended by adding or taking units, only
// built again from the log. findings_table.go is the one table of kinds.
//
// The story of a purchase (story.go) is read from gate, log and views as they are, and a
// receipt (receipts.go) says by what a refusal was told, so that the log can be asked
// later whether it was right (receipt_explain.go). Neither stores anything.
//
// It refuses to know HTTP, SQL, Redis or any other driver: it imports domain and
// eventstore only.
package commands

// Package commands holds what can be asked of the engine, one file per thing:
// buying, finding an order, scheduling and steering a sale, and the two
// machines that keep gate and log in step (recorder and lane keeper); sealing the
// log, auditing it, and proving an order; counting what was asked for, and the
// closing statement of a sale.
//
// It owns the ports of the gate (ports_gate.go, ports_lane.go) and the form of
// the journal between gate and log (journal.go). It promises that units leave
// the gate before the log says so and enter it only after, that every accepted
// purchase ends placed or rejected with a reason, and that an unknown outcome is
// found out, never taken for a failure.
//
// It refuses to know HTTP, SQL, Redis or any other driver: it imports domain and
// eventstore only.
package commands

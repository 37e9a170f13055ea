// Package redisgate is the gate on Redis, on one server or a cluster: it decides who
// gets a unit.
//
// It owns the keys of a namespace (keys.go), the scripts (scripts/*.lua) and the
// coalescing of concurrent purchases into one script call per lane. The layout
// of the keys and the form of the scripts carry versions; a lane of another
// layout is left alone.
//
// It promises: no more units are handed out than a stock hash holds; every yes
// stands in the journal of its lane, written by the same script before anything
// else; asking again with the same order id gives the first answer; nothing is
// sold by a lane that was not opened on the very process that answers. Faults
// are sorted into "nothing happened" and "unknown" (errors.go). After an attempt
// with unknown outcome, only an answer about that very order counts.
//
// On a cluster all keys of a lane lie in one slot, and every script works in one lane.
// A lane whose slot or master changed is on another process, and so is closed. Ranges
// of lanes may live on servers or clusters of their own (Options.Elsewhere).
//
// Where a sale asks that a replica has what it accepts, a call asks the server for it
// behind its script, on the same connection (proof.go); an acceptance without that
// word in time stands, and is marked as weak. What the server's settings give is read
// from them (strength.go).
//
// What a crash means: of the process, purchases that were sent stand in the
// journal or do not, and Resolve finds out; of Redis, its run id changes, and
// every lane answers -1 until a recovery has brought the log back into it.
//
// It refuses to invent stock, to overwrite a live hash except by an explicit
// reset, to run on a server that may evict keys, and to know the log: what
// stands there comes in through ApplyStock and ApplySale.
package redisgate

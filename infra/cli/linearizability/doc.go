// Package linearizability plays short histories of purchases, cancellations, payments,
// releases and withdrawals over HTTP against several processes of the built program
// while stores and processes fail, and lets porcupine look for one order in time in which
// a single shop with one book would have given the very same answers.
//
// It owns the sequential model of a sale (stock, limit, repeats, idempotency keys; see
// docs/linearizability.md), and promises that an answer that never came is neither taken
// for a no nor for a yes, and that a gate that reads before it writes is caught by the same
// checker. It refuses to measure time, and to call a history good that was not decided.
package linearizability

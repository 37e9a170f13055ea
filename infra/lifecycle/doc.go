// Package lifecycle starts the parts of a process in order and stops them in
// reverse, so that nothing is used before it runs or after it stopped.
//
// It owns the order, the deadlines, and what signals and failures do. It
// promises:
//   - A part is started only when the one before it has started. If one cannot
//     start, those that did are stopped again.
//   - Every part that started is stopped, last first, each within a deadline of
//     its own; one that misses it is reported and does not hold up the others.
//   - The first signal stops in order. A second one ends the process at once.
//   - A part that fails while it runs stops all, and its error is what Run
//     returns.
//
// It refuses to know what the parts do, to restart them, and to log: it returns
// errors that name the part.
package lifecycle

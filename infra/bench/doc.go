// Package bench rehearses a sale from outside, over HTTP, and judges what it saw.
//
// It owns the scenarios, the crowd each of them sends (by infra/load), the watch over
// what is accepted and not yet recorded or projected, the checks at the end, and the
// report with its page. It promises that a report says what was offered, not what got
// through; that a run in which the generator itself was the bottleneck says that it is
// invalid, and why; and that what it did not ask, or could not, is named as not
// checked, never as good.
//
// It refuses to know the stores: whatever it says, a client with an operator's token
// can find out about any installation.
package bench

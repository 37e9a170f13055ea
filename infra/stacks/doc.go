// Package stacks tells what the goroutines of this process wait for, grouped: a free
// connection of Redis or PostgreSQL, an answer of either, the log lock, the gate's
// call, and so on. It is the first question when latency is high and the processor idle.
//
// A look at up to MostWithWaits goroutines stops the process while their stacks are
// written (measured: up to 60 µs each on two cores busy many times over), and knows for
// how long each has waited, in whole minutes, and which it is. A look at more than that
// reads the runtime's profile, which lets them run meanwhile (1 µs each for some
// thousands of them, 6 µs for 20,000) and knows neither. Taker bounds how often anybody
// looks.
//
// It judges nothing: many who wait are no fault by themselves. It knows the packages
// it sees by the names of their functions alone and imports none of them.
package stacks

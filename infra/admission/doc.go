// Package admission bounds how many purchases this node works on at once.
//
// It owns the ceiling, which follows what the gate can take: it grows while the
// gate answers in time and the room is used, and shrinks, down to a floor, when
// the mean time of a gate call passes its target. The time is that of the gate
// call alone, so that a slow body or a cheap refusal says nothing about it.
//
// It promises that no more than the ceiling are inside, that whoever is turned
// away has cost nothing but the question, and that what it remembers is bounded
// by the ceiling and the queue.
//
// Newest first: over the ceiling it is the purchase that has just come that is
// refused. Nobody inside or in the queue is pushed out by it, so that what was
// begun ends within its deadline. A queue exists only in the first two seconds of
// a sale, when a refusal would come back at once anyway: first come, first
// served, each with a deadline of its own, so that nobody is let in who has given
// up. At any other time a queue would only make everybody late.
//
// It refuses to know what a purchase is.
package admission

// Package tickets keeps the book of purchase tickets in Redis: who has one, and
// until when it is good.
//
// One script call decides, by the clock of that Redis, so that all nodes together
// give out no more than a sale allows, and the same buyer the same ticket while it
// is good. Tickets are signed and checked elsewhere: a book that is away, or lost,
// makes no ticket bad that is out. A lost book counts from 0 again.
//
// A sale's book holds an entry for each buyer who asked, about 100 bytes, and goes
// a day after the sale. Beside the books each node says which proof of work it asks
// for, so that one that differs is warned of. A book does not know which tickets were used: the gate does.
package tickets

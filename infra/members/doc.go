// Package members stores lists of buyers who may buy, in Postgres, beside the log.
//
// It promises that a list is read as it was stored, in pages of bounded memory. It
// does not decide which list counts: the log of a sale names it, with a count and
// a digest that whoever reads a list compares.
package members

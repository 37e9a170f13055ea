// Package properties runs random programs over a whole installation: buyers,
// payments, operators, the clock, and processes and stores that die, on a real
// PostgreSQL and a real Redis.
//
// It owns the model that says which answers a program may meet, and promises that
// after each program the standing checks C1 to C6 hold, that no accepted purchase
// vanished, and that the log says of every order and unit what the model says. A
// program is data and has a text form: one that fails is shrunk, printed, and can be
// kept under testdata/programs, where it runs every time. See docs/properties.md.
//
// It refuses to know how an answer comes about: the model is written from the
// contract, and shares no code with what it judges.
package properties

// Package mutants breaks the program on purpose, one line at a time, and wants each
// break caught by a test: a test that never fails proves nothing.
//
// It owns the table of mutants: which line of which file (Go, Lua or SQL), what it
// becomes, which standing check or promise that breaks, and the test that must fail,
// saying so. A mutant is built with `go test -overlay`: no file of the checkout is
// touched. One that survives fails the tests, and so does one whose line is gone, whose
// build does not compile, or whose test fails without it.
//
// It refuses to look for mutants by itself: each stands for a fault that somebody
// could make. `make mutants` runs all of them; the table in docs/properties.md is
// written from this one.
package mutants

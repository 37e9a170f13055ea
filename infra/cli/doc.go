// Package cli is the program: its commands, one file each, and the one place
// where everything is put together (app.go).
//
// It promises the exit codes of the contract (0 good, 1 failure, 2 usage, 3 the
// check found something), that --json leaves nothing but JSON on stdout while
// progress and logs go to stderr, that what a person did or met is told in one
// sentence and never as a stack trace, and that a command works on configured
// stores and on private ones alike.
//
// Where sales live on several databases a command works on each, on the one that
// --database names, or on that of the sale or order it names (databases.go); serve runs an
// application for each and one API over all (house.go).
//
// It refuses to decide anything about purchases: commands does. It is the only
// package that knows every other.
package cli

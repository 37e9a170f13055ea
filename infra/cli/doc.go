// Package cli is the program: its commands, one file each, and the one place
// where everything is put together (app.go).
//
// It promises the exit codes of the contract (0 good, 1 failure, 2 usage, 3 the
// check found something), that --json leaves nothing but JSON on stdout while
// progress and logs go to stderr, that what a person did or met is told in one
// sentence and never as a stack trace, and that a command works on configured
// stores and on private ones alike.
//
// It refuses to decide anything about purchases: commands does. It is the only
// package that knows every other.
package cli

// Package domain says what a sale, a stock and an order are: which events
// happen to them, what may be decided, and how a person is told no.
//
// It promises to be pure: no clock, no randomness, no driver, nothing of ours
// imported. Times, random bits and keys are handed in; the same events always
// fold to the same state, today and in ten years.
//
// The forms that are stored (event payloads, their names and versions) are
// written by hand in events.go and names.go and held by golden files: renaming
// a Go type never touches the log.
package domain

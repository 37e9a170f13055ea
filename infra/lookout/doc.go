// Package lookout looks at stores again and again, for people who watch.
//
// It owns the mechanism: a Part looks at one thing in a loop of its own, so that a store
// that hangs holds up no other part; a Series turns numbers into how fast they grow over
// a window; Streams hands one piece of text to all who watch. It promises that what a
// part saw is told with its age, and told as unknown as soon as a look failed or is
// late, so that no number of before is taken for one of now.
//
// It refuses to know what is looked at.
package lookout

// Package skew tells the time, and lets a test put the clock of this process wrong.
//
// It owns the variable SECKILL_TEST_CLOCK and promises that it is time.Now unless the
// program was built with the tag crashpoints: the clock of an ordinary build cannot be
// moved. With the tag, SECKILL_TEST_CLOCK names a file with a duration, such as 5s or
// -5s, that is added to the time; it is read at each look, so that a clock jumps while
// the process works. A missing or empty file is no offset.
//
// A clock that was put wrong moves what is measured between two looks as well, which a
// machine's clock does not do to a Go program: this is the harsher of the two.
package skew

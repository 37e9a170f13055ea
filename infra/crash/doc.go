// Package crash gives names to the points between two steps of a flow at which
// a test may kill the process.
//
// It owns the variable SECKILL_CRASH_AT and promises that it does nothing
// unless the program was built with the tag crashpoints: an ordinary build
// cannot be told to crash. With the tag, SECKILL_CRASH_AT=name kills the
// process with SIGKILL when it first comes to the point of that name, and
// SECKILL_CRASH_AT=name:3 when it comes there the third time. Nothing is
// flushed, closed or rolled back, as if the machine had taken the process away.
//
// It refuses to know the points: a name belongs to the code that has it.
package crash

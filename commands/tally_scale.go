package commands

// The scale of arrivals: 289 slices by milliseconds after the opening of a sale,
// fine where a flash sale is decided and coarse elsewhere. This table is the one
// place that knows it; stored tallies name the begin of each slice, so that it may
// change between one version of the program and the next.
//
//	from         each        slices
//	a day before             1 (and all that came earlier)
//	-60 s        10 s        5
//	-10 s        1 s         9
//	-1 s         100 ms      10
//	0            10 ms       200
//	2 s          500 ms      16
//	10 s         5 s         10
//	1 min        1 min       9
//	10 min       10 min      5
//	1 h          1 h         23
//	24 h                     1 (and all that came later)
var tallyScale = [...]tallySpan{
	{from: -86_400_000, step: 86_340_000, first: 0},
	{from: -60_000, step: 10_000, first: 1},
	{from: -10_000, step: 1_000, first: 6},
	{from: -1_000, step: 100, first: 15},
	{from: 0, step: 10, first: 25},
	{from: 2_000, step: 500, first: 225},
	{from: 10_000, step: 5_000, first: 241},
	{from: 60_000, step: 60_000, first: 251},
	{from: 600_000, step: 600_000, first: 260},
	{from: 3_600_000, step: 3_600_000, first: 265},
	{from: 86_400_000, step: 1 << 62, first: 288},
}

// tallySlices is how many slices the scale has.
const tallySlices = 289

// tallySpan is slices of the same length.
type tallySpan struct {
	from, step int64
	first      int // number of its first slice
}

// sliceOf gives the number of the slice that holds an arrival.
func sliceOf(millis int64) int {
	for i := len(tallyScale) - 1; i > 0; i-- {
		if s := &tallyScale[i]; millis >= s.from {
			return s.first + int((millis-s.from)/s.step)
		}
	}
	return 0
}

// sliceBegin gives the milliseconds at which a slice begins.
func sliceBegin(slice int) int64 {
	for i := len(tallyScale) - 1; i > 0; i-- {
		if s := &tallyScale[i]; slice >= s.first {
			return s.from + int64(slice-s.first)*s.step
		}
	}
	return tallyScale[0].from
}

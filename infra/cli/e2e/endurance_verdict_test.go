package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// course is what one thing was over a run, a value a sample.
type course struct {
	name   string
	values []float64
	// per are the values by what they may grow with, such as a table by the log. Where
	// they are given it is enough that one of both stays flat.
	per []float64
	// A course is flat when the median of its last third is within share, and room
	// beyond that, of the median of its middle third. The first third warms up.
	share, room float64
}

// thirds gives the medians of the middle and the last third.
func thirds(values []float64) (middle, last float64) {
	n := len(values)
	return medianOf(values[n/3 : 2*n/3]), medianOf(values[2*n/3:])
}

func medianOf(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// flat tells whether a course did not grow.
func (c course) flat() bool {
	within := func(values []float64, room float64) bool {
		middle, last := thirds(values)
		return last <= middle*(1+c.share)+room
	}
	return within(c.values, c.room) || len(c.per) > 0 && within(c.per, 0)
}

func (c course) String() string {
	middle, last := thirds(c.values)
	text := fmt.Sprintf("%s: %.4g in the middle third, %.4g in the last", c.name, middle, last)
	if len(c.per) > 0 {
		middle, last = thirds(c.per)
		text += fmt.Sprintf(" (an event: %.4g, %.4g)", middle, last)
	}
	return text
}

// made gives a course of so many samples.
func made(n int, value func(i int) float64) course {
	c := course{name: "made", share: 0.1, room: 2}
	for i := range n {
		c.values = append(c.values, value(i))
	}
	return c
}

func TestALeakIsFoundAndWhatOnlySwingsIsNot(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	swing := func() float64 { return 20 * (noise.Float64() - 0.5) }
	for _, c := range []struct {
		name string
		of   course
		flat bool
	}{
		{"level", made(90, func(int) float64 { return 100 }), true},
		{"noise", made(90, func(int) float64 { return 100 + swing() }), true},
		{"saw", made(90, func(i int) float64 { return 50 + 10*float64(i%9) }), true},
		{"warms up, then level", made(90, func(i int) float64 { return 100 * min(1, float64(i)/25) }), true},
		{"falls", made(90, func(i int) float64 { return 200 - float64(i) }), true},
		{"nothing", made(90, func(int) float64 { return 0 }), true},
		{"a leak of half a percent a sample", made(90, func(i int) float64 { return 100 + float64(i)/2 }), false},
		{"the same under noise", made(90, func(i int) float64 { return 100 + float64(i)/2 + swing() }), false},
		{"one goroutine a sample out of none", made(90, func(i int) float64 { return float64(i) }), false},
		{"a saw that climbs", made(90, func(i int) float64 { return 50 + float64(i)/2 + 10*float64(i%9) }), false},
		{"a step up in the last third", made(90, func(i int) float64 { return 100 + 30*float64(i/60) }), false},
	} {
		if got := c.of.flat(); got != c.flat {
			t.Errorf("%s: flat is %t, want %t: %s", c.name, got, c.flat, c.of)
		}
	}
}

func TestATableMayGrowWithTheLogButNotFaster(t *testing.T) {
	grows := func(perEvent func(events float64) float64) course {
		c := course{name: "table", share: 0.1}
		for i := range 90 {
			events := float64(1000 * (i + 1))
			c.values, c.per = append(c.values, events*perEvent(events)), append(c.per, perEvent(events))
		}
		return c
	}
	if c := grows(func(float64) float64 { return 300 }); !c.flat() {
		t.Errorf("a table that grows with the log is called bloated: %s", c)
	}
	if c := grows(func(events float64) float64 { return 300 + events/200 }); c.flat() {
		t.Errorf("a table that grows faster than the log is called flat: %s", c)
	}
	// One whose rows are replaced, and should not grow at all: bytes an event fall.
	if c := grows(func(events float64) float64 { return 1e6 / events }); !c.flat() {
		t.Errorf("a table that stays as it is is called bloated: %s", c)
	}
}

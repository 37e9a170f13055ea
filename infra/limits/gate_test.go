package limits

import (
	"fmt"
	"testing"
	"time"
)

func TestAGateNotesWhomItRefusesAndBlocksNothingMore(t *testing.T) {
	c := newClock()
	var limited, fresh, full int
	g := NewGate(map[string]Endpoint{"purchases": {Buyer: window(t, Options{Limit: 2, Now: c.Now})}}, NewMarks(c.Now), Told{
		Limited: func(endpoint, buyer string, first bool) {
			if endpoint != "purchases" || buyer != "alice" {
				t.Errorf("told of %s at %s", buyer, endpoint)
			}
			limited++
			if first {
				fresh++
			}
		},
		Full: func(string) { full++ },
	})
	for i := range 6 {
		if wait := g.Take(t.Context(), "purchases", "alice"); (wait == 0) != (i < 2) {
			t.Errorf("attempt %d: got a wait of %s", i+1, wait)
		}
	}
	if wait := g.Take(t.Context(), "elsewhere", "alice"); wait != 0 {
		t.Errorf("an endpoint without limits: got a wait of %s", wait)
	}
	if limited != 4 || fresh != 1 || full != 0 {
		t.Errorf("told %d refusals, %d fresh, %d full; want 4, 1, 0", limited, fresh, full)
	}
	marks, unlisted := g.Marks().List()
	if len(marks) != 1 || marks[0].Buyer != "alice" || marks[0].Refused != 4 || unlisted != 0 {
		t.Errorf("got marks %+v and %d unlisted, want alice with 4", marks, unlisted)
	}
	c.Move(time.Second)
	if wait := g.Take(t.Context(), "purchases", "alice"); wait != 0 {
		t.Errorf("a marked buyer in a new window: got a wait of %s, want none", wait)
	}
}

func TestWhatABuyersLimitRefusesCountsForNobodyElse(t *testing.T) {
	c := newClock()
	total, err := NewTotal(Options{Limit: 10, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	full := 0
	g := NewGate(map[string]Endpoint{"purchases": {Buyer: window(t, Options{Limit: 2, Now: c.Now}), Total: total}},
		NewMarks(c.Now), Told{Full: func(string) { full++ }})
	for range 100 {
		g.Take(t.Context(), "purchases", "greedy")
	}
	passed := 0
	for i := range 12 {
		if g.Take(t.Context(), "purchases", fmt.Sprint(i)) == 0 {
			passed++
		}
	}
	if passed != 8 || full != 4 {
		t.Errorf("beside a greedy buyer %d passed and %d found it full, want 8 and 4", passed, full)
	}
	if marks, _ := g.Marks().List(); len(marks) != 1 {
		t.Errorf("got %d marks, want one: who finds it full did nothing wrong", len(marks))
	}
}

func TestMarksFadeAfterTenMinutesAndAreBounded(t *testing.T) {
	c := newClock()
	m := NewMarks(c.Now)
	if !m.Add("purchases", "alice") || m.Add("purchases", "alice") || !m.Add("polls", "alice") {
		t.Error("want a fresh mark once for each endpoint")
	}
	for i := range maxMarks {
		m.Add("purchases", fmt.Sprint(i))
	}
	if _, unlisted := m.List(); m.Size() != maxMarks || unlisted != 2 {
		t.Errorf("got %d marks and %d unlisted, want %d and 2", m.Size(), unlisted, maxMarks)
	}
	c.Move(markFor)
	if marks, _ := m.List(); len(marks) != 0 {
		t.Errorf("after ten minutes %d marks are left", len(marks))
	}
	if !m.Add("purchases", "alice") {
		t.Error("a faded mark is not fresh again")
	}
}

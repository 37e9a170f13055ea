package chaos

import (
	"flag"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// rowNames are what is broken, faultNames how: rows and columns of the page.
var (
	rowNames   = [...]string{"api", "recorder", "relay", "projector", "scheduler", "redis", "postgres", "kafka"}
	faultNames = [...]string{"sigkill", "sigstop", "restart", "slow", "reply_lost", "reset", "black_hole", "disk_full", "clock", "memory"}
)

// smoke are the cells that run with all other tests.
const smoke = "redis/sigkill,api/reply_lost,recorder/sigstop"

var (
	only    = flag.String("chaos.only", smoke, "cells to run, such as redis/sigstop,api/*; all: the whole matrix")
	update  = flag.Bool("chaos.update", false, "write docs/reliability.json and docs/reliability.md")
	holdFor = flag.Duration("chaos.hold", 3*time.Second, "how long a fault lasts")
	stopFor = flag.Duration("chaos.stop", 10*time.Second, "how long a process stands still")
	rate    = flag.Int("chaos.rate", 20, "purchases a second of the sale by redis-async; the others get half and a quarter")
)

// cell is one fault of one thing.
type cell struct {
	row, fault string
	// did says what is done, for the page.
	did string
	// why says why a cell makes no sense; then it is not played.
	why string
	// hold is how long the fault lasts; 0 for -chaos.hold.
	hold time.Duration
	// on says what the stores of its site must be able to do.
	on siteKind
	// do breaks it. What it gives mends it.
	do func(s *site) (mend func())
}

func (c *cell) name() string { return c.row + "/" + c.fault }

// siteKind is what is special about the stores of a site.
type siteKind string

const (
	usual      siteKind = ""
	smallDisk  siteKind = "small disk"
	movedClock siteKind = "moved clock"
)

// faultsOf are the faults of a row, in the order of the page.
func faultsOf(row string) []string {
	if slices.Contains(roleNames, row) {
		return slices.Concat(faultNames[:], cutNames[:])
	}
	return faultNames[:]
}

// matrix is every cell, row by row.
func matrix() []cell {
	var all []cell
	for _, row := range rowNames {
		cells := storeCells(row)
		if cells == nil {
			cells = append(roleCells(row), cutCells(row)...)
		}
		for _, c := range cells {
			if c.row = row; c.hold == 0 {
				c.hold = *holdFor
			}
			all = append(all, c)
		}
	}
	return all
}

// wanted tells whether a cell is asked for.
func wanted(name, patterns string) bool {
	for _, pattern := range strings.Split(patterns, ",") {
		if ok, err := path.Match(strings.TrimSpace(pattern), name); pattern == "all" || err == nil && ok {
			return true
		}
	}
	return false
}

func TestTheMatrixHasEveryFaultOfEverything(t *testing.T) {
	all := matrix()
	var want []string
	for _, row := range rowNames {
		for _, fault := range faultsOf(row) {
			want = append(want, row+"/"+fault)
		}
	}
	if len(all) != len(want) {
		t.Fatalf("%d cells, want %d", len(all), len(want))
	}
	for i, c := range all {
		if c.name() != want[i] {
			t.Errorf("cell %d is %s, want %s", i, c.name(), want[i])
		}
		if (c.why == "") == (c.do == nil) || c.did == "" && c.why == "" {
			t.Errorf("%s is neither played nor explained", c.name())
		}
	}
	for cells := range groups(all, smoke) {
		if want := strings.Count(smoke, ",") + 1; len(cells) != want {
			t.Errorf("the smoke has %d cells, want %d", len(cells), want)
		}
		for _, c := range cells {
			if c.on != usual || c.why != "" {
				t.Errorf("%s cannot be played on an installation for all", c.name())
			}
		}
	}
}

// TestFaultMatrix plays the cells that are asked for. Cells of a row share an
// installation, unless their stores need something special.
func TestFaultMatrix(t *testing.T) {
	whole := *only != smoke
	record := newRecord(t)
	for cells := range groups(matrix(), *only) {
		t.Run(strings.TrimSpace(cells[0].row+" "+string(cells[0].on)), func(t *testing.T) {
			var s *site
			for _, c := range cells {
				if s != nil && s.tainted {
					s.end()
					s = nil
				}
				if s == nil {
					s = newSite(t, siteOptions{row: c.row, kind: c.on, kafka: whole})
				}
				if !whole {
					c.hold = min(c.hold, 2*time.Second)
				}
				r := s.play(c)
				r.tell(t)
				record.add(t, r)
			}
		})
	}
	record.addUntried(t, matrix(), *only)
}

// groups gives the wanted cells that are played, in groups that share an installation. All
// of the smoke share one.
func groups(all []cell, patterns string) func(yield func([]cell) bool) {
	return func(yield func([]cell) bool) {
		if patterns == smoke { // of all rows at once: it is to be quick
			yield(slices.DeleteFunc(slices.Clone(all), func(c cell) bool { return !wanted(c.name(), smoke) }))
			return
		}
		for _, row := range rowNames {
			for _, kind := range []siteKind{usual, smallDisk, movedClock, islandSite} {
				var group []cell
				for _, c := range all {
					if c.row == row && c.on == kind && c.why == "" && wanted(c.name(), patterns) {
						group = append(group, c)
					}
				}
				if len(group) > 0 && !yield(group) {
					return
				}
			}
		}
	}
}

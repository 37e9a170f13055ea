package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// drillStoresCmd rehearses what becomes of a sale while a store is broken. Whatever is
// configured, it starts stores of its own, and breaks no others.
type drillStoresCmd struct {
	Rate   int           `default:"50" placeholder:"N" help:"Purchases a second, each by another buyer. Default: ${default}."`
	Hold   time.Duration `default:"5s" placeholder:"D" help:"How long a store stays broken. Default: ${default}."`
	Within time.Duration `default:"30s" placeholder:"D" help:"How soon after that all must be as before. Default: ${default}."`
	Kafka  string        `placeholder:"COMMAND" help:"A command that runs a broker of this drill's own in the foreground, to stop it too; --kafka-address says where it answers. Without it Kafka is not tried."`
	Broker string        `name:"kafka-address" placeholder:"HOST:PORT" help:"Where that broker answers."`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// Bounds of a drill of stores.
const (
	mostDrillHold   = time.Minute
	mostDrillWithin = 10 * time.Minute
)

// Validate refuses what cannot be asked.
func (d *drillStoresCmd) Validate() error {
	switch {
	case d.Rate < 1 || d.Rate > maxDrillRate:
		return fmt.Errorf("--rate must be 1 to %d", maxDrillRate)
	case d.Hold < time.Second || d.Hold > mostDrillHold:
		return fmt.Errorf("--hold must be 1s to %s", mostDrillHold)
	case d.Within < time.Second || d.Within > mostDrillWithin:
		return fmt.Errorf("--within must be 1s to %s", mostDrillWithin)
	case (d.Kafka == "") != (d.Broker == ""):
		return fmt.Errorf("--kafka and --kafka-address go together")
	}
	return nil
}

// Run plays every step. A grade that fails is exit code 3. Whatever happens, everything
// that it started is ended and its data is taken away.
func (d *drillStoresCmd) Run(c console) error {
	ctx, done := c.stoppable()
	defer done()
	report, err := c.playStores(ctx, d)
	if err != nil {
		return err
	}
	if d.JSON {
		err = c.json(report)
	} else {
		err = c.print(report.table())
	}
	if err == nil && !report.Good {
		err = errFound
	}
	return err
}

// storesReport is the result as --json prints it.
type storesReport struct {
	SaleID string       `json:"sale_id"`
	Good   bool         `json:"good"`
	Steps  []storesStep `json:"steps"`
	// Checks are those at the end: of all that was acknowledged, of books, log and views.
	Checks []drillCheck `json:"checks"`
}

// storesStep is one store that was broken. One that was not tried has Skipped, which says
// why, and nothing else.
type storesStep struct {
	Step    string `json:"step"`
	Says    string `json:"says"`
	Skipped string `json:"skipped,omitempty"`
	// Answers are what buyers were told from the break until all was as before.
	Answers map[string]int64 `json:"answers,omitempty"`
	// StallMS is the longest time in which nobody got an order, SlowestMS the longest
	// that anybody waited for an answer.
	StallMS   int64 `json:"longest_stall_ms"`
	SlowestMS int64 `json:"slowest_answer_ms"`
	// NormalMS is from the mending until purchases and their record were as before; -1:
	// they never were.
	NormalMS int64        `json:"normal_after_ms"`
	Acked    int64        `json:"acknowledged"`
	Lost     int64        `json:"acknowledged_and_lost"`
	Grades   []drillCheck `json:"grades,omitempty"`
}

// failed lists grades that fail.
func failed(grades []drillCheck) (names []string) {
	for _, g := range grades {
		if !g.OK {
			names = append(names, g.Name+": "+g.Detail)
		}
	}
	return names
}

// judge sums everything up. A drill in which nothing was tried is not good.
func (r *storesReport) judge() {
	tried := 0
	r.Good = len(r.Checks) > 0 && len(failed(r.Checks)) == 0
	for _, s := range r.Steps {
		if s.Skipped == "" {
			tried++
			r.Good = r.Good && len(s.Grades) > 0 && len(failed(s.Grades)) == 0
		}
	}
	r.Good = r.Good && tried > 0
}

// grade judges a step by what buyers saw and what became of them.
func (s *storesStep) grade(within time.Duration) {
	say := func(name string, ok bool, detail string, args ...any) {
		s.Grades = append(s.Grades, drillCheck{Name: name, OK: ok, Detail: fmt.Sprintf(detail, args...)})
	}
	var wrong []string
	for _, word := range slices.Sorted(maps.Keys(s.Answers)) {
		if !mayBeTold(word) {
			wrong = append(wrong, fmt.Sprintf("%s %d times", word, s.Answers[word]))
		}
	}
	say("every answer is one that a buyer can act on", len(wrong) == 0, "%s", strings.Join(wrong, ", "))
	say("no answer takes longer than its budget", s.SlowestMS <= slowestAnswer.Milliseconds(), "the slowest took %s", short(time.Duration(s.SlowestMS)*time.Millisecond))
	say("nothing acknowledged is lost", s.Lost == 0, "%d of %d", s.Lost, s.Acked)
	say("all is as before in time", s.NormalMS >= 0 && s.NormalMS <= within.Milliseconds(), "%s, and %s is allowed", s.normal(), short(within))
}

// slowestAnswer is what a node may take for a purchase at most: its gateway's second,
// and as much again on a machine that carries everything.
const slowestAnswer = 2 * time.Second

// mayBeTold tells whether a buyer may be answered so while a store is broken: an order,
// or the word to come again.
func mayBeTold(word string) bool {
	switch word {
	case wordAccepted, wordOwn, "201", "503 busy", "503 not_ready", "503 paused", "429 rate_limited":
		return true
	}
	return false
}

func (s *storesStep) normal() string {
	if s.NormalMS < 0 {
		return "never"
	}
	return short(time.Duration(s.NormalMS) * time.Millisecond)
}

// table tells it to a person.
func (r *storesReport) table() table.Writer {
	t := newTable("broken", "", "buyers were told", "longest stall", "slowest answer", "normal after", "acknowledged", "lost", "grade")
	t.SetTitle("Sale " + r.SaleID + " · an installation of its own")
	numbers(t, 4, 5, 6, 7, 8)
	for _, s := range r.Steps {
		if s.Skipped != "" {
			t.AppendRow(table.Row{s.Step, s.Says, "", "", "", "", "", "", "not tried: " + s.Skipped})
			continue
		}
		var told []string
		for _, word := range slices.Sorted(maps.Keys(s.Answers)) {
			told = append(told, fmt.Sprintf("%s × %s", word, grouped(s.Answers[word])))
		}
		t.AppendRow(table.Row{s.Step, s.Says, strings.Join(told, "\n"), short(time.Duration(s.StallMS) * time.Millisecond), short(time.Duration(s.SlowestMS) * time.Millisecond),
			s.normal(), grouped(s.Acked), s.Lost, verdictOf(s.Grades)})
	}
	for _, check := range r.Checks {
		t.AppendRow(table.Row{"at the end", check.Name, "", "", "", "", "", "", verdictOf([]drillCheck{check})})
	}
	return t
}

// verdictOf says whether all grades are good, and which are not.
func verdictOf(grades []drillCheck) string {
	if bad := failed(grades); len(bad) > 0 {
		return "✗ " + strings.Join(bad, "\n✗ ")
	}
	return "good ✓"
}

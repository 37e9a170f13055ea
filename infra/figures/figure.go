package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// EnvDir names the variable of the environment that holds the folder into which
// benchmarks write their figures. Without it they only report them.
const EnvDir = "FIGURES_DIR"

// Figure is what one run of a benchmark gave for a row of the table.
type Figure struct {
	// Row is the id of the row.
	Row string `json:"row"`
	// Ours and Yardstick are in the unit of the row; a row without a yardstick has 0.
	Ours      float64 `json:"ours"`
	Yardstick float64 `json:"yardstick,omitempty"`
	// Value is what is wanted something of: mostly a ratio.
	Value float64 `json:"value"`
	// Details are other numbers of the same run.
	Details []Detail `json:"details,omitempty"`
	// Settings are those that the figure depends on, as NAME=value or in words.
	Settings []string `json:"settings,omitempty"`
}

// Detail is a number beside a figure.
type Detail struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// Reporter is what a benchmark gives: *testing.B.
type Reporter interface {
	Helper()
	ReportMetric(n float64, unit string)
	Fatalf(format string, args ...any)
}

// Tell reports a figure as metrics of the benchmark, named by the row, and leaves it for
// the page where somebody gathers. A row that is not in the table fails the benchmark.
func Tell(b Reporter, f Figure) {
	b.Helper()
	if _, ok := RowOf(f.Row); !ok {
		b.Fatalf("no row of the table is called %q: see infra/figures/table.go", f.Row)
		return
	}
	f.Details = slices.DeleteFunc(slices.Clone(f.Details), func(d Detail) bool { return !finite(d.Value) })
	if !finite(f.Ours) || !finite(f.Yardstick) || !finite(f.Value) {
		b.Fatalf("figure %s is %v beside %v, %v: the run was too short to say anything", f.Row, f.Ours, f.Yardstick, f.Value)
		return
	}
	b.ReportMetric(f.Value, f.Row+":value")
	b.ReportMetric(f.Ours, f.Row+":ours")
	if f.Yardstick != 0 {
		b.ReportMetric(f.Yardstick, f.Row+":yardstick")
	}
	leave(b, figurePrefix+f.Row, f)
}

// finite tells whether something was divided by what is not nothing.
func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

// Stage is where the processor time of one part of a purchase's way goes, per purchase.
type Stage struct {
	// Name is the stage's, and that of its profiles.
	Name string `json:"name"`
	// Count is how many purchases were measured.
	Count int `json:"count"`
	// Parts are µs of processor time a purchase, by process.
	Parts []Detail `json:"parts"`
	// Steps are µs a purchase inside of our own process, by functions; they overlap
	// where one calls another.
	Steps []Step `json:"steps,omitempty"`
}

// Step is a function of ours, or of what we use, with all that it calls.
type Step struct {
	Function string  `json:"function"`
	Micros   float64 `json:"micros"`
	Why      string  `json:"why"`
}

// TellStage reports how many were measured, and leaves a stage for the page with its
// profiles as text, by their names.
func TellStage(b Reporter, s Stage, profiles map[string]string) {
	b.Helper()
	b.ReportMetric(float64(s.Count), s.Name+":count")
	leave(b, stagePrefix+s.Name, s)
	for name, text := range profiles {
		leaveFile(b, s.Name+"-"+name+profileSuffix, []byte(text))
	}
}

// What the files that benchmarks leave begin with.
const (
	figurePrefix = "figure-"
	stagePrefix  = "stage-"
	// profileSuffix is what the names of profiles as text end with.
	profileSuffix = ".txt"
)

// leave writes what was told into the folder of whoever gathers.
func leave(b Reporter, name string, what any) {
	b.Helper()
	data, err := json.Marshal(what)
	if err != nil {
		b.Fatalf("leave %s for the page: %v", name, err)
		return
	}
	leaveFile(b, name+".json", data)
}

func leaveFile(b Reporter, name string, data []byte) {
	b.Helper()
	dir := os.Getenv(EnvDir)
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		b.Fatalf("leave %s for the page: %v", name, err)
	}
}

// left reads what benchmarks left in a folder.
func left(dir string) (figures []Figure, stages []Stage, err error) {
	read := func(prefix string, into func([]byte) error) error {
		files, err := filepath.Glob(filepath.Join(dir, prefix+"*.json"))
		for _, file := range files {
			var data []byte
			if data, err = os.ReadFile(file); err == nil {
				err = into(data)
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", filepath.Base(file), err)
			}
		}
		return err
	}
	err = read(figurePrefix, func(data []byte) error {
		var f Figure
		err := json.Unmarshal(data, &f)
		figures = append(figures, f)
		return err
	})
	if err == nil {
		err = read(stagePrefix, func(data []byte) error {
			var s Stage
			err := json.Unmarshal(data, &s)
			stages = append(stages, s)
			return err
		})
	}
	return figures, stages, err
}

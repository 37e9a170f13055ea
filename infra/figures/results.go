package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Taken says how a figure came about.
type Taken struct {
	At       time.Time `json:"at"`
	Machine  string    `json:"machine"`
	Revision string    `json:"revision,omitempty"`
	Command  string    `json:"command"`
	// Short is a run that shows only that the benchmark works.
	Short bool `json:"short,omitempty"`
	// Idle is the share of the processor that was free just before, -1 where unknown.
	Idle float64 `json:"idle"`
}

// quiet is the idle share from which on a machine did nothing else.
const quiet = 0.9

// Busy tells that the machine had other work.
func (t Taken) Busy() bool { return t.Idle >= 0 && t.Idle < quiet }

// Kept is a figure with how it came about.
type Kept struct {
	Figure
	Taken Taken `json:"taken"`
}

// KeptStage is a stage with how it came about.
type KeptStage struct {
	Stage
	Taken Taken `json:"taken"`
}

// Results are the last figures of every row, and the last profiles.
type Results struct {
	Figures map[string]Kept      `json:"figures"`
	Stages  map[string]KeptStage `json:"stages,omitempty"`
}

// Read reads results; a file that is not there has none.
func Read(file string) (Results, error) {
	r := Results{Figures: map[string]Kept{}, Stages: map[string]KeptStage{}}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read the figures: %w", err)
	}
	return r, nil
}

// Write writes results.
func (r Results) Write(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}

// Merge takes over what benchmarks left in a folder, and gives the rows and stages that
// were. What a short run gave is left out where a full one stands.
func (r Results) Merge(dir string, taken Taken) (merged []string, err error) {
	figures, stages, err := left(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range figures {
		if old, ok := r.Figures[f.Row]; ok && taken.Short && !old.Taken.Short {
			continue
		}
		r.Figures[f.Row] = Kept{f, taken}
		merged = append(merged, f.Row)
	}
	for _, s := range stages {
		if old, ok := r.Stages[s.Name]; ok && taken.Short && !old.Taken.Short {
			continue
		}
		r.Stages[s.Name] = KeptStage{s, taken}
		merged = append(merged, s.Name)
	}
	return merged, nil
}

// CopyProfiles copies the profiles that benchmarks left in a folder for some stages to
// another.
func CopyProfiles(from, to string, stages []string) error {
	for _, stage := range stages {
		files, err := filepath.Glob(filepath.Join(from, stage+"-*"+profileSuffix))
		for _, file := range files {
			var text []byte
			if text, err = os.ReadFile(file); err == nil {
				err = errors.Join(os.MkdirAll(to, 0o755), os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644))
			}
			if err != nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("copy profiles of %s: %w", stage, err)
		}
	}
	return nil
}

// Told gives one line for each figure that benchmarks left in a folder.
func Told(dir string) ([]string, error) {
	figures, stages, err := left(dir)
	var told []string
	for _, f := range figures {
		row, _ := RowOf(f.Row)
		line := fmt.Sprintf("%-18s %s", f.Row, quantity(f.Ours, row.Unit))
		if f.Yardstick != 0 {
			line += fmt.Sprintf(" beside %s", quantity(f.Yardstick, row.Unit))
		}
		line += fmt.Sprintf(": %s; wanted %s", quantity(f.Value, row.ValueUnit), row.Want.text(row.ValueUnit))
		if row.Want.Given && !row.Want.Reached(f.Value) {
			line += ", not reached"
		}
		told = append(told, line)
	}
	for _, s := range stages {
		line := fmt.Sprintf("%-18s %d", s.Name, s.Count)
		for _, p := range s.Parts {
			line += fmt.Sprintf("; %s %s", p.Name, quantity(p.Value, "µs"))
		}
		told = append(told, line)
	}
	return told, err
}

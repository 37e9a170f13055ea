package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// BaselineFile is the name of the baseline in the data folder.
const BaselineFile = "baseline.json"

// Baseline is what a good opening looked like in rehearsal, for alerts to compare with.
type Baseline struct {
	At       time.Time `json:"at"`
	Scenario string    `json:"scenario"`
	// Rate is the share of answers to purchases that were as expected, above 0, at most 1.
	Rate float64 `json:"rate"`
}

// WriteBaseline puts a baseline in the place of the one before; whoever reads meets
// either of them whole.
func WriteBaseline(file string, b Baseline) error { return WriteJSON(file, b) }

// ReadBaseline gives the baseline; ok is false where none was kept.
func ReadBaseline(file string) (b Baseline, ok bool, err error) {
	ok, err = ReadJSON(file, &b)
	if err == nil && ok && !(b.Rate > 0 && b.Rate <= 1) {
		return b, false, fmt.Errorf("the baseline in %s has the rate %v: want above 0 and at most 1", file, b.Rate)
	}
	return b, ok, err
}

// WriteJSON puts a value in the place of what a file held; whoever reads meets either
// of them whole.
func WriteJSON(file string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o711); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	fresh, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	_, err = fresh.Write(append(raw, '\n'))
	if err = errors.Join(err, fresh.Chmod(0o644), fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", file, err), os.Remove(fresh.Name()))
	}
	return nil
}

// ReadJSON reads what a file holds; ok is false where there is none.
func ReadJSON(file string, to any) (ok bool, err error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", file, err)
	}
	return true, nil
}

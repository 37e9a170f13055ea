package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// stateFile says where a server of the data folder runs. It is there from the
// moment the server is ready until it has stopped, readable by its owner only.
const stateFile = "running.json"

// running is what the processes of a data folder tell each other about a
// server. An empty URL means that none is known to run.
type running struct {
	URL       string    `json:"url"`
	Port      int       `json:"port"`
	Version   string    `json:"version"`
	Token     string    `json:"token,omitempty"` // of a miniredis; see Stores.ProcessToken
	Owner     int       `json:"owner,omitempty"` // process of a miniredis
	StartedAt time.Time `json:"started_at"`

	joined bool
}

// readRunning returns the zero value when the file does not exist.
func readRunning(file string) (running, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return running{}, nil
	}
	if err != nil {
		return running{}, fmt.Errorf("read state of the running server: %w", err)
	}
	var r running
	if err := json.Unmarshal(raw, &r); err != nil {
		return running{}, fmt.Errorf("read state of the running server from %s: %w", file, err)
	}
	return r, nil
}

// write replaces the file as a whole: no reader sees half of it.
func (r running) write(file string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode state of the running server: %w", err)
	}
	next := file + ".new"
	if err := os.WriteFile(next, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write state of the running server: %w", err)
	}
	if err := os.Rename(next, file); err != nil {
		return fmt.Errorf("write state of the running server: %w", err)
	}
	return nil
}

package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/infra/embedded"
	"seckill/infra/testenv"
)

// result is what came of one cell, as docs/reliability.json has it.
type result struct {
	Row   string    `json:"row"`
	Fault string    `json:"fault"`
	Did   string    `json:"did,omitempty"`
	Why   string    `json:"why_not,omitempty"` // why it is not played
	At    time.Time `json:"at,omitzero"`
	// Load is the machine's load average when it began.
	Load   string `json:"load,omitempty"`
	HoldMS int64  `json:"hold_ms,omitempty"`
	// Answers to who came from the break until all was as before: strategy → answer → how many.
	Answers   map[string]map[string]int `json:"answers,omitempty"`
	SlowestMS int64                     `json:"slowest_ms,omitempty"`
	// CameAgain were told to come again, or nothing; HadOrder of them had an order already,
	// HadAfterRefusal of these although they had just been told to come again.
	CameAgain       int `json:"came_again,omitempty"`
	HadOrder        int `json:"had_order,omitempty"`
	HadAfterRefusal int `json:"had_order_after_refusal,omitempty"`
	// Acknowledged are the orders that buyers were told of in the whole cell; Lost of them
	// are nowhere, Refused were told as rejected later, by reason.
	Acknowledged int            `json:"acknowledged,omitempty"`
	Lost         int            `json:"lost"`
	Refused      map[string]int `json:"refused_later,omitempty"`
	// Felt is how often a fault of single requests happened.
	Felt int64 `json:"felt,omitempty"`
	// Times from the end of the fault until all was as before; -1: it never was.
	BuyersMS    int64    `json:"buyers_ms"`
	RecordedMS  int64    `json:"recorded_ms"`
	PublishedMS int64    `json:"published_ms"`
	ViewedMS    int64    `json:"viewed_ms"`
	NormalMS    int64    `json:"normal_ms"`
	Findings    []string `json:"findings,omitempty"`
}

// good tells whether nothing is wrong.
func (r *result) good() bool {
	return r.Why != "" || r.Lost == 0 && len(r.Findings) == 0 && r.NormalMS >= 0 && r.Acknowledged > 0
}

// record is what stands in docs/reliability.json: the newest result of each cell.
type record struct {
	Command  string            `json:"command"`
	Machine  string            `json:"machine"`
	Versions map[string]string `json:"versions"`
	Cells    []result          `json:"cells"`
}

// The files of the page, from here.
const (
	recordFile = "../../../docs/reliability.json"
	pageFile   = "../../../docs/reliability.md"
)

// readRecord gives what is recorded; an empty one where nothing is.
func readRecord() (r record, err error) {
	text, err := os.ReadFile(recordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// newRecord begins a run: it keeps what earlier runs recorded of other cells.
func newRecord(t testing.TB) *record {
	t.Helper()
	r, err := readRecord()
	if err != nil {
		t.Fatal(err)
	}
	r.Machine = fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	r.Versions = versions()
	return &r
}

// add puts a result in the place of an earlier one, and writes the page where that is
// asked for: a run that is broken off keeps what it has.
func (r *record) add(t testing.TB, cell result) {
	t.Helper()
	r.Command = "make chaos"
	if *only != "all" {
		r.Command += ` ARGS="-chaos.only ` + *only + `"`
	}
	r.put(cell)
	r.write(t)
}

func (r *record) put(cell result) {
	r.Cells = slices.DeleteFunc(r.Cells, func(old result) bool { return old.Row == cell.Row && old.Fault == cell.Fault })
	r.Cells = append(r.Cells, cell)
	place := func(c result) int {
		return slices.Index(rowNames[:], c.Row)*100 + slices.Index(faultsOf(c.Row), c.Fault)
	}
	slices.SortFunc(r.Cells, func(a, b result) int { return place(a) - place(b) })
}

// addUntried records the wanted cells that make no sense.
func (r *record) addUntried(t testing.TB, all []cell, patterns string) {
	t.Helper()
	for _, c := range all {
		if c.why != "" && wanted(c.name(), patterns) {
			r.put(result{Row: c.row, Fault: c.fault, Why: c.why})
		}
	}
	r.write(t)
}

func (r *record) write(t testing.TB) {
	t.Helper()
	if !*update {
		return
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = errors.Join(os.WriteFile(recordFile, append(text, '\n'), 0o644), os.WriteFile(pageFile, []byte(page(r)), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// versions are those of what the matrix runs on.
func versions() map[string]string {
	v := map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go"), "Kafka": testenv.KafkaVersion}
	if bin, err := embedded.FindRedis(""); err == nil {
		v["Redis"] = says(bin, "--version")
	}
	if dir, err := embedded.FindPostgres(""); err == nil {
		v["PostgreSQL"] = says(filepath.Join(dir, "postgres"), "--version")
	}
	return v
}

// says gives the first word with a dot of what a program prints: its version.
func says(program string, args ...string) string {
	out, err := exec.Command(program, args...).Output()
	for _, word := range strings.Fields(string(out)) {
		if word = strings.TrimPrefix(word, "v="); err == nil && strings.Contains(word, ".") {
			return word
		}
	}
	return "unknown"
}

// loadAverage is how busy the machine was in the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}

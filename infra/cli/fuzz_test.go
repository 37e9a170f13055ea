package cli

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// FuzzCommandLine: whatever stands on the command line is a command that is known, or
// refused in a sentence.
func FuzzCommandLine(f *testing.F) {
	for _, args := range []string{
		"version\n--json", "serve\n--roles\napi,", "replay\n--as-of\n10m\n--json\n--csv", "plan\n--participants\n1e9\n--share\n80%", "sale\nrelease\nx\n-5", "token\n--buyer=a b", "--",
		"audit\nverify\n--from=-1", "bench\nspike\n--mix\npurchases=NaN", "switch\non\n--help", "trace\n\x00", "reconcile\n--sale", "--database=é\ncheckpoints",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		if strings.Contains(text, "config") || strings.Contains(text, "/dev/") || strings.Contains(text, "/proc/") {
			return // it would read a file of this machine
		}
		defer func() {
			if v := recover(); v != nil {
				if _, ok := v.(helpShown); !ok {
					panic(v)
				}
			}
		}()
		var p program
		parser, err := newParser(&p, console{out: io.Discard, err: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.Parse(args)
		if err != nil {
			if strings.TrimSpace(sentence(withHelp(err))) == "" {
				t.Errorf("%q is refused without a word", args)
			}
			return
		}
		if parsed.Selected() == nil {
			t.Errorf("%q is no command, and not refused", args)
		}
		var usage *usageError
		if err := wrongID(parsed); err != nil && !errors.As(err, &usage) && sentence(err) == "" {
			t.Errorf("%q: got %v", args, err)
		}
	})
}

// FuzzMoment: a moment of the log is a time with a zone or a while ago; what is none is
// a mistake of who wrote it.
func FuzzMoment(f *testing.F) {
	for _, text := range []string{"10m", "-1s", "2026-11-11T00:00:00+08:00", "2026-11-11T00:00:00", "2562047h47m16.854775807s", "9999-12-31T23:59:59Z", "1e3s"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		at, err := moment("--since", text, now)
		if usage := (*usageError)(nil); err != nil && !errors.As(err, &usage) {
			t.Errorf("%q: got %v", text, err)
		}
		if ago, notAgo := time.ParseDuration(text); err == nil && notAgo == nil && at.After(now) && ago != 0 {
			t.Errorf("%q ago is %s, after now", text, at)
		}
	})
}

// FuzzSheet: no cell of a sheet begins as a formula does, and what stands in it is what
// was written, at most with an apostrophe before it.
func FuzzSheet(f *testing.F) {
	for _, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a,b", "a\"b", "'=1", "|x", "%0a", "a\r\nb", ""} {
		f.Add(text, int64(-5))
	}
	f.Fuzz(func(t *testing.T, text string, number int64) {
		var out bytes.Buffer
		if err := newSheet(&out)(text, number, "end"); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 1 || len(rows[0]) != 3 || rows[0][2] != "end" {
			t.Fatalf("%q is the row %q, %v", text, rows, err)
		}
		got := rows[0][0]
		if got != "" && strings.ContainsRune("=+-@\t\r\n", rune(got[0])) {
			t.Errorf("%q begins as a formula: %q", text, got)
		}
		// Ends of lines are written as CSV has them: a carriage return alone is none.
		if want := strings.ReplaceAll(text, "\r", ""); got != want && got != "'"+want {
			t.Errorf("%q is read as %q", text, got)
		}
	})
}

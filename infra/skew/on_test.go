//go:build crashpoints

package skew_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/infra/skew"
)

// The clock is the process's own, so a process of its own looks at it, twice: before and
// after its file has changed.
func TestMain(m *testing.M) {
	name := os.Getenv("SECKILL_TEST_MOVE")
	if name == "" {
		os.Exit(m.Run())
	}
	before := skew.Now().Sub(time.Now()).Round(time.Second)
	if err := os.WriteFile(name, []byte("-5s\n"), 0o600); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(before.String() + " " + skew.Now().Sub(time.Now()).Round(time.Second).String())
}

func TestAClockStandsWrongByWhatItsFileSaysNow(t *testing.T) {
	for first, want := range map[string]string{"5s": "5s -5s", "": "0s -5s", "missing": "0s -5s"} {
		name := filepath.Join(t.TempDir(), "offset")
		if first != "missing" {
			if err := os.WriteFile(name, []byte(first), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SECKILL_TEST_MOVE="+name, "SECKILL_TEST_CLOCK="+name)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("file %q: got %q, %v; want %q", first, got, err, want)
		}
	}
}

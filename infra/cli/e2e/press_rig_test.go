package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// presses is what it was that each buyer of a file pressed once.
type presses struct {
	buyers int           // who pressed
	began  time.Time     // when the first was sent
	took   time.Duration // from the first request to the last
	spent  time.Duration // of the server's processor
	driven               // what wrk saw; the last of each connection is not in it
}

// answered gives how many a second were answered, and µs of processor time of each.
func (p presses) answered() (rate, cost float64) { return p.of(p.buyers) }

// accepted is how many of those whom wrk heard of were accepted.
func (p presses) accepted() int { return int(p.requests - p.refused) }

// of gives how many of n a second, and µs of processor time of each.
func (p presses) of(n int) (rate, cost float64) {
	return float64(n) / p.took.Seconds(), float64(p.spent.Microseconds()) / float64(max(n, 1))
}

// press lets each of the buyers of a file press once, over so many connections, and
// gives what it was, until the last request was sent.
func (s *side) press(t testing.TB, tokens string, buyers, conns int) (p presses) {
	t.Helper()
	tool := testenv.Program(t, "wrk", "wrk")
	cmd := exec.CommandContext(t.Context(), tool, "-t", "1", "-c", fmt.Sprint(conns), "-d", "3600s", "--timeout", "30s", // a late answer is an answer
		"-s", filepath.Join("testdata", "buyers.lua"), s.url, "--", s.path, tokens, "once")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("run wrk: %v", err)
	}
	var before time.Duration
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		switch {
		case lines.Text() == "BEGAN":
			p.began, before = time.Now(), processorTime(t, s.pid)
		case lines.Text() == "LAST":
			p.took, p.spent = time.Since(p.began), processorTime(t, s.pid)-before
			if err := cmd.Process.Signal(os.Interrupt); err != nil { // it ends, and says what it saw
				t.Fatalf("end wrk: %v", err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("run wrk: %v\n%s", err, said.String())
	}
	_, result, _ := strings.Cut(said.String(), "RESULT ")
	if _, err := fmt.Sscan(result, &p.requests, &p.micros, &p.refused, &p.broken, &p.p99); err != nil || p.took == 0 || p.broken > 0 || int(p.requests) < buyers-2*conns {
		t.Fatalf("wrk saw broken answers, or not all:\n%s", said.String())
	}
	p.buyers = buyers
	return p
}

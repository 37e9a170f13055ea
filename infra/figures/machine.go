package figures

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"seckill/infra/embedded"
)

// ThisMachine describes the machine and what is measured with, in one line.
func ThisMachine(ctx context.Context) string {
	return fmt.Sprintf("%s, %d cores, %s of memory, Linux %s, %s, %s, %s", processor(), runtime.NumCPU(), memory(), kernel(), runtime.Version(),
		versionOf(ctx, "PostgreSQL", func() (string, error) {
			dir, err := embedded.FindPostgres("")
			return filepath.Join(dir, "postgres"), err
		}), versionOf(ctx, "Redis", func() (string, error) { return embedded.FindRedis("") }))
}

func processor() string {
	for line := range lines("/proc/cpuinfo") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return runtime.GOARCH
}

func memory() string {
	for line := range lines("/proc/meminfo") {
		var kib float64
		if n, _ := fmt.Sscanf(line, "MemTotal: %f kB", &kib); n == 1 {
			return fmt.Sprintf("%.0f GiB", kib/(1<<20))
		}
	}
	return "?"
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(text))
}

// lines goes through the lines of a file; one that cannot be read has none.
func lines(file string) func(yield func(string) bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		text = nil
	}
	return strings.Lines(string(text))
}

// versionOf asks a server's program for its version.
func versionOf(ctx context.Context, name string, find func() (string, error)) string {
	program, err := find()
	if err != nil {
		return name + " missing"
	}
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return name + " of unknown version"
	}
	for _, word := range strings.Fields(string(bytes.TrimSpace(out))) {
		if word = strings.TrimPrefix(word, "v="); word[0] >= '0' && word[0] <= '9' {
			return name + " " + word
		}
	}
	return name + " of unknown version"
}

// Idle gives the share of the processor that nobody used over a while, 0 to 1; -1 where
// that is not known.
func Idle(ctx context.Context, over time.Duration) float64 {
	idle, all, ok := processorTimes()
	select {
	case <-ctx.Done():
		return -1
	case <-time.After(over):
	}
	idleAfter, allAfter, okAfter := processorTimes()
	if !ok || !okAfter || allAfter == all {
		return -1
	}
	return float64(idleAfter-idle) / float64(allAfter-all)
}

// processorTimes reads what all cores spent since the start of the machine.
func processorTimes() (idle, all int64, ok bool) {
	for line := range lines("/proc/stat") {
		fields := strings.Fields(line)
		if len(fields) < 9 || fields[0] != "cpu" {
			continue
		}
		for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, 0, false
			}
			all += n
			if i == 3 || i == 4 {
				idle += n
			}
		}
		return idle, all, true
	}
	return 0, 0, false
}

package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const unit = "deploy/systemd/seckill@.service"

func TestTheUnitIsWhatSystemdTakes(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("systemd-analyze is missing: .ci/install systemd")
	}
	if err != nil {
		t.Fatal(err)
	}
	// The name of an instance stands for it.
	file := filepath.Join(t.TempDir(), "seckill@api.service")
	if err := os.WriteFile(file, []byte(read(t, unit)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	// From 0, closed, to 10, open.
	if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=20", file).CombinedOutput(); err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
}

// The instances of the unit's own example serve each role once, and what it runs hands
// the roles over as the program reads them.
func TestTheUnitServesTheRolesOfItsInstance(t *testing.T) {
	text := read(t, unit)
	example := regexp.MustCompile(`enable --now (.*)`).FindStringSubmatch(text)
	script := regexp.MustCompile(`(?m)^ExecStart=/bin/sh -c '(.*)' seckill %i$`).FindStringSubmatch(text)
	if example == nil || script == nil {
		t.Fatal("the example or the command was not found")
	}
	fake := filepath.Join(t.TempDir(), "seckill")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	serving := map[string][]string{}
	for name := range strings.FieldsSeq(example[1]) {
		_, instance, _ := strings.Cut(name, "@")
		command := strings.ReplaceAll(script[1], "/usr/local/bin/seckill", fake)
		out, err := exec.Command("/bin/sh", "-c", command, "seckill", instance).Output()
		if err != nil {
			t.Fatal(err)
		}
		serving[name] = rolesOf(t, strings.Fields(string(out)))
	}
	servedOnce(t, serving)
	knownSettings(t, unit, regexp.MustCompile(`SECKILL_[A-Z_]+`).FindAllString(text, -1))
	if !strings.Contains(text, "TimeoutStopSec=60s") {
		t.Error("it is not given the minute to stop that docs/deployment.md asks for")
	}
}

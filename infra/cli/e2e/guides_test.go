package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// guide gives the commands of a page: its fenced sh blocks as one script. A line of the
// form "# → TEXT" becomes a check that what was printed since the last one contains TEXT.
func guide(t *testing.T, page string) (script string, checks int) {
	t.Helper()
	file, err := os.Open(filepath.Join("../../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var b strings.Builder
	inside, number := false, 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		number++
		line := lines.Text()
		switch {
		case line == "```sh" && !inside:
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "# → "):
			checks++
			fmt.Fprintf(&b, "expect %d '%s'\n", number, strings.ReplaceAll(strings.TrimPrefix(line, "# → "), "'", `'\''`))
		default:
			b.WriteString(line + "\n")
		}
	}
	return b.String(), checks
}

// preamble catches what the commands print, and stops at the first that fails.
const preamble = `set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || :' EXIT
exec 3>&1 >>out.txt
expect() {
	if ! grep -qF -- "$2" out.txt; then
		echo "line $1: want $2" >&3
		exit 1
	fi
	: >out.txt
}
`

// play runs a script in an empty folder, where seckill is the built program.
func play(t *testing.T, script string, env ...string) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(Binary(t), filepath.Join(bin, "seckill")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", preamble+script)
	cmd.Dir = dir
	cmd.Env = append(cleanEnv(append(env, patient()...)...), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = 30 * time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		printed, _ := os.ReadFile(filepath.Join(dir, "out.txt")) // shown beside the failure
		served, _ := os.ReadFile(filepath.Join(dir, "serve.log"))
		t.Fatalf("%v\n%s\nprinted since the last check:\n%s\n%s", err, said, printed, served)
	}
}

func TestTheTutorialIsTrue(t *testing.T) {
	script, checks := guide(t, "tutorial.md")
	if checks < 12 {
		t.Fatalf("only %d checks were found", checks)
	}
	const port = "127.0.0.1:8080"
	if !strings.Contains(script, port) {
		t.Fatal("the tutorial serves somewhere else")
	}
	free := net.JoinHostPort("127.0.0.1", strconv.Itoa(testenv.FreePort(t)))
	play(t, strings.ReplaceAll(script, port, free))
}

func TestTheAPIGuideIsTrue(t *testing.T) {
	script, checks := guide(t, "api.md")
	if checks < 30 {
		t.Fatalf("only %d checks were found", checks)
	}
	const secret = "a payment secret for tests alone"
	rig := NewRig(t)
	child := ServeRig(t, rig, append(patient(), "SECKILL_PAYMENT_PROVIDERS=acme=https://pay.example/{order}", "SECKILL_PAYMENT_SECRETS=acme="+secret, "SECKILL_SEAL_AFTER=1s")...)
	play(t, strings.ReplaceAll(script, "http://127.0.0.1:8080", child.URL),
		append(rig.Settings(t), "PROVIDER_SECRET="+secret)...)
}

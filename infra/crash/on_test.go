//go:build crashpoints

package crash_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"seckill/infra/crash"
)

func TestMain(m *testing.M) {
	if os.Getenv("SECKILL_TEST_WALK") == "" {
		os.Exit(m.Run())
	}
	for _, step := range []string{"a1", "b1", "a2", "b2"} {
		os.Stdout.WriteString(step + " ")
		crash.At(step[:1])
	}
	os.Exit(0)
}

func TestTheProcessDiesAtTheWishedHit(t *testing.T) {
	for wish, want := range map[string]string{"a": "a1", "b": "a1 b1", "a:2": "a1 b1 a2", "b:2": "a1 b1 a2 b2"} {
		out, err := walk(wish)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("%s: got %v want an end by SIGKILL", wish, err)
		}
		if strings.TrimSpace(out) != want {
			t.Errorf("%s: got steps %q want %q", wish, out, want)
		}
	}
}

func TestNobodyDiesAtAnotherPointOrHit(t *testing.T) {
	for _, wish := range []string{"", "c", "a:3"} {
		if out, err := walk(wish); err != nil || strings.TrimSpace(out) != "a1 b1 a2 b2" {
			t.Errorf("%q: got %q, %v want all steps", wish, out, err)
		}
	}
}

func TestAWishThatCannotBeReadIsRefused(t *testing.T) {
	for _, wish := range []string{"a:0", "a:x", "a:"} {
		var exit *exec.ExitError
		if _, err := walk(wish); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%q: got %v want a panic", wish, err)
		}
	}
}

func walk(wish string) (string, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SECKILL_TEST_WALK=1", "SECKILL_CRASH_AT="+wish)
	out, err := cmd.Output()
	return string(out), err
}

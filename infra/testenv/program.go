package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Program gives the path of the first of these programs that is installed. Where none is,
// the test is skipped, saying which Debian package has one; where CI=true it fails.
func Program(t testing.TB, pkg string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing := t.Skipf
	if inCI() {
		missing = t.Fatalf
	}
	missing("%s is not installed: .ci/install %s", strings.Join(names, " or "), pkg)
	return ""
}

// inCI tells whether a test that lacks something must fail.
func inCI() bool { return os.Getenv("CI") == "true" }

//go:build !crashpoints

package skew_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"seckill/infra/skew"
)

func TestTheClockOfAnOrdinaryBuildCannotBeMoved(t *testing.T) {
	name := filepath.Join(t.TempDir(), "offset")
	if err := os.WriteFile(name, []byte("24h"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECKILL_TEST_CLOCK", name)
	if ahead := time.Until(skew.Now()); ahead > time.Hour {
		t.Errorf("the clock is %s ahead", ahead)
	}
}

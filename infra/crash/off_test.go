//go:build !crashpoints

package crash_test

import (
	"testing"

	"seckill/infra/crash"
)

func TestAnOrdinaryBuildCannotBeToldToCrash(t *testing.T) {
	t.Setenv("SECKILL_CRASH_AT", "point")
	crash.At("point") // the test process itself would be gone
}

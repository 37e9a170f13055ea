//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// The wish of the environment and how often its point was met: state of the
// process, as the process is what ends. In this build for tests alone.
var (
	wish = sync.OnceValues(readWish)
	hits atomic.Int64
)

// At kills the process with SIGKILL if SECKILL_CRASH_AT asks for it at this
// point. It does not return then.
func At(name string) {
	wanted, n := wish()
	if name != wanted || hits.Add(1) != n {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way; no further step may be taken
}

// readWish panics on a number that is none: a test that never kills would pass.
func readWish() (name string, n int64) {
	name, number, counted := strings.Cut(os.Getenv("SECKILL_CRASH_AT"), ":")
	if !counted {
		return name, 1
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		panic("SECKILL_CRASH_AT must be name or name:number")
	}
	return name, n
}

//go:build crashpoints

package skew

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// file names where the offset stands. In this build for tests alone.
var file = sync.OnceValue(func() string { return os.Getenv("SECKILL_TEST_CLOCK") })

// Now gives the time, moved by what the file says.
func Now() time.Time { return time.Now().Add(offset(file())) }

// offset panics on a file that says no duration: a test that moves nothing would pass.
func offset(name string) time.Duration {
	if name == "" {
		return 0
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	said := strings.TrimSpace(string(text))
	if err == nil && said == "" {
		return 0
	}
	d, parseErr := time.ParseDuration(said)
	if err := errors.Join(err, parseErr); err != nil {
		panic("SECKILL_TEST_CLOCK must name a file with a duration: " + err.Error())
	}
	return d
}

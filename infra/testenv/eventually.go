package testenv

import (
	"errors"
	"testing"
	"time"

	"seckill/infra/embedded"
)

// Eventually calls check until it returns nil. If that has not happened within
// the deadline the test fails with the last error; choose one that only a
// broken program can miss.
func Eventually(t testing.TB, deadline time.Duration, check func() error) {
	t.Helper()
	end := time.Now().Add(deadline)
	wait := time.Millisecond
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %s: %v", deadline, err)
		}
		time.Sleep(wait)
		wait = min(2*wait, 50*time.Millisecond)
	}
}

func isMissing(err error) bool {
	var notFound *embedded.NotFoundError
	return errors.As(err, &notFound)
}

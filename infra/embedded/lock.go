package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// pollEvery is how often waiting code looks again: locks of other processes
// and servers that are starting cannot call back.
const pollEvery = 10 * time.Millisecond

// tryLock opens file and locks it without waiting. It returns nil, nil when
// somebody else holds a lock that does not go together with it.
func tryLock(file string, how int) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", file, err)
}

// waitLock is tryLock until it succeeds or ctx ends.
func waitLock(ctx context.Context, file string, how int) (*os.File, error) {
	var held *os.File
	err := poll(ctx, func() (bool, error) {
		f, err := tryLock(file, how)
		held = f
		return f != nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for lock %s: %w", file, err)
	}
	return held, nil
}

// poll calls done until it says true or fails, or ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

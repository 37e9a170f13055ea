package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// unitLock is the file that one measurement at a time holds: two would throw away what
// the other measures with.
const unitLock = "measuring.lock"

// lockUnits waits until nobody measures on this data folder, and keeps others from it
// until free is called.
func lockUnits(ctx context.Context, dataDir string) (free func() error, err error) {
	// Whoever PostgreSQL runs as must get through these folders.
	dir := filepath.Join(dataDir, unitDir)
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("make the folder of measurements: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, unitLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of measurements: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil // which lets go of it
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock the folder of measurements: %w", err), file.Close())
		}
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}

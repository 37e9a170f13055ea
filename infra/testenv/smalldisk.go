package testenv

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SmallDisk is a file system of bounded size, in memory, that a test fills.
type SmallDisk struct {
	// Dir is where it is mounted; everybody may write there.
	Dir string

	t testing.TB
}

// CanMount tells whether this process may mount a file system: whether SmallDisk works.
func CanMount() bool { return os.Geteuid() == 0 }

// NewSmallDisk mounts one of so many bytes. It goes with the test; where we may not mount,
// the test is skipped.
func NewSmallDisk(t testing.TB, bytes int64) *SmallDisk {
	t.Helper()
	if !CanMount() {
		t.Skip("skipped: a file system of bounded size wants root")
	}
	dir, err := os.MkdirTemp("", "seckill-disk-*") // not below a folder that others may not enter
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("seckill-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0777", bytes)); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() { // whoever still has files there keeps them until he ends
		if err := errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH), os.Remove(dir)); err != nil {
			t.Errorf("take a small disk away: %v", err)
		}
	})
	return &SmallDisk{Dir: dir, t: t}
}

func (d *SmallDisk) ballast() string { return filepath.Join(d.Dir, "ballast") }

// Fill leaves not a byte of it free. Whoever empties a place by removing files meets the
// next Fill.
func (d *SmallDisk) Fill() error {
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	_, err = io.Copy(f, zeros{})
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Empty gives the room back.
func (d *SmallDisk) Empty() error { return os.Remove(d.ballast()) }

// zeros are bytes without end.
type zeros struct{}

// Read gives as many as are asked for.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

package testenv_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"seckill/infra/testenv"
)

func TestASmallDiskIsFullUntilItIsEmptied(t *testing.T) {
	d := testenv.NewSmallDisk(t, 1<<20)
	write := func() error { return os.WriteFile(filepath.Join(d.Dir, "file"), []byte("some text"), 0o600) }
	if err := write(); err != nil {
		t.Fatalf("on an empty disk: %v", err)
	}
	if err := os.Remove(filepath.Join(d.Dir, "file")); err != nil {
		t.Fatal(err)
	}
	if err := d.Fill(); err != nil {
		t.Fatal(err)
	}
	if err := write(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v, want no space", err)
	}
	if err := d.Empty(); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("on an emptied disk: %v", err)
	}
}

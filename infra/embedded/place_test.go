package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnUnreachableDataFolderPointsToAReachablePlace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as another user")
	}
	dir := filepath.Join(t.TempDir(), "closed") // t.TempDir is 0700 above it
	s := start(t, Options{DataDir: dir, NeedPostgres: true})
	query(t, s.DatabaseURL, "CREATE TABLE kept AS SELECT 'row' AS v")
	raw, err := os.ReadFile(filepath.Join(dir, pointerFile))
	if err != nil {
		t.Fatalf("no pointer file: %v", err)
	}
	place := strings.TrimSpace(string(raw))
	t.Cleanup(func() { os.RemoveAll(place) })
	stop(t, s)

	moved := filepath.Join(filepath.Dir(dir), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	s = start(t, Options{DataDir: moved, NeedPostgres: true})
	if got := query(t, s.DatabaseURL, "SELECT v FROM kept"); got != "row" {
		t.Errorf("a moved data folder lost its data: got %q", got)
	}
}

func TestACopyOfADataFolderDoesNotShareItsPlace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as another user")
	}
	dir, copied := t.TempDir(), t.TempDir()
	cred, err := serverUser()
	if err != nil {
		t.Fatal(err)
	}
	place, err := postgresPlace(dir, cred)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(place) })
	if err := os.WriteFile(filepath.Join(copied, pointerFile), []byte(place), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := postgresPlace(copied, cred); err == nil || !strings.Contains(err.Error(), "copy") {
		t.Errorf("got %v want a refusal", err)
	}
}

func TestPlacesOfRemovedTemporaryFoldersAreSwept(t *testing.T) {
	root := t.TempDir()
	gone, kept := filepath.Join(root, "seckill-1"), filepath.Join(root, "seckill-2")
	for place, owner := range map[string]string{gone: filepath.Join(root, "removed"), kept: root} {
		if err := ownPlace(place, owner, nil); err != nil {
			t.Fatal(err)
		}
	}
	sweepPlaces(root, nil)
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("place without a data folder is still there: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("place of a data folder was removed: %v", err)
	}
}

func TestAReachableDataFolderHoldsItsOwnPostgres(t *testing.T) {
	root, err := os.MkdirTemp("/var/tmp", "seckill-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "data")
	s := start(t, Options{DataDir: dir, NeedPostgres: true})
	if _, err := os.Stat(filepath.Join(dir, "postgres", "data", "PG_VERSION")); err != nil {
		t.Errorf("no PostgreSQL in the data folder: %v", err)
	}
	stop(t, s)
}

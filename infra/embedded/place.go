package embedded

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// pointerFile in a data folder says where PostgreSQL's files are, when the
// user that PostgreSQL runs as cannot reach the data folder.
const pointerFile = "postgres.path"

// ownerFile in such a place names the data folder it belongs to.
const ownerFile = "owner"

// serverUser returns who PostgreSQL runs as: nil for this process's own user,
// and as root, which PostgreSQL refuses, the user postgres or nobody.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read ids of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody")
}

// postgresPlace returns the folder for PostgreSQL's files, made and owned by
// the server's user: postgres/ in the data folder if that user can reach it,
// else a folder named by a hash of the data folder.
func postgresPlace(dataDir string, cred *syscall.Credential) (string, error) {
	pointer := filepath.Join(dataDir, pointerFile)
	raw, err := os.ReadFile(pointer)
	if err == nil {
		dir := strings.TrimSpace(string(raw))
		return dir, ownPlace(dir, dataDir, cred)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read where PostgreSQL's files are: %w", err)
	}
	inside := filepath.Join(dataDir, "postgres")
	_, statErr := os.Stat(inside)
	if err := makeOwned(inside, cred); err != nil {
		return "", err
	}
	if reachable(inside, cred) {
		return inside, nil
	}
	if statErr == nil {
		return "", fmt.Errorf("the user that PostgreSQL runs as can no longer reach %s; give the folders above it the x permission again", inside)
	}
	if err := os.Remove(inside); err != nil {
		return "", fmt.Errorf("remove unreachable folder: %w", err)
	}
	dir := filepath.Join(placesRoot(dataDir, cred), hashedName(dataDir))
	if err := ownPlace(dir, dataDir, cred); err != nil {
		return "", err
	}
	if !reachable(dir, cred) {
		return "", fmt.Errorf("the user that PostgreSQL runs as can reach neither %s nor %s", inside, dir)
	}
	if err := os.WriteFile(pointer, []byte(dir+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("note where PostgreSQL's files are: %w", err)
	}
	return dir, nil
}

// hashedName is a short name for what belongs to a folder elsewhere.
func hashedName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("seckill-%x", sum[:8])
}

// placesRoot keeps the files of a temporary data folder temporary, and those
// of any other where they outlive a restart of the machine.
func placesRoot(dataDir string, cred *syscall.Credential) string {
	const state = "/var/lib/seckill"
	if strings.HasPrefix(dataDir, filepath.Clean(os.TempDir())+string(filepath.Separator)) {
		sweepPlaces(os.TempDir(), cred)
		return os.TempDir()
	}
	if os.MkdirAll(state, 0o755) != nil {
		return os.TempDir()
	}
	return state
}

// sweepPlaces removes places whose data folder is gone, so that tests and
// trials leave nothing behind for long.
func sweepPlaces(root string, cred *syscall.Credential) {
	owners, _ := filepath.Glob(filepath.Join(root, "seckill-*", ownerFile)) // fails on a bad pattern only
	for _, file := range owners {
		raw, err := os.ReadFile(file)
		if err != nil || !ownedBy(filepath.Dir(file), cred) {
			continue
		}
		if _, err := os.Stat(string(raw)); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if gone, err := (server{dir: filepath.Dir(file)}).keeperGone(); err == nil && gone {
			_ = os.RemoveAll(filepath.Dir(file))
		}
	}
}

// ownPlace makes dir for dataDir, or checks that it belongs to dataDir. A data
// folder that was moved takes its place along; one that was copied may not.
func ownPlace(dir, dataDir string, cred *syscall.Credential) error {
	owner := filepath.Join(dir, ownerFile)
	raw, err := os.ReadFile(owner)
	if err == nil && string(raw) != dataDir {
		if other, err := os.ReadFile(filepath.Join(string(raw), pointerFile)); err == nil && strings.TrimSpace(string(other)) == dir {
			return fmt.Errorf("the PostgreSQL files of %s belong to %s, of which it seems to be a copy; remove %s to start afresh",
				dataDir, raw, filepath.Join(dataDir, pointerFile))
		}
	}
	if err := makeOwned(dir, cred); err != nil {
		return err
	}
	if err := os.WriteFile(owner, []byte(dataDir), 0o600); err != nil {
		return fmt.Errorf("note the owner of PostgreSQL's files: %w", err)
	}
	return nil
}

// makeOwned makes the last element of dir, private to the server's user. A
// folder that somebody else made there is refused.
func makeOwned(dir string, cred *syscall.Credential) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil && cred != nil {
		err = os.Chown(dir, int(cred.Uid), int(cred.Gid))
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make folder for PostgreSQL: %w", err)
	}
	if !ownedBy(dir, cred) {
		return fmt.Errorf("%s is not a folder of the user that PostgreSQL runs as", dir)
	}
	return nil
}

// ownedBy says whether dir is a folder, no link, of the server's user.
func ownedBy(dir string, cred *syscall.Credential) bool {
	uid := uint32(os.Geteuid())
	if cred != nil {
		uid = cred.Uid
	}
	st, err := os.Lstat(dir)
	if err != nil || !st.IsDir() {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Uid == uid
}

// reachable tries it: access lists and mounts make permission bits a guess.
func reachable(dir string, cred *syscall.Credential) bool {
	if cred == nil {
		return true
	}
	cmd := exec.Command("/bin/sh", "-c", "test -w .")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	return cmd.Run() == nil
}

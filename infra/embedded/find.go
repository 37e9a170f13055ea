package embedded

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NotFoundError says that a server's program is not on this machine.
type NotFoundError struct {
	Server  string // "PostgreSQL" or "Redis"
	Setting string // what the caller asked for; empty when it was searched for
}

func (e *NotFoundError) Error() string {
	if e.Setting != "" {
		how := "--redis-bin or SECKILL_REDIS_BIN the path of redis-server or valkey-server, or miniredis"
		if e.Server == "PostgreSQL" {
			how = "--postgres-bin or SECKILL_POSTGRES_BIN the folder that holds postgres and initdb"
		}
		return fmt.Sprintf("No %s was found at %s: give %s, or leave it out to have it searched for.", e.Server, e.Setting, how)
	}
	return fmt.Sprintf("No %s was found on this machine. Install it, or set the address of a running one.", e.Server)
}

// FindPostgres returns the folder of PostgreSQL's programs: setting (a folder,
// or the path of postgres), else what pg_config names, else the newest of the
// usual versioned folders, else PATH. The error is a *NotFoundError.
func FindPostgres(setting string) (string, error) {
	found := postgresFolders(setting)
	if len(found) == 0 {
		return "", &NotFoundError{Server: "PostgreSQL", Setting: setting}
	}
	return found[0], nil
}

// postgresFolders returns every folder that has what we need, best first.
func postgresFolders(setting string) []string {
	var folders []string
	if setting != "" {
		folders = []string{setting, filepath.Dir(setting)}
	} else {
		if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
			folders = append(folders, strings.TrimSpace(string(out)))
		}
		folders = append(folders, versionedFolders()...)
		if path, err := exec.LookPath("postgres"); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				folders = append(folders, filepath.Dir(real))
			}
		}
	}
	return slices.DeleteFunc(folders, func(dir string) bool {
		return !executable(filepath.Join(dir, "postgres")) || !executable(filepath.Join(dir, "initdb"))
	})
}

// versionedFolders lists where distributions put one folder per version, newest first.
func versionedFolders() []string {
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin", "/usr/local/pgsql/bin",
	} {
		found, _ := filepath.Glob(pattern) // fails on a bad pattern only
		dirs = append(dirs, found...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(folderVersion(b), folderVersion(a)) })
	return dirs
}

var firstNumber = regexp.MustCompile(`\d+(\.\d+)?`)

func folderVersion(dir string) float64 {
	v, _ := strconv.ParseFloat(firstNumber.FindString(dir), 64) // no number: oldest
	return v
}

// InProcessRedis as a setting asks for the miniredis inside this process, even
// where a redis-server is installed.
const InProcessRedis = "miniredis"

// FindRedis returns the path of redis-server or valkey-server: setting, else
// the first in PATH or the usual folders. The error is a *NotFoundError.
func FindRedis(setting string) (string, error) {
	if setting != "" {
		path, err := exec.LookPath(setting)
		if err != nil {
			return "", &NotFoundError{Server: "Redis", Setting: setting}
		}
		return path, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"} {
			if path := filepath.Join(dir, name); executable(path) {
				return path, nil
			}
		}
	}
	return "", &NotFoundError{Server: "Redis"}
}

func executable(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is another process that uses the stores of a data folder.
type process struct {
	cmd                           *exec.Cmd
	input                         io.Closer
	database, redis, token, notic string
}

func startUser(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	u, err := tryStartUser(dir, env...)
	if err != nil {
		t.Fatalf("start a second process: %v", err)
	}
	t.Cleanup(u.kill)
	return u
}

func tryStartUser(dir string, env ...string) (*process, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "SECKILL_TEST_USE_STORES="+dir), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	u := &process{cmd: cmd, input: in}
	lines := bufio.NewScanner(out)
	for _, to := range []*string{&u.database, &u.redis, &u.token, &u.notic} {
		if !lines.Scan() {
			u.kill()
			return nil, fmt.Errorf("it ended without saying where the stores are: %v", lines.Err())
		}
		*to = lines.Text()
	}
	return u, nil
}

func (u *process) kill() {
	_ = u.cmd.Process.Kill()
	_ = u.cmd.Wait()
}

func (u *process) leave(t *testing.T) {
	t.Helper()
	u.input.Close()
	if err := u.cmd.Wait(); err != nil {
		t.Errorf("the second process failed: %v", err)
	}
}

// processesOf lists the processes that name the data folder, or the place of
// its PostgreSQL, on their command line.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	names := []string{dir + "/"}
	if raw, err := os.ReadFile(filepath.Join(dir, pointerFile)); err == nil {
		names = append(names, strings.TrimSpace(string(raw))+"/")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		raw, _ := os.ReadFile(file) // it may have ended
		line := strings.ReplaceAll(string(raw), "\x00", " ")
		for _, name := range names {
			if strings.Contains(line, name) {
				found = append(found, filepath.Base(filepath.Dir(file))+" "+line[:min(len(line), 60)])
				break
			}
		}
	}
	return found
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := poll(ctx, func() (bool, error) { return ok(), nil }); err != nil {
		t.Fatalf("never happened: %s", what)
	}
}

func TestTwoProcessesShareOneStart(t *testing.T) {
	dir := dataDir(t)
	s := start(t, both(dir))
	u := startUser(t, dir)
	if u.database != s.DatabaseURL || u.redis != s.RedisURL {
		t.Errorf("second process uses other stores: %s %s", u.database, u.redis)
	}
	if !strings.Contains(u.notic, "already running") {
		t.Errorf("second process does not say that it joined: %q", u.notic)
	}
	u.leave(t)
	if got := query(t, s.DatabaseURL, "SELECT 'alive'"); got != "alive" {
		t.Error("the stores ended with a user that was not the last")
	}
}

func TestStoresOutliveTheProcessThatStartedThem(t *testing.T) {
	for _, how := range []string{"stopped", "killed"} {
		t.Run(how, func(t *testing.T) {
			dir := dataDir(t)
			first := startUser(t, dir)
			s := start(t, both(dir))
			if how == "killed" {
				first.kill()
			} else {
				first.leave(t)
			}
			if got := query(t, s.DatabaseURL, "SELECT 'alive'"); got != "alive" {
				t.Errorf("PostgreSQL: got %q want alive", got)
			}
			if got := redisDo(t, s.RedisURL, "PING"); got != "PONG" {
				t.Errorf("Redis: got %v want PONG", got)
			}
		})
	}
}

func TestStoresEndWhenTheirOnlyUserIsKilled(t *testing.T) {
	dir := dataDir(t)
	u := startUser(t, dir)
	redisDo(t, u.redis, "SET", "kept", "value")
	u.kill()
	eventually(t, "all servers gone", func() bool { return len(processesOf(t, dir)) == 0 })
	s := start(t, both(dir))
	if got := redisDo(t, s.RedisURL, "GET", "kept"); got != "value" {
		t.Errorf("value after the kill: got %v want value", got)
	}
}

func TestServersEndWhenTheirKeeperIsKilled(t *testing.T) {
	dir := dataDir(t)
	u := startUser(t, dir)
	for _, p := range processesOf(t, dir) {
		if strings.Contains(p, "/bin/sh -c") {
			killLine(t, p)
		}
	}
	eventually(t, "servers gone", func() bool {
		for _, p := range processesOf(t, dir) {
			if !strings.Contains(p, "/bin/sh -c") {
				return false
			}
		}
		return true
	})
	u.kill()
	s := start(t, both(dir))
	if got := query(t, s.DatabaseURL, "SELECT 'alive'"); got != "alive" {
		t.Errorf("PostgreSQL after its keeper was killed: got %q want alive", got)
	}
}

func TestAServerThatDiesComesBackAtTheSameAddress(t *testing.T) {
	dir := dataDir(t)
	s := start(t, both(dir))
	redisDo(t, s.RedisURL, "SET", "kept", "value")
	query(t, s.DatabaseURL, "CREATE TABLE kept AS SELECT 'row' AS v")
	eventually(t, "append-only file on disk", func() bool {
		return strings.Contains(fmt.Sprint(redisDo(t, s.RedisURL, "INFO", "persistence")), "aof_pending_bio_fsync:0")
	})
	for _, p := range processesOf(t, dir) {
		if !strings.Contains(p, "/bin/sh -c") {
			killLine(t, p)
		}
	}
	eventually(t, "both answer again", func() bool {
		return pingPostgres(t.Context(), s.DatabaseURL) == nil && pingRedis(t.Context(), s.RedisURL) == nil
	})
	if got := query(t, s.DatabaseURL, "SELECT v FROM kept"); got != "row" {
		t.Errorf("row: got %q want row", got)
	}
	if got := redisDo(t, s.RedisURL, "GET", "kept"); got != "value" {
		t.Errorf("value: got %v want value", got)
	}
}

func killLine(t *testing.T, process string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.Fields(process)[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with another
}

func TestManyProcessesAtOnceShareOneStartAndLeaveNothing(t *testing.T) {
	dir := dataDir(t)
	if _, err := FindRedis(""); err != nil {
		missing(t, err)
	}
	for round := range 3 {
		var users [4]*process
		var errs [4]error
		var wg sync.WaitGroup
		for i := range users {
			wg.Go(func() {
				if users[i], errs[i] = tryStartUser(dir); errs[i] == nil {
					t.Cleanup(users[i].kill)
				}
			})
		}
		wg.Wait()
		for i, err := range errs {
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if users[i].database != users[0].database || users[i].redis != users[0].redis {
				t.Errorf("round %d: two starts on one folder: %s and %s", round, users[0].database, users[i].database)
			}
		}
		for _, u := range users {
			wg.Go(func() { u.leave(t) })
		}
		wg.Wait()
		eventually(t, "all servers gone", func() bool { return len(processesOf(t, dir)) == 0 })
	}
}

func TestProcessesShareTheMiniredisOfTheFirst(t *testing.T) {
	dir := dataDir(t)
	s := start(t, Options{DataDir: dir, NeedPostgres: true, NeedRedis: true, RedisBin: InProcessRedis})
	u := startUser(t, dir, "SECKILL_TEST_REDIS="+InProcessRedis)
	if u.redis != s.RedisURL || u.token != s.ProcessToken {
		t.Errorf("second process: got %s token %s, want %s token %s", u.redis, u.token, s.RedisURL, s.ProcessToken)
	}
	u.leave(t)
	if got := redisDo(t, s.RedisURL, "PING"); got != "PONG" {
		t.Errorf("miniredis after the second process left: got %v", got)
	}
}

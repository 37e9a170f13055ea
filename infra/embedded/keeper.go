package embedded

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed keeper.sh
var keeperScript string

// startTries is how often a start is repeated with another port, should
// somebody take the free one before the server does.
const startTries = 3

// server is one kind of server that the processes of a data folder share.
type server struct {
	name   string              // for people, such as "PostgreSQL"
	dir    string              // holds the locks, the state file and the log
	signal string              // stops it fast, without loss
	cred   *syscall.Credential // who it runs as; nil is this process's user
	// prepare makes the server's files ready and says how to start it. It is
	// called only while no server runs on them.
	prepare func(ctx context.Context) (launch, error)
	// ping says whether the server at a URL answers. Its password is new with
	// each start, so nobody else's server can answer.
	ping func(ctx context.Context, url string) error
}

// launch is one way to start a server.
type launch struct {
	argv  []string
	run   running
	ready func(ctx context.Context) error // nil error: it takes commands at run.URL
}

// lease is this process's share in a running server.
type lease struct {
	run    running
	users  *os.File
	server server
	keeper *exec.Cmd // of the process that started the server, else nil
}

func (s server) file(name string) string { return filepath.Join(s.dir, name) }

// acquire returns a share in the server, which is started if it does not run.
func (s server) acquire(ctx context.Context) (*lease, error) {
	start, err := waitLock(ctx, s.file("start.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer start.Close()
	for {
		users, err := waitLock(ctx, s.file("users.lock"), syscall.LOCK_SH)
		if err != nil {
			return nil, err
		}
		// From here on a keeper that runs cannot begin to stop.
		l, err := s.joinOrStart(ctx, users)
		if l != nil {
			return l, nil
		}
		users.Close()
		if err != nil {
			return nil, err
		}
		// A keeper is left over from a process that died while it started the
		// server. Without users it ends by itself.
		if err := s.waitKeeperGone(ctx); err != nil {
			return nil, err
		}
	}
}

// joinOrStart returns nil, nil when a keeper runs that cannot be joined.
func (s server) joinOrStart(ctx context.Context, users *os.File) (*lease, error) {
	keeper, err := tryLock(s.file("keeper.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	if keeper == nil {
		return s.join(ctx, users)
	}
	defer keeper.Close()
	for try := 1; ; try++ {
		l, err := s.start(ctx, users, keeper)
		if err == nil || try == startTries || !errors.Is(err, errPortTaken) {
			return l, err
		}
		if keeper, err = waitLock(ctx, s.file("keeper.lock"), syscall.LOCK_EX); err != nil {
			return nil, err
		}
		defer keeper.Close()
	}
}

func (s server) join(ctx context.Context, users *os.File) (*lease, error) {
	var run running
	err := poll(ctx, func() (bool, error) {
		var err error
		if run, err = readRunning(s.file(stateFile)); err != nil {
			return false, err
		}
		if run.URL == "" || s.ping(ctx, run.URL) == nil {
			return true, nil
		}
		// The server died and is on its way back, unless its keeper died too.
		gone, err := s.keeperGone()
		if gone {
			run = running{}
		}
		return gone, err
	})
	if err != nil {
		return nil, fmt.Errorf("join the running %s: %w", s.name, err)
	}
	if run.URL == "" {
		return nil, nil
	}
	run.joined = true
	return &lease{run: run, users: users, server: s}, nil
}

// start starts a keeper with its server and waits until the server is ready.
// keeper is the locked keeper.lock; it is passed on to the keeper.
func (s server) start(ctx context.Context, users, keeper *os.File) (*lease, error) {
	defer keeper.Close()
	if err := os.Remove(s.file(stateFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove state of an earlier %s: %w", s.name, err)
	}
	plan, err := s.prepare(ctx)
	if err != nil {
		return nil, err
	}
	cmd, err := s.spawn(plan.argv, keeper)
	if err != nil {
		return nil, err
	}
	keeper.Close() // the keeper's copy holds the lock now
	err = poll(ctx, func() (bool, error) {
		if plan.ready(ctx) == nil {
			return true, nil
		}
		gone, err := s.keeperGone()
		if err == nil && gone {
			err = s.startFailure()
		}
		return false, err
	})
	if err == nil {
		plan.run.StartedAt = time.Now().UTC()
		err = plan.run.write(s.file(stateFile))
	}
	if err != nil {
		s.abandon(cmd)
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	return &lease{run: plan.run, users: users, server: s, keeper: cmd}, nil
}

// abandon ends a keeper whose server never became ready. Users may be waiting
// for the start lock, so it does not wait for the keeper to find itself unused.
func (s server) abandon(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGUSR1)
	_ = cmd.Wait()
}

func (s server) spawn(argv []string, keeper *os.File) (*exec.Cmd, error) {
	log := s.file("server.log")
	_ = os.Rename(log, log+".1") // the log of the start before stays readable
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", s.name, err)
	}
	defer out.Close()
	args := append([]string{"-c", keeperScript, "seckill-keeper",
		s.file("users.lock"), s.file(stateFile), s.signal}, argv...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{keeper}
	cmd.Env = append(cleanEnv(os.Environ()), "LC_ALL=C")
	// A session of its own: Ctrl-C in the terminal is for the program, which
	// still needs its stores while it stops.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.cred}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start keeper of %s: %w", s.name, err)
	}
	return cmd, nil
}

// cleanEnv drops the variables by which PostgreSQL's programs would be led to
// another server or folder, and every setting of ours: they may be secrets.
func cleanEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, kv := range env {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "SECKILL_") && !strings.HasPrefix(kv, "LC_") {
			kept = append(kept, kv)
		}
	}
	return kept
}

func (s server) keeperGone() (bool, error) {
	f, err := tryLock(s.file("keeper.lock"), syscall.LOCK_EX)
	if f != nil {
		f.Close()
	}
	return f != nil, err
}

func (s server) waitKeeperGone(ctx context.Context) error {
	if err := poll(ctx, s.keeperGone); err != nil {
		return fmt.Errorf("wait for %s to stop: %w", s.name, err)
	}
	return nil
}

// release gives the share back. The last user waits until the server has
// stopped; any other returns at once.
func (l *lease) release(ctx context.Context) error {
	l.users.Close()
	lock := l.server.file("users.lock")
	others := 0
	err := poll(ctx, func() (bool, error) {
		gone, err := l.server.keeperGone()
		if gone || err != nil {
			return gone, err
		}
		// Free only if there is another user: the keeper holds it, or is about
		// to, when there is none.
		other, err := tryLock(lock, syscall.LOCK_EX)
		if other != nil {
			other.Close()
			return false, err
		}
		shared, err2 := tryLock(lock, syscall.LOCK_SH)
		if shared != nil {
			shared.Close()
			others++
		}
		// Once may have been another process that looks like this at the same time.
		return others >= 3, errors.Join(err, err2)
	})
	if err != nil {
		return fmt.Errorf("stop %s: %w", l.server.name, err)
	}
	l.reap()
	return nil
}

// reap collects the keeper this process started, if it has ended.
func (l *lease) reap() {
	if l.keeper == nil {
		return
	}
	if gone, _ := l.server.keeperGone(); gone {
		_ = l.keeper.Wait()
		return
	}
	_ = l.keeper.Process.Release()
}

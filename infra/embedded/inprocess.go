package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/alicebob/miniredis/v2"
)

// inProcess is a share in a miniredis: the process that runs it has own set,
// the others only know where it runs.
type inProcess struct {
	run   running
	own   *miniredis.Miniredis
	owner *os.File // the lock of the process that runs it
	state string
}

// joinInProcess joins the miniredis that another process of the data folder
// runs; nil when none does.
func joinInProcess(ctx context.Context, o Options) (*inProcess, error) {
	var p *inProcess
	err := poll(ctx, func() (bool, error) {
		free, err := tryLock(filepath.Join(redisDir(o), "miniredis.lock"), syscall.LOCK_EX)
		if free != nil {
			return true, free.Close()
		}
		if err != nil {
			return false, err
		}
		run, err := readRunning(filepath.Join(redisDir(o), "miniredis.json"))
		if err != nil || run.URL == "" || pingRedis(ctx, run.URL) != nil {
			return false, err
		}
		run.joined = true
		p = &inProcess{run: run}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("join the Redis inside another process: %w", err)
	}
	return p, nil
}

// startInProcess runs a miniredis in this process, or joins the one that
// another process of the data folder runs.
func startInProcess(ctx context.Context, o Options) (*inProcess, error) {
	dir := redisDir(o)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder for Redis: %w", err)
	}
	p := &inProcess{state: filepath.Join(dir, "miniredis.json")}
	err := poll(ctx, func() (bool, error) {
		owner, err := tryLock(filepath.Join(dir, "miniredis.lock"), syscall.LOCK_EX)
		if err != nil {
			return false, err
		}
		if owner != nil {
			p.owner = owner
			return true, p.start()
		}
		p.run, err = readRunning(p.state)
		p.run.joined = true
		return p.run.URL != "" && pingRedis(ctx, p.run.URL) == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("run Redis inside the process: %w", errors.Join(err, p.release()))
	}
	return p, nil
}

func (p *inProcess) start() error {
	m := miniredis.NewMiniRedis()
	password := randomText()
	m.RequireAuth(password)
	if err := m.Start(); err != nil {
		return err
	}
	p.own = m
	port, err := strconv.Atoi(m.Port())
	if err != nil {
		return fmt.Errorf("read port of miniredis: %w", err)
	}
	p.run = running{URL: redisURL(port, password), Port: port, Token: randomText(), Owner: os.Getpid()}
	return p.run.write(p.state)
}

func (p *inProcess) release() error {
	if p.owner == nil {
		return nil
	}
	defer p.owner.Close()
	if p.own != nil {
		p.own.Close()
	}
	if err := os.Remove(p.state); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove state of miniredis: %w", err)
	}
	return nil
}

package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// startWithin bounds a start: a first one makes a data folder, and one after a
// crash of the machine reads logs.
const startWithin = 2 * time.Minute

// Options say what to start and where.
type Options struct {
	// DataDir holds all that is stored. It is made when missing. Required.
	DataDir string
	// NeedPostgres and NeedRedis choose the stores; at least one.
	NeedPostgres, NeedRedis bool
	// PostgresBin is the folder of PostgreSQL's programs; empty searches.
	PostgresBin string
	// RedisBin is the path of redis-server or valkey-server; empty searches, and
	// takes miniredis when there is none; InProcessRedis takes miniredis. What runs
	// for the data folder already is joined, whichever of them it is.
	RedisBin string
	// Ephemeral trades durability for speed: data of an earlier start is thrown
	// away and a crash of the machine may lose all. For tests.
	Ephemeral bool
	// Logger gets what an operator may want to know later; nil is silence.
	Logger *slog.Logger
}

func (o Options) validate() error {
	var errs []error
	if o.DataDir == "" {
		errs = append(errs, errors.New("a data folder is needed to run private stores"))
	}
	if !o.NeedPostgres && !o.NeedRedis {
		errs = append(errs, errors.New("neither PostgreSQL nor Redis was asked for"))
	}
	for _, tool := range []string{"flock", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			errs = append(errs, fmt.Errorf("private stores need the program %s (package util-linux)", tool))
		}
	}
	return errors.Join(errs...)
}

// Stores are the private stores of a data folder, running.
type Stores struct {
	// DatabaseURL is of a superuser and holds a password; empty if not asked for.
	DatabaseURL string
	// RedisURL holds a password; empty if not asked for.
	RedisURL string
	// Miniredis says that Redis is an imitation inside a process.
	Miniredis bool
	// ProcessToken names this one life of a miniredis, as run_id does for a real
	// server: another one, or the same after a restart, has another token. All
	// processes that share the miniredis get the same. Empty for a real Redis.
	ProcessToken string
	// Notice is one line for people about what was started, without secrets.
	Notice string

	stopOnce sync.Once
	stopErr  error
	releases []func(context.Context) error
}

// Start starts the stores that o asks for, or joins those that another process
// runs on the same data folder. When it fails, nothing of it is left running.
func Start(ctx context.Context, o Options) (*Stores, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if o.DataDir, err = makeDataDir(o.DataDir); err != nil {
		return nil, err
	}
	if err := writable(o.DataDir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("the private stores were not ready after %s", startWithin))
	defer cancel()
	s := &Stores{}
	var n notice
	if err := s.start(ctx, o, &n); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		return nil, errors.Join(err, s.Stop(stopCtx))
	}
	s.Notice = n.line(o.DataDir)
	o.Logger.Info("private stores ready", "store", s.Notice)
	return s, nil
}

// start starts both stores at the same time.
func (s *Stores) start(ctx context.Context, o Options, n *notice) error {
	var pgErr, redisErr error
	var pg *lease
	var wg sync.WaitGroup
	if o.NeedPostgres {
		wg.Go(func() { pg, pgErr = startServer(ctx, o, postgresServer) })
	}
	if o.NeedRedis {
		redisErr = s.startRedis(ctx, o, n)
	}
	wg.Wait()
	if pg != nil {
		s.DatabaseURL, n.postgres = pg.run.URL, &pg.run
		s.releases = append(s.releases, pg.release)
	}
	return errors.Join(pgErr, redisErr)
}

func startServer(ctx context.Context, o Options, find func(context.Context, Options) (server, error)) (*lease, error) {
	srv, err := find(ctx, o)
	if err != nil {
		return nil, err
	}
	return srv.acquire(ctx)
}

// startRedis joins the Redis that runs for the data folder, of whichever kind it
// is, else starts the one that was asked for. One at a time: a folder with two
// gates would sell its units twice.
func (s *Stores) startRedis(ctx context.Context, o Options, n *notice) error {
	if err := os.MkdirAll(redisDir(o), 0o700); err != nil {
		return fmt.Errorf("make folder for Redis: %w", err)
	}
	choosing, err := waitLock(ctx, filepath.Join(redisDir(o), "choice.lock"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer choosing.Close()
	p, err := joinInProcess(ctx, o)
	if err != nil {
		return err
	}
	if p == nil {
		var missing *NotFoundError
		l, err := startServer(ctx, o, redisServer)
		if err == nil {
			s.RedisURL, n.redis = l.run.URL, &l.run
			s.releases = append(s.releases, l.release)
			return nil
		}
		if !errors.As(err, &missing) || missing.Setting != "" {
			return err
		}
		n.imitate = o.RedisBin == InProcessRedis
		if p, err = startInProcess(ctx, o); err != nil {
			return err
		}
	}
	s.RedisURL, s.ProcessToken, s.Miniredis, n.redis = p.run.URL, p.run.Token, true, &p.run
	s.releases = append(s.releases, func(context.Context) error { return p.release() })
	return nil
}

// Stop gives up the stores. If this process was the last that used them it
// waits until they have stopped; otherwise they go on for the others.
// Calling it again does nothing more.
func (s *Stores) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		errs := make([]error, len(s.releases))
		var wg sync.WaitGroup
		for i, release := range s.releases {
			wg.Go(func() { errs[i] = release(ctx) })
		}
		wg.Wait()
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}

// freePort returns a port of this machine that nobody listens on right now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

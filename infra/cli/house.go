package cli

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"seckill/infra/admission"
	"seckill/infra/config"
	"seckill/infra/lifecycle"
	"seckill/infra/obs"
	"seckill/infra/pg"
)

// house is a process over several databases: an application for each, which has all
// that one database needs and shares nothing with the others but the gate's servers, and
// what answers over all of them. Nothing is stored about which sale lives where: a sale
// lives where its stream is (docs/adr/0002-the-logs-are-the-directory.md).
type house struct {
	log    *slog.Logger
	stacks []*stack
	// metrics count what is the process's and no database's: HTTP.
	metrics  *obs.Metrics
	limiter  *admission.Limiter // of the first application that was opened
	overview *overview
	known    sync.Map // id of a sale → *stack; a sale never moves
}

// stack is what runs on one of several databases. A database that is away when the
// process starts is opened later.
type stack struct {
	*lifecycle.Loop
	name  string
	house *house
	// open opens the application and lists what runs on it.
	open  func(ctx context.Context) (*app, []lifecycle.Entry, error)
	app   atomic.Pointer[app] // nil until it is opened
	parts []lifecycle.Entry   // of an app that was opened before the start
	up    chan struct{}       // closed when all parts have started
}

// reopenEvery is how often a database that was away at the start is tried again.
const reopenEvery = 2 * time.Second

// serveSeveral runs some roles on every database until ctx ends.
func (c console) serveSeveral(ctx context.Context, log *slog.Logger, r roles) (err error) {
	f, address, err := c.front(ctx, log)
	if err != nil {
		return err
	}
	defer f.close()
	h := c.newHouse(log, r)
	defer func() { err = joinClose(err, h.close(ctx)) }()
	if err := h.open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped by a signal while it started
		}
		return err
	}
	server, err := h.newServer(c.settings, r, f)
	if err != nil {
		return err
	}
	var entries []lifecycle.Entry
	for _, s := range h.stacks {
		entries = append(entries, lifecycle.Entry{Name: "database " + s.name, Part: s, StartWithin: time.Minute, StopWithin: time.Minute})
	}
	notice := lifecycle.Hooks{OnStart: func(context.Context) error {
		c.say("Serving http://%s on %d databases; namespace %s.", address, len(h.stacks), c.settings.Namespace)
		c.sayLink(f, r)
		return nil
	}}
	entries = append(entries, lifecycle.Entry{Name: "overview", Part: lifecycle.NewLoop(h.overview.run)})
	return lifecycle.Run(ctx, lifecycle.Options{}, append(entries, webOf(c.settings, server, r, f), lifecycle.Entry{Name: "notice", Part: notice})...)
}

func (c console) newHouse(log *slog.Logger, r roles) *house {
	h := &house{log: log, metrics: newMetrics()}
	c.settings.Node = nodeName(c.settings.Node) // one process, one name
	h.metrics.Node(c.settings.Node)
	h.overview = newOverview(c.settings, h.metrics, h.named)
	h.overview.log = log
	for _, d := range c.settings.EventStores() {
		s := &stack{name: d.Name, house: h, up: make(chan struct{})}
		s.Loop = lifecycle.NewLoop(s.run)
		on := c.on(d)
		on.house = h
		s.open = func(ctx context.Context) (*app, []lifecycle.Entry, error) { return h.prepare(ctx, on, d, r) }
		h.stacks = append(h.stacks, s)
	}
	return h
}

// prepare opens an application and lists what runs on it. When it fails, nothing of it
// is left open.
func (h *house) prepare(ctx context.Context, c console, d config.Database, r roles) (_ *app, _ []lifecycle.Entry, err error) {
	// Once one is open several may be tried at the same time: then nobody writes it.
	if h.limiter == nil {
		defer func() {
			if err != nil {
				h.limiter = nil // it was not to be the first that is open
			}
		}()
	}
	a, err := c.openApp(ctx, h.log.With("database", d.Name))
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(ctx))
		}
	}()
	a.operator.Taken = h.taken
	if err := errors.Join(h.differs(d.Name, a), a.checkLog(ctx)); err != nil {
		return nil, nil, err
	}
	parts, err := a.work(ctx, r)
	return a, parts, err
}

// differs refuses a database that is another one, or has its number.
func (h *house) differs(name string, a *app) error {
	all := []identity{{Database: config.Database{Name: name}, store: int(a.env.Store), uuid: a.uuid}}
	for _, s := range h.stacks {
		if other := s.app.Load(); other != nil && s.name != name {
			all = append([]identity{{Database: config.Database{Name: s.name}, store: int(other.env.Store), uuid: other.uuid}}, all...)
		}
	}
	return distinct(all)
}

// open opens every database that answers, and fails where none does, or one is unfit.
func (h *house) open(ctx context.Context) error {
	var away error
	opened := 0
	for _, s := range h.stacks {
		a, parts, err := s.open(ctx)
		switch {
		case err == nil:
			s.parts = parts
			s.app.Store(a)
			opened++
		case !pg.Away(err) && !storeAway(err):
			return onDatabase(s.name, err)
		default:
			away = errors.Join(away, onDatabase(s.name, err))
			h.log.Warn("a database is away; its sales are not served until it answers", "database", s.name, "error", err)
		}
	}
	if opened == 0 {
		return away
	}
	return nil
}

// close closes what no part has closed.
func (h *house) close(ctx context.Context) error {
	var errs []error
	for _, a := range h.apps() {
		errs = append(errs, a.close(ctx))
	}
	return errors.Join(errs...)
}

// Start starts all parts of an application that is open, and waits for them.
func (s *stack) Start(ctx context.Context) error {
	waits := s.app.Load() != nil
	if err := s.Loop.Start(ctx); err != nil || !waits {
		return err
	}
	select {
	case <-s.up:
		return nil
	case err := <-s.Failed():
		return err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), s.Stop(context.WithoutCancel(ctx)))
	}
}

// run runs the parts until ctx ends, once the database has answered.
func (s *stack) run(ctx context.Context) error {
	for s.app.Load() == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reopenEvery):
		}
		a, parts, err := s.open(ctx)
		if err != nil {
			s.house.log.Debug("a database is still away", "database", s.name, "error", err)
			continue
		}
		s.parts = parts
		s.app.Store(a)
		s.house.log.Info("a database that was away is served", "database", s.name)
	}
	return lifecycle.Run(ctx, lifecycle.Options{Ready: func() { close(s.up) }}, s.parts...)
}

// apps gives the applications that are open, in the order of the setting.
func (h *house) apps() []*app {
	var all []*app
	for _, s := range h.stacks {
		if a := s.app.Load(); a != nil {
			all = append(all, a)
		}
	}
	return all
}

// first tells whether an application has what is one for the process: it is the first
// that was opened.
func (h *house) first(a *app) bool {
	open := h.apps()
	return len(open) == 0 || open[0] == a
}

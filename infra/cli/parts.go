package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"seckill/api"
	"seckill/infra/bus"
	"seckill/infra/crash"
	"seckill/infra/lifecycle"
	"seckill/projections"
)

// Roles of a process.
const (
	roleAPI       = "api"
	roleRecorder  = "recorder"
	roleRelay     = "relay"
	roleProjector = "projector"
	roleScheduler = "scheduler"
)

// roles are the parts of the service that a process runs.
type roles []string

func allRoles() roles {
	return roles{roleAPI, roleRecorder, roleRelay, roleProjector, roleScheduler}
}

// parseRoles reads names separated by commas.
func parseRoles(names []string) (roles, error) {
	var r roles
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.Contains(allRoles(), name) {
			return nil, usage("there is no role %q: want some of %s", name, strings.Join(allRoles(), ","))
		}
		if !slices.Contains(r, name) {
			r = append(r, name)
		}
	}
	if len(r) == 0 {
		return nil, usage("name at least one role of %s", strings.Join(allRoles(), ","))
	}
	return r, nil
}

func (r roles) any(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(r, name) })
}

// front is what the api role serves with.
type front struct {
	listener net.Listener
	admin    net.Listener // nil where operators come with all others
	verifier api.Verifier
}

func (f front) close() error {
	err := f.listener.Close()
	if f.admin != nil {
		err = errors.Join(err, f.admin.Close())
	}
	return err
}

// parts lists what runs for some roles, in the order of starting. f is needed for
// the api role only.
func (a *app) parts(ctx context.Context, r roles, f front) ([]lifecycle.Entry, error) {
	entries := []lifecycle.Entry{{Name: "stores", Part: lifecycle.Hooks{OnStop: a.close}, StopWithin: 45 * time.Second}}
	add := func(name string, run func(context.Context) error) {
		entries = append(entries, lifecycle.Entry{Name: name, Part: lifecycle.NewLoop(run)})
	}
	if err := a.switches.Refresh(ctx); err != nil {
		return nil, err
	}
	carrier, err := a.carrier(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.any(roleProjector) {
		consumers, err := a.consumers(carrier)
		if err != nil {
			return nil, err
		}
		add("projector", a.projector.Run)
		entries = append(entries, lifecycle.Entry{Name: "consumers", Part: consumers})
	}
	if r.any(roleRelay) {
		relay, err := a.relay(carrier)
		if err != nil {
			return nil, err
		}
		add("relay", relay.Run)
		public, err := a.publicRelay()
		if err != nil {
			return nil, err
		}
		if public != nil {
			add("public relay", public.Run)
		}
	}
	if r.any(roleRecorder) {
		add("recorder", a.record)
	}
	if r.any(roleRecorder, roleScheduler) {
		add("lane keeper", a.keeper.Run)
	}
	if r.any(roleScheduler) {
		add("expiry", a.expire)
		add("tranches", a.releaseTranches)
		add("preheat", a.watchOpenings)
		if a.settings.CleanupAfter > 0 {
			add("clean-up", a.cleanUpOld)
		}
		if a.settings.ReconcileEvery > 0 {
			add("drift watch", a.watchDrift)
		}
		sealing, err := a.newSealing(ctx)
		if err != nil {
			return nil, err
		}
		add("sealer", sealing.seal(a))
		add("seal exporter", sealing.sealer.RunExport)
	}
	add("sampler", a.sample)
	add("switches", a.switches.Run)
	if r.any(roleAPI) {
		add("clock of the gate", a.clock.Run)
		add("acknowledgements", a.kept.Run)
		add("tally", a.tally.Run)
		add("member lists", a.knownMembers.Run)
		add("full books of tickets", a.tickets.Run)
		add("proof of work of nodes", a.watchTicketWork)
		if a.limits, err = a.newLimits(ctx); err != nil {
			return nil, err
		}
	}
	server, err := a.newServer(f.verifier, !r.any(roleAPI))
	if err != nil {
		return nil, err
	}
	return append(entries, lifecycle.Entry{Name: "HTTP server", Part: newWeb(server, f), StopWithin: 20 * time.Second}), nil
}

func (a *app) consumers(c carrier) (*subscribed, error) {
	runners := a.projector.Runners()
	receivers := make([]bus.Receiver, len(runners))
	for i, r := range runners {
		receivers[i] = r
	}
	consumers, err := bus.NewConsumers(c.subscribers, receivers, bus.ConsumerOptions{Topics: c.topics, Log: a.log})
	if err != nil {
		return nil, err
	}
	return &subscribed{Loop: lifecycle.NewLoop(consumers.Run), running: consumers.Running()}, nil
}

// subscribed has started once everything is subscribed: what is published before
// would have to be read from the store.
type subscribed struct {
	*lifecycle.Loop
	running <-chan struct{}
}

// Start waits until the subscriptions stand.
func (s *subscribed) Start(ctx context.Context) error {
	if err := s.Loop.Start(ctx); err != nil {
		return err
	}
	select {
	case <-s.running:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.Loop.Stop(context.WithoutCancel(ctx)))
	}
}

func (a *app) relay(c carrier) (*bus.Relay, error) {
	store := int16(a.env.Store)
	relay, err := bus.NewRelay(bus.Source{Store: store, Log: a.sink, Place: projections.RelayPlace(a.pool, store)}, c.publisher,
		bus.RelayOptions{Topics: c.topics, Log: a.log, Step: crash.At, Lead: func(ctx context.Context, work func(context.Context) error) error {
			return a.locks().lead(ctx, "relay", work)
		}})
	if err != nil {
		return nil, err
	}
	a.stored.hear(relay.Notify)
	return relay, nil
}

// recorderBackoff is the pause after the recorder's lead was lost.
const recorderBackoff = 200 * time.Millisecond

// record runs a recorder whenever this process leads the recording, until ctx
// ends. Two at once would change nothing: each page compares the lane's cursor.
func (a *app) record(ctx context.Context) error {
	for ctx.Err() == nil {
		err := a.locks().lead(ctx, "recorder", func(ctx context.Context) error { return a.newRecorder().Run(ctx) })
		if err != nil && ctx.Err() == nil {
			a.log.Warn("not recording; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}

// web serves HTTP on a listener that is open already.
type web struct {
	server  *api.Server
	doors   []door
	failed  chan error
	serving sync.WaitGroup
}

// door is a listener and what answers there.
type door struct {
	http     *http.Server
	listener net.Listener
}

func newWeb(server *api.Server, f front) *web {
	w := &web{server: server, doors: []door{{server.HTTPServer(), f.listener}}}
	if f.admin != nil {
		w.doors = []door{{server.HTTPServerOutside(), f.listener}, {server.HTTPServerInside(), f.admin}}
	}
	w.failed = make(chan error, len(w.doors))
	return w
}

// Start begins to serve.
func (w *web) Start(context.Context) error {
	for _, d := range w.doors {
		w.serving.Go(func() {
			if err := d.http.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
				w.failed <- err
			}
		})
	}
	return nil
}

// Failed tells why serving ended before it was stopped.
func (w *web) Failed() <-chan error { return w.failed }

// Stop answers long polls at once, lets requests end, and then closes.
func (w *web) Stop(ctx context.Context) error {
	w.server.Drain()
	errs := make([]error, len(w.doors))
	var stopping sync.WaitGroup
	for i, d := range w.doors {
		stopping.Go(func() {
			if errs[i] = d.http.Shutdown(ctx); errs[i] != nil {
				errs[i] = errors.Join(errs[i], d.http.Close())
			}
		})
	}
	stopping.Wait()
	w.serving.Wait()
	return errors.Join(errs...)
}

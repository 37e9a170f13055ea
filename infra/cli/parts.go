package cli

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"seckill/api"
	"seckill/infra/bus"
	"seckill/infra/config"
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
	links    *api.Links // nil where tokens are signed by somebody else
}

// operators gives where operators are served.
func (f front) operators() string {
	if f.admin != nil {
		return dialable(f.admin.Addr().String())
	}
	return dialable(f.listener.Addr().String())
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
	entries, err := a.work(ctx, r)
	if err != nil {
		return nil, err
	}
	server, err := a.newServer(r, f)
	if err != nil {
		return nil, err
	}
	return append(entries, webOf(a.settings, server, r, f)), nil
}

// webOf gives the part that serves HTTP.
func webOf(s config.Settings, server *api.Server, r roles, f front) lifecycle.Entry {
	serving := newWeb(server, f)
	if r.any(roleAPI) {
		serving.drainFor = s.DrainFor
	}
	return lifecycle.Entry{Name: "HTTP server", Part: serving, StopWithin: 20*time.Second + serving.drainFor}
}

// work lists what runs for some roles beside the HTTP server, in the order of starting.
func (a *app) work(ctx context.Context, r roles) ([]lifecycle.Entry, error) {
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
		if err := a.publish(carrier, add); err != nil {
			return nil, err
		}
	}
	if r.any(roleRecorder) {
		recording := &recording{app: a}
		add("recorder", recording.run)
		a.worker("recorder", recording.ready)
	}
	if r.any(roleRecorder, roleScheduler) {
		add("lane keeper", a.keeper.Run)
		if a.settings.ReconcileEvery > 0 {
			add("broken journals", a.settleBroken)
		}
	}
	if r.any(roleScheduler) {
		if err := a.schedule(ctx, add); err != nil {
			return nil, err
		}
	}
	add("watch", a.watching.run)
	if a.overview != nil {
		add("overview", a.overview.run)
	}
	add("switches", a.switches.Run)
	if r.any(roleAPI) {
		entries = append(entries, lifecycle.Entry{Name: "acknowledgements", Part: a.keeping()})
		if err := a.answer(ctx, add); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// adder adds a part that runs until it is stopped.
type adder func(name string, run func(context.Context) error)

// relayLead and publicLead are what the processes that publish lead.
const (
	relayLead  = "relay"
	publicLead = "public relay"
)

// publish adds the relays.
func (a *app) publish(c carrier, add adder) error {
	relay, err := a.relay(c)
	if err != nil {
		return err
	}
	add("relay", relay.Run)
	a.worker("relay", a.publishes(relay, relayLead))
	public, err := a.publicRelay()
	if err != nil || public == nil {
		return err
	}
	add("public relay", public.Run)
	a.worker("public_relay", a.publishes(public, publicLead))
	return nil
}

// task is something that one process does for all, while it leads it.
type task struct {
	lead string
	run  func(context.Context) error
}

// tasks is the one list of what the role scheduler does; seal is its last.
func (a *app) tasks(seal func(context.Context) error) []task {
	all := []task{
		{expiryLead, a.expire}, {tranchesLead, a.releaseTranches}, {levelLead, a.level},
		{preheatLead, a.watchOpenings}, {strengthLead, a.watchStrength},
	}
	if a.settings.CleanupAfter > 0 {
		all = append(all, task{cleanupLead, a.cleanUpOld})
	}
	if a.settings.ReconcileEvery > 0 {
		all = append(all, task{reconcileLead, a.watchDrift})
	}
	return append(all, task{sealLead, seal})
}

// taskLeads names the tasks.
func (a *app) taskLeads() []string {
	var leads []string
	for _, t := range a.tasks(nil) {
		leads = append(leads, t.lead)
	}
	return leads
}

// schedule adds what the role scheduler does; its check is whether somebody leads each
// task.
func (a *app) schedule(ctx context.Context, add adder) error {
	sealing, err := a.newSealing(ctx)
	if err != nil {
		return err
	}
	add("seal exporter", sealing.sealer.RunExport) // which stops after the sealer
	for _, t := range a.tasks(sealing.seal(a)) {
		add(t.lead, t.run)
	}
	a.worker("scheduler", a.led(a.taskLeads()))
	return nil
}

// answer adds what the role api needs beside the HTTP server.
func (a *app) answer(ctx context.Context, add adder) (err error) {
	add("clock of the gate", a.clock.Run)
	add("records waited for", a.placed.Run)
	add("tally", a.tally.Run)
	add("member lists", a.knownMembers.Run)
	add("full books of tickets", a.tickets.Run)
	if a.replica != nil {
		add("replica of views", a.replica.watch)
	}
	if a.house != nil && !a.house.first(a) {
		return nil // what is one for a process is there already
	}
	add("proof of work of nodes", a.watchTicketWork)
	if a.limits, err = a.newLimits(ctx); err != nil {
		return err
	}
	return nil
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
		bus.RelayOptions{Topics: c.topics, Log: a.log, Step: crash.At, Traced: a.onPublishing(), Published: a.logPublished, Lead: func(ctx context.Context, work func(context.Context) error) error {
			return a.locks().lead(ctx, relayLead, work)
		}})
	if err != nil {
		return nil, err
	}
	a.stored.hear(relay.Notify)
	return relay, nil
}

package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"

	"seckill/api"
	"seckill/infra/lifecycle"
	"seckill/infra/obs"
)

type serveCmd struct {
	Roles []string `default:"api,recorder,relay,projector,scheduler" complete:"api,recorder,relay,projector,scheduler" placeholder:"ROLE" help:"Parts to run: ${default}."`
}

// Run serves until a signal comes or a part fails.
func (s *serveCmd) Run(c console) error {
	r, err := parseRoles(s.Roles)
	if err != nil {
		return err
	}
	if c.narrowed && r.any(roleAPI) {
		return usage("the role api answers for sales on all databases: leave --database out, or name the other --roles")
	}
	ctx, done := c.stoppable()
	defer done()
	log := obs.NewLogger(c.err, slog.LevelInfo)
	if c.settings.Several() {
		return c.serveSeveral(ctx, log, r)
	}
	return c.serve(ctx, log, r, func(a *app, f front) lifecycle.Entry {
		return lifecycle.Entry{Name: "notice", Part: lifecycle.Hooks{OnStart: func(context.Context) error {
			c.say("Serving http://%s as %s; store %d, namespace %s.", f.listener.Addr(), strings.Join(r, ","), a.env.Store, c.settings.Namespace)
			c.sayLink(f, r)
			return nil
		}}}
	})
}

// sayLink prints an address that signs in at the console, to a person who looks: not
// into a log, whose readers need not be operators.
func (c console) sayLink(f front, r roles) {
	if f.links != nil && r.any(roleAPI) && isTerminal(c.err) {
		c.say("The console, signed in once, within %s: http://%s%s", api.LinkFor, f.operators(), f.links.Path(operatorName()))
	}
}

// serve opens the application and runs some roles until ctx ends. last gives the
// part that starts when all others have, from the application and what it
// serves with.
func (c console) serve(ctx context.Context, log *slog.Logger, r roles, last func(*app, front) lifecycle.Entry) error {
	f, _, err := c.front(ctx, log)
	if err != nil {
		return err
	}
	defer f.close()
	a, err := c.openApp(ctx, log)
	if ctx.Err() != nil && err != nil {
		return nil // stopped by a signal while it started
	}
	if err != nil {
		return err
	}
	if err := a.checkLog(ctx); err != nil {
		return joinClose(err, a.close(ctx))
	}
	parts, err := a.parts(ctx, r, f)
	if err != nil {
		return joinClose(err, a.close(ctx))
	}
	return lifecycle.Run(ctx, lifecycle.Options{}, append(parts, last(a, f))...)
}

// front makes what a process serves HTTP with: the api role the API, all others
// their health and metrics. It comes before anything else: a taken port or a bad
// secret is told at once.
func (c console) front(ctx context.Context, log *slog.Logger) (f front, address string, err error) {
	if f.verifier, err = c.verifier(ctx, log); err != nil {
		return f, "", err
	}
	if f.links, err = c.links(); err != nil {
		return f, "", err
	}
	if f.listener, err = listen(ctx, "--http-addr", c.settings.HTTPAddr); err != nil {
		return f, "", err
	}
	if c.settings.AdminAddr != "" {
		if f.admin, err = listen(ctx, "--admin-addr", c.settings.AdminAddr); err != nil {
			return f, "", errors.Join(err, f.listener.Close())
		}
		c.say("Operators are served apart, on http://%s.", f.admin.Addr())
	}
	return f, f.listener.Addr().String(), nil
}

// listen listens on the address that a flag gives.
func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, explainListen(flag, addr, err)
	}
	return l, nil
}

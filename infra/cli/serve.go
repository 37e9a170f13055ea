package cli

import (
	"context"
	"log/slog"
	"net"
	"strings"

	"seckill/infra/lifecycle"
	"seckill/infra/obs"
)

type serveCmd struct {
	Roles []string `default:"api,recorder,relay,projector,scheduler" placeholder:"ROLE,…" help:"Parts to run: ${default}."`
}

// Run serves until a signal comes or a part fails.
func (s *serveCmd) Run(c console) error {
	r, err := parseRoles(s.Roles)
	if err != nil {
		return err
	}
	if err := refuseBrokers(c); err != nil {
		return err
	}
	ctx, done := c.stoppable()
	defer done()
	log := obs.NewLogger(c.err, slog.LevelInfo)
	return c.serve(ctx, log, r, func(a *app, address string) lifecycle.Entry {
		return lifecycle.Entry{Name: "notice", Part: lifecycle.Hooks{OnStart: func(context.Context) error {
			where := "Running "
			if address != "" {
				where = "Serving http://" + address + " as "
			}
			c.say("%s%s; store %d, namespace %s.", where, strings.Join(r, ","), a.env.Store, c.settings.Namespace)
			return nil
		}}}
	})
}

// refuseBrokers says that this version has no broker yet: silently ignoring the
// setting would send no message to anybody.
func refuseBrokers(c console) error {
	if len(c.settings.KafkaBrokers) > 0 {
		return usage("SECKILL_KAFKA_BROKERS is set, but this version carries messages inside the process only: leave it empty")
	}
	return nil
}

// serve opens the application and runs some roles until ctx ends. last gives the
// part that starts when all others have, from the application and the address it
// serves on, "" without the api role.
func (c console) serve(ctx context.Context, log *slog.Logger, r roles, last func(*app, string) lifecycle.Entry) error {
	var listener net.Listener
	address := ""
	if r.any(roleAPI) {
		// Before anything else: a taken port is told at once.
		var err error
		if listener, err = listen(ctx, c.settings.HTTPAddr); err != nil {
			return err
		}
		defer listener.Close()
		address = listener.Addr().String()
	}
	a, err := c.openApp(ctx, log)
	if err != nil {
		return err
	}
	parts, err := a.parts(r, listener)
	if err != nil {
		return joinClose(err, a.close(ctx))
	}
	return lifecycle.Run(ctx, lifecycle.Options{}, append(parts, last(a, address))...)
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, explainListen(addr, err)
	}
	return l, nil
}

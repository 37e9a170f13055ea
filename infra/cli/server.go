package cli

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg"
)

// newServer makes the HTTP API, or what a process without that role answers: its
// health and its metrics.
func (a *app) newServer(r roles, verifier api.Verifier) (*api.Server, error) {
	book, err := providers(a.settings)
	if err != nil {
		return nil, err
	}
	files := openFiles()
	server, err := api.New(api.Deps{
		Purchaser: a.purchaser, Finder: a.finder, Prover: &commands.Prover{Env: a.env, Log: a.sink}, Stater: a.closer, Shower: a.shower, Operator: a.operator, Cleanup: a.cleanup, Reconciler: a.repairer, Rehydrator: a.keeper, Reviser: a.operator, Preheats: a.preheats, Switches: a.switches, Tickets: a.tickets, Members: a.members, Verifier: verifier,
		Orders: a.orders, Providers: book, Limits: a.limited(),
		Admission: a.sale.limiter,
		Log:       a.log, Now: a.env.Now, Metrics: a.metrics, Scrape: a.metrics.Handler(), Checks: a.checks(r, verifier),
	}, api.Options{Away: storeAway, Archived: archived, ServiceOnly: !r.any(roleAPI), TicketProof: a.settings.TicketPoW > 0,
		PurchaseBudget: a.settings.Deadlines.Handler, ReadBudget: a.settings.Deadlines.Gateway,
		WaitingPolls: min(files/2, 20000), Connections: files * 3 / 4})
	if err != nil {
		return nil, err
	}
	a.metrics.Serve(server.Routes())
	return server, nil
}

// storeAway tells whether an error means that the event store or the read models
// are away.
func storeAway(err error) bool {
	return errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, eventstore.ErrUnknown) || pg.Away(err)
}

// archived tells whether an error means that records were taken out into a file.
func archived(err error) bool { return errors.Is(err, pgstore.ErrArchived) }

// verifier checks tokens by a JWKS, which is read until ctx ends, or by the
// secret.
func (c console) verifier(ctx context.Context, log *slog.Logger) (api.Verifier, error) {
	if s := c.settings; s.JWKSURL != "" {
		return api.JWKSVerifier(ctx, api.JWKS{URL: s.JWKSURL, Issuer: s.JWTIssuer, Audience: s.JWTAudience}, log, time.Now)
	}
	secret, err := signingSecret(c.settings)
	if err != nil {
		return nil, err
	}
	return api.SecretVerifier(secret, time.Now)
}

// openFiles is how many files this process may have open, each connection being one.
// More than a million are a million.
func openFiles() int {
	const plenty = 1 << 20
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 // what systems give at least
	}
	return int(min(limit.Cur, plenty))
}

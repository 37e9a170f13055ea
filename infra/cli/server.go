package cli

import (
	"context"
	"errors"
	"log/slog"
	"syscall"

	"seckill/api"
	"seckill/commands"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/config"
	"seckill/infra/pg"
	"seckill/infra/skew"
)

// newServer makes the HTTP API, or what a process without that role answers: its
// health and its metrics.
func (a *app) newServer(r roles, f front) (*api.Server, error) {
	book, err := providers(a.settings)
	if err != nil {
		return nil, err
	}
	server, err := api.New(api.Deps{
		Teller: a.teller(), Receipts: a.receipts, Spans: a.requests(),
		Overviews: a.overview, DeadLetters: deadLettersOf{func() []named { return []named{{app: a}} }},
		Stacks:    newNodeStacks(a.env.Node, a.env.Now),
		Purchaser: a.purchaser, Finder: a.finder, Prover: &commands.Prover{Env: a.env, Log: a.sink}, Stater: a.closer, Shower: a.shower, Operator: a.operator, Cleanup: a.cleanup, Reconciler: a.repairer, Rehydrator: a.keeper, Reviser: a.operator, Preheats: a.preheats, Switches: a.switches, Tickets: a.tickets, Members: a.members, Verifier: f.verifier, Links: f.links,
		Orders: a.orders, Providers: book, Limits: a.limited(),
		Admission: a.sale.limiter,
		Log:       a.log, Now: a.env.Now, Metrics: a.metrics, Scrape: a.metrics.Handler(), Checks: a.checks(r, f.verifier),
	}, serverOptions(a.settings, r))
	if err != nil {
		return nil, err
	}
	a.metrics.Serve(server.Routes())
	return server, nil
}

// serverOptions are the same for one database and for several.
func serverOptions(s config.Settings, r roles) api.Options {
	files := openFiles()
	return api.Options{Away: storeAway, Archived: archived, ServiceOnly: !r.any(roleAPI), TicketProof: s.TicketPoW > 0,
		PurchaseBudget: s.Deadlines.Handler, ReadBudget: s.Deadlines.Gateway,
		WaitingPolls: min(files/2, 20000), Connections: files * 3 / 4}
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
		return api.JWKSVerifier(ctx, api.JWKS{URL: s.JWKSURL, Issuer: s.JWTIssuer, Audience: s.JWTAudience}, log, skew.Now)
	}
	secret, err := signingSecret(c.settings)
	if err != nil {
		return nil, err
	}
	return api.SecretVerifier(secret, skew.Now)
}

// links are what signs in at the console of this process; nil where tokens are signed
// by somebody else.
func (c console) links() (*api.Links, error) {
	if c.settings.JWKSURL != "" {
		return nil, nil
	}
	secret, err := signingSecret(c.settings)
	if err != nil {
		return nil, err
	}
	return api.NewLinks(secret, skew.Now), nil
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

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/api"
	"seckill/eventstore"
	"seckill/infra/config"
)

// server makes the HTTP API.
func (a *app) server() (*api.Server, error) {
	verifier, err := a.verifier()
	if err != nil {
		return nil, err
	}
	return a.newServer(verifier)
}

func (a *app) newServer(verifier api.Verifier) (*api.Server, error) {
	server, err := api.New(api.Deps{
		Purchaser: a.purchaser, Finder: a.finder, Shower: a.shower, Operator: a.operator, Verifier: verifier,
		Log: a.log, Now: a.env.Now, Metrics: a.metrics, Scrape: a.metrics.Handler(), Checks: a.checks(),
	}, api.Options{Away: storeAway})
	if err != nil {
		return nil, err
	}
	a.metrics.Serve(server.Routes())
	return server, nil
}

// storeAway tells whether an error means that the event store is away.
func storeAway(err error) bool {
	return errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, eventstore.ErrUnknown)
}

// verifier checks tokens by a JWKS, or by the secret.
func (a *app) verifier() (api.Verifier, error) {
	if a.settings.JWKSURL != "" && a.settings.JWTSecret == "" {
		ctx, cancel := context.WithCancel(context.Background())
		a.onClose(func(context.Context) error { cancel(); return nil })
		return api.JWKSVerifier(ctx, a.settings.JWKSURL, a.log, a.env.Now)
	}
	secret, err := signingSecret(a.settings)
	if err != nil {
		return nil, err
	}
	return secretVerifier(secret, a.settings, a.env.Now)
}

func secretVerifier(secret []byte, s config.Settings, now func() time.Time) (api.Verifier, error) {
	v, err := api.SecretVerifier(secret, now)
	if err != nil && s.JWTSecret != "" {
		return nil, usage("SECKILL_JWT_SECRET is too short to be a secret: %w", err)
	}
	return v, err
}

// maxStale is for how long the core projections may leave an event unapplied
// before this node says that it is not ready.
const maxStale = 10 * time.Second

// checks are what must hold before this node takes requests.
func (a *app) checks() []api.Check {
	return []api.Check{
		{Name: "event_store", Ready: func(ctx context.Context) error {
			_, err := a.sink.Head(ctx)
			return err
		}},
		{Name: "gate", Ready: a.gate.Check},
		{Name: "projections", Ready: func(ctx context.Context) error {
			stats, err := a.progress.Stats(ctx)
			if err != nil {
				return err
			}
			if waits := a.env.Now().Sub(stats.Waiting); !stats.Waiting.IsZero() && waits > maxStale {
				return fmt.Errorf("an event has waited %s for the projections", waits.Round(time.Second))
			}
			return nil
		}},
	}
}

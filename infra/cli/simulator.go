package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"seckill/infra/config"
	"seckill/infra/payments"
)

type simulatorCmd struct {
	Listen   string `default:"127.0.0.1:8099" placeholder:"HOST:PORT" help:"Where its page is served. Default: ${default}; port 0 takes a free one."`
	URL      string `name:"url" placeholder:"URL" help:"The installation that is told. Default: http:// and the HTTP address of the settings."`
	Provider string `default:"simulator" placeholder:"NAME" help:"The provider that it stands for. Default: ${default}."`
}

// Run serves the simulator until a signal comes.
func (s *simulatorCmd) Run(c console) error {
	settings, err := withProviders(c.settings)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(settings.Payments(), func(p config.PaymentProvider) bool { return p.Name == s.Provider })
	if i < 0 {
		return usage("there is no payment provider %q: name one of SECKILL_PAYMENT_PROVIDERS with --provider", s.Provider)
	}
	address := strings.TrimSuffix(s.URL, "/")
	if address == "" {
		address = "http://" + dialable(settings.HTTPAddr)
	}
	ctx, done := c.stoppable()
	defer done()
	listener, err := listen(ctx, "--listen", s.Listen)
	if err != nil {
		return err
	}
	t, err := openTill(listener, settings.Payments()[i].Secrets[0], webhookOf(address, s.Provider))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer t.close()
	c.say("Orders are paid at http://%s/pay?order=…&amount=…&currency=…; %s is told. No money moves.", dialable(t.address()), address)
	select {
	case <-ctx.Done():
		return nil
	case err := <-t.failed:
		return err
	}
}

// till is a payment simulator that is served.
type till struct {
	*payments.Simulator
	listener net.Listener
	http     *http.Server
	failed   chan error
	done     chan struct{}
}

// openTill serves a simulator on a listener. Close it.
func openTill(listener net.Listener, secret config.Secret, webhook string) (*till, error) {
	sim, err := payments.NewSimulator(payments.SimulatorOptions{Secret: []byte(string(secret)), Webhook: webhook})
	if err != nil {
		return nil, err
	}
	t := &till{
		Simulator: sim, listener: listener, failed: make(chan error, 1), done: make(chan struct{}),
		http: &http.Server{Handler: sim, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute},
	}
	go func() {
		defer close(t.done)
		if err := t.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.failed <- err
		}
	}()
	return t, nil
}

func (t *till) address() string { return t.listener.Addr().String() }

// tillPatience is for how long somebody who is just paying is waited for.
const tillPatience = 2 * time.Second

// close ends the page and what is under way, and waits for it.
func (t *till) close() {
	ctx, cancel := context.WithTimeout(context.Background(), tillPatience)
	defer cancel()
	if t.http.Shutdown(ctx) != nil {
		_ = t.http.Close() // whoever is still there is let go
	}
	t.Simulator.Close()
	<-t.done
}

package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"seckill/api"
)

// web serves HTTP on a listener that is open already.
type web struct {
	server *api.Server
	// drainFor is for how long it serves on, saying that it is not ready, before it
	// takes no connection any more: balancers must have looked by then.
	drainFor time.Duration

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
			if err := d.http.Serve(api.SparingDeadlines(d.listener)); !errors.Is(err, http.ErrServerClosed) {
				w.failed <- err
			}
		})
	}
	return nil
}

// Failed tells why serving ended before it was stopped.
func (w *web) Failed() <-chan error { return w.failed }

// Stop answers long polls at once, serves on while it drains, lets requests end, and
// then closes.
func (w *web) Stop(ctx context.Context) error {
	w.server.Drain()
	select {
	case <-ctx.Done():
	case <-time.After(w.drainFor):
	}
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

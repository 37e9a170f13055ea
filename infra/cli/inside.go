package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os/user"

	"seckill/api"
	"seckill/domain"
	"seckill/infra/pg"
)

// inside asks the API within this process, as an operator. So the command line
// takes and gives the same shapes, with the same checks, as HTTP does.
type inside struct {
	server *api.Server
	log    *slog.Logger
	// checkLog refuses what would write to a log that serve would refuse.
	checkLog func(context.Context) error
	key      string // idempotency key of what is asked next
}

// operatorToken is known to insideVerifier alone: it never leaves the process.
const operatorToken = "inside"

// insideVerifier knows one caller: whoever runs this process, as an operator.
type insideVerifier struct{ name string }

func (v insideVerifier) Verify(context.Context, string) (api.Caller, error) {
	return api.Caller{Buyer: v.name, Role: api.RoleAdmin}, nil
}

// operatorName is who the log says did it: the user of the machine.
func operatorName() string {
	if u, err := user.Current(); err == nil && domain.ValidBuyer("cli:"+u.Username) && u.Username != "" {
		return "cli:" + u.Username
	}
	return "cli"
}

// withAPI opens the application and does f with the API inside it.
func (c console) withAPI(f func(ctx context.Context, in inside) error) error {
	return c.withApp(func(ctx context.Context, a *app) error {
		server, err := a.newServer(roles{roleAPI}, front{verifier: insideVerifier{operatorName()}})
		if err != nil {
			return err
		}
		if err := f(ctx, inside{server: server, log: a.log, checkLog: a.checkLog}); err != nil {
			return err
		}
		c.mentionServing(ctx, a)
		return nil
	})
}

// withHouse opens the application of every database that answers, running nothing, and
// does f with the API over them inside it. Each log was checked.
func (c console) withHouse(f func(ctx context.Context, in inside) error) error {
	ctx, done := c.stoppable()
	defer done()
	h := c.newHouse(warnings(c), nil)
	if err := h.open(ctx); err != nil {
		return joinClose(err, h.close(ctx))
	}
	server, err := h.newServer(c.settings, roles{roleAPI}, front{verifier: insideVerifier{operatorName()}})
	if err == nil {
		err = f(ctx, inside{server: server, log: h.log, checkLog: func(context.Context) error { return nil }})
	}
	return joinClose(err, h.close(ctx))
}

// notServed is what an operator should know who changes or looks at sales then.
const notServed = "No process serves this installation now"

// mentionServing tells an operator who would not expect it that nobody serves.
func (c console) mentionServing(ctx context.Context, a *app) {
	if !a.served(ctx) {
		c.say("%s: start one with `seckill serve`.", notServed)
	}
}

// served tells whether some process records what is bought. Where that cannot be
// asked it is taken for granted.
func (a *app) served(ctx context.Context) bool {
	held, err := pg.NewLeader(a.pool, a.settings.Namespace, roleRecorder).Held(ctx)
	return held || err != nil
}

// withApp opens the application, running nothing, and does f.
func (c console) withApp(f func(ctx context.Context, a *app) error) error {
	ctx, done := c.stoppable()
	defer done()
	a, err := c.openApp(ctx, warnings(c))
	if err != nil {
		return err
	}
	return joinClose(f(ctx, a), a.close(ctx))
}

// refused is a problem document as an error for people.
type refused struct{ problem api.Problem }

func (r *refused) Error() string {
	text := r.problem.Detail
	for _, f := range r.problem.Errors {
		text += fmt.Sprintf(" %s: %s.", f.Field, f.Reason)
	}
	return text
}

// ask makes one call and reads its answer into to.
func (in inside) ask(ctx context.Context, method, path string, body, to any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(api.ForOperators(ctx), method, path, &sent)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+operatorToken)
	r.Header.Set("Content-Type", "application/json")
	if in.key != "" {
		r.Header.Set("Idempotency-Key", in.key)
	}
	w := &answer{header: http.Header{}, status: http.StatusOK}
	in.server.ServeHTTP(w, r)
	if w.status >= http.StatusBadRequest {
		var refusal refused
		if err := json.Unmarshal(w.body.Bytes(), &refusal.problem); err != nil {
			return fmt.Errorf("read a refusal with status %d: %w", w.status, err)
		}
		return &refusal
	}
	if err := json.Unmarshal(w.body.Bytes(), to); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

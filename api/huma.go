package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// gate stands in front of a handler: it may add to the call, or refuse.
type gate func(c echo.Context, call *call) error

// hooks are huma's two makers of errors. They are package state of huma, the one
// such state this package sets, once, and always to the same functions.
var hooks sync.Once

// mount registers every route and gives openapi.yaml.
func (s *Server) mount() ([]byte, error) {
	hooks.Do(func() {
		huma.NewError = func(status int, _ string, errs ...error) huma.StatusError {
			return fromHuma(status, errs).document("en", "")
		}
		huma.NewErrorWithContext = problemOfHuma
	})
	config := huma.DefaultConfig("seckill", s.opts.Version)
	config.CreateHooks = nil // they would put $schema into every answer
	config.DocsPath, config.OpenAPIPath, config.SchemasPath = "", "", ""
	config.Info.Description = documentIntro
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer":  {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "sub is the buyer; role and tier are read; exp is required"},
		"console": {Type: "apiKey", In: "cookie", Name: sessionCookie, Description: "Who signed in at the console; with X-Seckill-Console: 1"},
	}
	api := humaecho.New(s.echo, config)
	for _, r := range s.routes() {
		if s.opts.ServiceOnly && (strings.HasPrefix(r.Path, pathPrefix) || strings.HasPrefix(r.Path, hooksPrefix) || strings.HasPrefix(r.Path, pagePrefix) || isOps(r.Path)) {
			continue
		}
		if r.access != public {
			r.Security = []map[string][]string{{"bearer": {}}}
		}
		if r.access == admin {
			r.Security = append(r.Security, map[string][]string{"console": {}})
		}
		r.Errors = refusals(&r)
		s.labels[routeKey{r.Method, echoPath(r.Path)}] = r.Method + " " + r.Path
		r.add(s, api, &r)
	}
	return documentOf(api)
}

// typed mounts a handler whose shapes huma reads, checks and documents.
func typed[I, O any](handle func(context.Context, *I) (*O, error)) func(*Server, huma.API, *route) {
	return func(s *Server, api huma.API, r *route) {
		r.Middlewares = append(r.Middlewares, s.gates(r))
		if r.body != nil {
			// The gate in front has read the body within its time. Huma's own deadline would
			// stay on the connection and end the request, and those after it.
			r.BodyReadTimeout = -1
		}
		huma.Register(api, r.Operation, func(ctx context.Context, in *I) (*O, error) {
			out, err := handle(ctx, in)
			if err == nil {
				return out, nil
			}
			return nil, s.rendered(ctx, err)
		})
	}
}

// plain mounts a handler of echo's own; the document is told about it by hand.
func plain(handle echo.HandlerFunc) func(*Server, huma.API, *route) {
	return func(s *Server, api huma.API, r *route) {
		s.echo.Add(r.Method, echoPath(r.Path), handle)
		described := r.Operation
		describe(api, &described)
		api.OpenAPI().AddOperation(&described)
	}
}

// gates puts who-may and what-body in front of a typed handler.
func (s *Server) gates(r *route) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humaecho.Unwrap(ctx)
		// There is one form, JSON: whatever a caller would accept does not matter, and what
		// the framework cannot read of it would be a fault.
		c.Request().Header.Del("Accept")
		asked := call{
			trace: traceOf(c), language: languageOf(ctx.Header("Accept-Language")), answer: c.Response().Header(), route: r,
		}
		err := s.admit(c, r.access, &asked)
		if err == nil && r.limit != "" {
			err = s.limit(c, r.limit, asked.caller.Buyer)
		}
		if err == nil && r.body != nil {
			err = r.body(c, &asked)
		}
		if err != nil {
			s.fail(c, err)
			return
		}
		within, cancel := bounded(withCall(ctx.Context(), asked), s.readBudget(r))
		defer cancel()
		next(huma.WithContext(ctx, within))
	}
}

// admit finds out who is asking, and refuses who may not.
func (s *Server) admit(c echo.Context, a access, asked *call) error {
	if a == public {
		return nil
	}
	token, err := credential(c.Request(), a)
	if err != nil {
		return err
	}
	if asked.caller, err = s.callerOf(c.Request().Context(), token, a); err != nil {
		return err
	}
	c.Response().Header()[echo.HeaderCacheControl] = noStore
	return nil
}

// callerOf tells who a token was signed for, and refuses one that is not good for an
// access.
func (s *Server) callerOf(ctx context.Context, token string, a access) (Caller, error) {
	caller, err := s.Verifier.Verify(ctx, token)
	switch {
	case errors.Is(err, ErrBuyer):
		return Caller{}, &refusal{Problem: domain.Problem{Code: domain.CodeUnauthenticated}, says: wantSub}
	case err != nil:
		return Caller{}, refuse(domain.CodeUnauthenticated)
	case a == admin && caller.Role != RoleAdmin:
		return Caller{}, refuse(domain.CodeForbidden)
	}
	return caller, nil
}

// Error, GetStatus and ContentType make a Problem what huma wants an error to be.
func (p *Problem) Error() string { return p.Title }

// GetStatus gives the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType gives the media type, whatever was negotiated.
func (p *Problem) ContentType(string) string { return problemType }

// rendered renders the error of a typed handler, and logs its cause.
func (s *Server) rendered(ctx context.Context, err error) error {
	asked := callOf(ctx)
	r := s.refusalOf(err)
	if asked.route.access == admin {
		r = r.toOperators(asked.route.Method)
	}
	if ctx.Err() == nil {
		s.logFault(ctx, asked.trace, r)
	}
	p := r.document(asked.language, asked.trace)
	p.headers(asked.answer, asked.language)
	return p
}

// problemOfHuma renders what huma itself found wrong with a request.
func problemOfHuma(ctx huma.Context, status int, _ string, errs ...error) huma.StatusError {
	c := humaecho.Unwrap(ctx)
	language := languageOf(ctx.Header("Accept-Language"))
	p := fromHuma(status, errs).document(language, traceOf(c))
	p.headers(c.Response().Header(), language)
	return p
}

// fromHuma turns huma's findings into a refusal. Their values, and messages that
// may quote the body, are left out.
func fromHuma(status int, errs []error) *refusal {
	if status >= 500 {
		r := asProblem(status)
		r.cause = cmp.Or(errors.Join(errs...), fmt.Errorf("huma answered %d", status))
		return r
	}
	r := asProblem(status)
	for _, err := range errs {
		var d *huma.ErrorDetail
		if !errors.As(err, &d) {
			continue
		}
		r.Fields = append(r.Fields, ofHuma(d.Location, d.Message))
	}
	return r
}

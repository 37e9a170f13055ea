package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// adminPrefix begins the paths of operators.
const adminPrefix = "/api/v1/admin/"

// secured are headers of every answer: the policy lets nothing run and nobody frame.
// They are few, since nine answers in ten are refusals that carry them. The values
// are shared: they are set, never added to.
var secured = [...]struct {
	name  string
	value []string
}{
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"X-Frame-Options", []string{"DENY"}},
	{"Content-Security-Policy", []string{"default-src 'none'; frame-ancestors 'none'"}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
}

func secure(h http.Header) {
	for i := range secured {
		h[secured[i].name] = secured[i].value
	}
}

// securePage gives a page the policy that it lives under, in the place of the one of
// answers that are for programs.
func securePage(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
}

// noStore is the Cache-Control of what is for one person.
var noStore = []string{"no-store"}

// outside marks the requests of a listener without the routes of operators.
type outside struct{}

func withOutside(ctx context.Context) context.Context { return context.WithValue(ctx, outside{}, true) }

// HTTPServerOutside is HTTPServer without the routes of operators, their console and
// the metrics, which are 404 there as paths that nothing serves: for when they have a listener of
// their own.
func (s *Server) HTTPServerOutside() *http.Server {
	server := s.HTTPServer()
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(withOutside(r.Context())))
	})
	return server
}

// operatorsOnly marks the requests of a listener that is the operators' own.
type operatorsOnly struct{}

// ForOperators marks requests that nobody but operators can make: /readyz tells them
// who turned which switch, when and why, and the list of sales has every sale.
func ForOperators(ctx context.Context) context.Context {
	return context.WithValue(ctx, operatorsOnly{}, true)
}

// HTTPServerInside is HTTPServer for the listener that operators have of their own:
// see ForOperators.
func (s *Server) HTTPServerInside() *http.Server {
	server := s.HTTPServer()
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(ForOperators(r.Context())))
	})
	return server
}

// isOutside tells whether a request came to a listener without the routes of
// operators, isInside whether to one that is theirs alone; with one listener for all
// neither is so.
func isOutside(r *http.Request) bool    { return r.Context().Value(outside{}) != nil }
func isInside(ctx context.Context) bool { return ctx.Value(operatorsOnly{}) != nil }

// hidden tells whether a request came to a listener that does not serve the route
// that was found for it.
func hidden(c echo.Context) bool {
	inner := strings.HasPrefix(c.Path(), adminPrefix) || c.Path() == pathMetrics || isOps(c.Path())
	return inner && isOutside(c.Request())
}

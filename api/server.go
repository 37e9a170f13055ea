package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"seckill/api/console"
	"seckill/api/pages"
)

// Deps is what the API stands on. All but Limits, Metrics, Links, Scrape and Checks are
// required.
type Deps struct {
	Purchaser  Purchaser
	Finder     Finder
	Orders     Orders
	Providers  Providers
	Prover     Prover
	Stater     Stater
	Shower     Shower
	Operator   Operator
	Cleanup    Cleanup
	Reconciler Reconciler
	// Rehydrator serves the route of a rehydration; without it there is none.
	Rehydrator Rehydrator
	Reviser    Reviser
	Preheats   Preheats
	Teller     Teller
	// Spans is told of purchases for a trace; nil tells nobody.
	Spans Spans
	// Receipts signs refusals of purchases; without it they have no receipt.
	Receipts Receipts
	Switches Switches
	Tickets  Tickets
	Members  Members
	// Databases is nil where every sale lives on one.
	Databases   Databases
	Overviews   Overviews
	Stacks      Stacks
	DeadLetters DeadLetters
	Verifier    Verifier
	Log         *slog.Logger
	Now         func() time.Time
	// Admission bounds how many purchases are worked on at once; nil bounds nothing.
	Admission Admission
	// Limits hold down who asks too often; nil limits nobody.
	Limits Limits
	// Metrics counts answers; nil counts nothing.
	Metrics Metrics
	// Scrape answers /metrics; without it there is no such route.
	Scrape http.Handler
	// Links are the addresses that sign in at the console; nil: there are none.
	Links *Links
	// Checks are asked by /readyz, all at once.
	Checks []Check
}

func (d Deps) validate() error {
	var errs []error
	need := func(ok bool, name string) {
		if !ok {
			errs = append(errs, errors.New(name+" is missing"))
		}
	}
	need(d.Purchaser != nil, "Purchaser")
	need(d.Finder != nil, "Finder")
	need(d.Orders != nil, "Orders")
	need(d.Providers != nil, "Providers")
	need(d.Prover != nil, "Prover")
	need(d.Stater != nil, "Stater")
	need(d.Shower != nil, "Shower")
	need(d.Operator != nil, "Operator")
	need(d.Cleanup != nil, "Cleanup")
	need(d.Reviser != nil, "Reviser")
	need(d.Preheats != nil, "Preheats")
	need(d.Teller != nil, "Teller")
	need(d.Reconciler != nil, "Reconciler")
	need(d.Switches != nil, "Switches")
	need(d.Tickets != nil, "Tickets")
	need(d.Members != nil, "Members")
	need(d.Overviews != nil, "Overviews")
	need(d.Stacks != nil, "Stacks")
	need(d.DeadLetters != nil, "DeadLetters")
	need(d.Verifier != nil, "Verifier")
	need(d.Log != nil, "Log")
	need(d.Now != nil, "Now")
	return errors.Join(errs...)
}

// Options tune the API; zero values take the defaults.
type Options struct {
	// Version is shown in openapi.yaml ("dev").
	Version string
	// TrustedProxies are networks (CIDR) whose X-Forwarded-For is believed. None by
	// default: then the client's address is that of the connection, whatever its
	// headers say.
	TrustedProxies []string
	// RefusalLogEvery logs one of so many refused purchases (100). 1 logs all,
	// negative none. Accepted ones are always logged.
	RefusalLogEvery int
	// ServiceOnly leaves the API itself out: a process without the api role answers
	// for its health and its metrics alone.
	ServiceOnly bool
	// PurchaseBudget bounds a purchase from the end of its body on, and ReadBudget what
	// a buyer reads, long polls aside; 0: nothing does.
	PurchaseBudget, ReadBudget time.Duration
	// WaitingPolls is how many long polls wait at once (1000), and Connections how many
	// connections one listener holds (0: no bound). Over the first a poll is answered
	// with what is known; over the second idle connections are closed, and new ones
	// where none is idle.
	WaitingPolls, Connections int
	// TicketProof says that a purchase ticket asks for a proof of work: the buyer page
	// begins it before the sale opens.
	TicketProof bool
	// Away tells whether an error means that a store is away for the moment: then
	// the answer is 503 busy, not 500. Nil: none does.
	Away func(error) bool
	// Archived tells whether an error means that what was asked for was taken out of
	// the log into an archive: then the answer is 410. Nil: none does.
	Archived func(error) bool
}

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.RefusalLogEvery == 0 {
		o.RefusalLogEvery = 100
	}
	if o.WaitingPolls == 0 {
		o.WaitingPolls = 1000
	}
	return o
}

// Server answers HTTP. It is an http.Handler, safe for concurrent use.
type Server struct {
	Deps
	opts     Options
	echo     *echo.Echo
	labels   map[routeKey]string
	document []byte // openapi.yaml
	prepared preparedProblems
	pages    *pages.Pages
	console  *console.Console
	bodies   sync.Pool
	refused  atomic.Uint64
	polls    *polls

	draining context.Context
	drain    context.CancelFunc
}

// New makes the API, or says everything that is missing or wrong.
func New(deps Deps, opts Options) (*Server, error) {
	if err := deps.validate(); err != nil {
		return nil, fmt.Errorf("make the API: %w", err)
	}
	opts = opts.withDefaults()
	client, err := clientAddress(opts.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("make the API: %w", err)
	}
	if deps.Metrics == nil {
		deps.Metrics = noMetrics{}
	}
	if deps.Limits == nil {
		deps.Limits = noLimits{}
	}
	if deps.Admission == nil {
		deps.Admission = allIn{}
	}
	s := &Server{Deps: deps, opts: opts, echo: echo.New(), labels: map[routeKey]string{}, polls: newPolls(opts.WaitingPolls)}
	if s.pages, err = pages.New(pages.Options{TicketProof: opts.TicketProof}); err != nil {
		return nil, fmt.Errorf("make the API: %w", err)
	}
	if s.console, err = console.New(); err != nil {
		return nil, fmt.Errorf("make the API: %w", err)
	}
	if s.prepared, err = prepareProblems(); err != nil {
		return nil, fmt.Errorf("make the API: %w", err)
	}
	s.bodies.New = func() any { return new(bytes.Buffer) }
	s.draining, s.drain = context.WithCancel(context.Background())
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.IPExtractor = client
	s.echo.HTTPErrorHandler = func(err error, c echo.Context) { s.fail(c, err) }
	s.echo.Use(s.observe)
	if s.document, err = s.mount(); err != nil {
		return nil, fmt.Errorf("make the API: %w", err)
	}
	return s, nil
}

// ServeHTTP answers one request; HEAD as GET, of which the HTTP server, who has
// the request as it came, leaves the body out.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining.Err() != nil {
		w.Header().Set("Connection", "close") // whoever keeps it would meet its end later
	}
	if len(r.TransferEncoding) > 0 {
		// It may have named a length too, which is not looked at then. Who passed it on may
		// have looked at nothing else, and take what follows for a part of it (RFC 9112, 6.1).
		w.Header().Set("Connection", "close")
	}
	if r.Method == http.MethodHead {
		r = r.WithContext(context.WithValue(r.Context(), headed{}, true))
		r.Method = http.MethodGet
	}
	s.echo.ServeHTTP(w, r)
}

// headed marks a request that came as HEAD.
type headed struct{}

func isHead(r *http.Request) bool { return r.Context().Value(headed{}) != nil }

// Drain ends every stream, answers every long poll that waits, and every later one, at
// once with what is known, says at /readyz that it shuts down, and closes each connection after
// its answer. Call it before shutting the HTTP server down.
func (s *Server) Drain() { s.drain() }

// HTTPServer gives a server for this API with its limits set: 5 s for headers and
// body of a request (observe takes that off what may take longer), a minute for an
// answer (twice the longest poll), a minute of idleness, and Options.Connections.
// Headers beyond its own bound never reach us; those beyond ours, which is lower, are
// answered as everything else is.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler: s,
		// OPTIONS * is answered as everything else is.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            bodyBudget,
		ReadTimeout:                  bodyBudget,
		WriteTimeout:                 time.Minute,
		IdleTimeout:                  time.Minute,
		MaxHeaderBytes:               2 * maxHeaders,
		ConnState:                    newConnections(s.opts.Connections).changed,
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}

// clientAddress decides whose word about the client's address is taken.
func clientAddress(proxies []string) (echo.IPExtractor, error) {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect(), nil
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		_, network, err := net.ParseCIDR(p)
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q: want a network such as 10.0.0.0/8", p)
		}
		trust = append(trust, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(trust...), nil
}

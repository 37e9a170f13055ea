package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// statusGone is what is counted when the caller hung up before the answer.
const statusGone = 499

// observe stands around every request: it sets the trace id, turns whatever goes
// wrong into a problem document, and counts.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := s.Now()
		r := c.Request()
		trace, ok := parentTrace(first(r.Header, "Traceparent"))
		if !ok {
			trace = newTraceID()
		}
		h := c.Response().Header()
		h[headerTrace] = []string{trace}
		secure(h)
		if r.ContentLength == 0 {
			setBodyDeadline(c, time.Time{}) // it may be a long poll
		}
		switch {
		case headersOf(r) > maxHeaders:
			next = tooManyHeaders
		case hidden(c):
			next = echo.NotFoundHandler
		case r.Method == http.MethodOptions:
			next = noOptions
		}
		if err := s.safely(next, c); err != nil {
			s.fail(c, err)
		}
		status := c.Response().Status
		if r.Context().Err() != nil && !c.Response().Committed {
			status = statusGone
		}
		s.Metrics.Request(s.label(c), status, s.Now().Sub(start))
		return nil
	}
}

// maxHeaders is how many bytes the first line and the headers of a request may have.
const maxHeaders = 32 << 10

// headersOf counts the bytes of them, nearly as they came.
func headersOf(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + len(": \r\n")
		}
	}
	return n
}

func tooManyHeaders(echo.Context) error {
	return invalid(http.StatusRequestHeaderFieldsTooLarge, "The address and the headers are over 32 KiB.")
}

// noOptions refuses OPTIONS, which nothing here takes: there is no other origin to
// allow. Echo would answer 204 by itself.
func noOptions(c echo.Context) error {
	allow, ok := c.Get(echo.ContextKeyHeaderAllow).(string)
	if !ok || allow == "" {
		return echo.ErrNotFound
	}
	c.Response().Header().Set(echo.HeaderAllow, allow)
	return echo.ErrMethodNotAllowed
}

// allowed writes a list of methods as we take them, from echo's.
func allowed(list string) string {
	var methods []string
	for method := range strings.SplitSeq(list, ",") {
		switch method = strings.TrimSpace(method); method {
		case http.MethodGet:
			methods = append(methods, http.MethodGet, http.MethodHead)
		case http.MethodOptions, http.MethodHead, "":
		default:
			methods = append(methods, method)
		}
	}
	return strings.Join(methods, ", ")
}

// panicked is a panic on its way to the log.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// Unwrap gives the error that was the reason, if one was.
func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// hungUp tells whether the caller is gone: its request has ended, or writing the
// answer broke on the connection (huma panics then).
func hungUp(ctx context.Context, err error) bool {
	var p *panicked
	var broken *net.OpError
	return ctx.Err() != nil || errors.As(err, &p) && errors.As(p.Unwrap(), &broken)
}

// safely turns a panic into an error, but for the one that asks the HTTP server
// to break the connection.
func (s *Server) safely(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return next(c)
}

// fail answers with the problem document of err, and logs what the caller is not
// told. A caller that hung up is neither answered nor logged as a fault.
func (s *Server) fail(c echo.Context, err error) {
	r := s.refusalOf(ours(err))
	if strings.HasPrefix(c.Path(), adminPrefix) {
		r = r.toOperators(c.Request().Method)
	}
	if r.cause != nil && hungUp(c.Request().Context(), err) {
		s.Log.Debug("caller is gone", "trace_id", traceOf(c), "error", err)
		return
	}
	if r.cause != nil { // nothing is prepared for a log that is told nothing
		s.logFault(c.Request().Context(), traceOf(c), r)
	}
	if c.Response().Committed {
		return
	}
	if r.answer().status != http.StatusRequestTimeout { // its time is over
		hurryBody(c)
	}
	if err := r.write(c, s.prepared); err != nil {
		s.Log.Debug("answer not written", "trace_id", traceOf(c), "error", err)
	}
}

// ours turns what echo itself refuses into a refusal.
func ours(err error) error {
	if _, ok := err.(*refusal); ok {
		return err
	}
	var theirs *echo.HTTPError
	if errors.As(err, &theirs) {
		return asProblem(theirs.Code)
	}
	return err
}

// logFault logs the cause behind a refusal; a refusal that has none is no fault.
func (s *Server) logFault(ctx context.Context, trace string, r *refusal) {
	if r.cause == nil {
		return
	}
	attrs := []slog.Attr{slog.String("trace_id", trace), slog.String("code", string(r.Code)), slog.Any("error", r.cause)}
	var p *panicked
	if errors.As(r.cause, &p) {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	s.Log.LogAttrs(ctx, slog.LevelError, "request failed", attrs...)
}

// purchaseLine is the access line of one purchase.
type purchaseLine struct {
	trace, buyer, sale, order string
	outcome                   string
	parent                    string // the traceparent that came, where somebody makes spans
	lines                     []domain.Line
}

// logPurchase counts a purchase and writes its line: always when an order came of
// it, one of so many when it was refused.
func (s *Server) logPurchase(ctx context.Context, l *purchaseLine, start time.Time) {
	s.Metrics.Purchase(l.outcome, s.Now().Sub(start))
	message := "purchase accepted"
	if l.order == "" {
		every := s.opts.RefusalLogEvery
		if every < 0 || (s.refused.Add(1)-1)%uint64(every) != 0 {
			return
		}
		message = "purchase refused"
	}
	if s.Spans != nil {
		s.Spans.Purchase(PurchaseSpan{Trace: l.trace, Parent: l.parent, Buyer: l.buyer, Sale: l.sale, Order: l.order, Outcome: l.outcome, Start: start, End: s.Now()})
	}
	s.Log.LogAttrs(ctx, slog.LevelInfo, message,
		slog.String("trace_id", l.trace), slog.String("buyer_id", l.buyer), slog.String("sale_id", l.sale),
		slog.String("order_id", l.order), slog.String("gate", l.outcome))
}

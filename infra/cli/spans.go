package cli

import (
	"context"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/eventstore"
	"seckill/infra/tracing"
)

// spansBudget bounds sending the last spans of a process.
const spansBudget = 2 * time.Second

// openSpans makes the tracer, where somebody said where spans go.
func (a *app) openSpans(ctx context.Context) (err error) {
	a.spans, err = tracing.Open(ctx, tracing.Options{Endpoint: a.settings.OTLPEndpoint, Node: a.env.Node, Version: thisProgram().Version, Log: a.log})
	if err != nil || a.spans == nil {
		return err
	}
	a.onClose(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, spansBudget)
		defer cancel()
		if err := a.spans.Close(ctx); err != nil {
			a.log.Warn("the last spans were not sent", "error", err)
		}
		return nil
	})
	return nil
}

// requestSpans tells a tracer of what was asked over HTTP.
type requestSpans struct{ to *tracing.Tracer }

// Purchase makes the span of a purchase; see api.Spans.
func (s requestSpans) Purchase(p api.PurchaseSpan) {
	s.to.Requested(tracing.Request{
		Trace: p.Trace, Parent: p.Parent, Buyer: p.Buyer, Sale: p.Sale, Order: p.Order, Outcome: p.Outcome, Start: p.Start, End: p.End,
	})
}

// requests gives who is told of purchases over HTTP, nil where nobody makes spans.
func (a *app) requests() api.Spans {
	if a.spans == nil {
		return nil
	}
	return requestSpans{a.spans}
}

// onAccepted gives who is told of the gate's yes, nil where nobody makes spans: then
// nobody looks at the clock for it.
func (a *app) onAccepted() func(*commands.Reservation, *commands.Verdict, time.Time) {
	if a.spans == nil {
		return nil
	}
	return func(r *commands.Reservation, v *commands.Verdict, began time.Time) {
		if !r.Place.Direct { // else the log itself accepts
			a.spans.Accepted(r.TraceID, r.Order, v.Entry.String(), began, a.env.Now())
		}
	}
}

func (a *app) onPublishing() func([]eventstore.Record) (string, func(error)) {
	if a.spans == nil {
		return nil
	}
	return a.spans.Publishing
}

func (a *app) onApplied() func(context.Context, string, []eventstore.Record, time.Time) {
	if a.spans == nil {
		return nil
	}
	return func(ctx context.Context, projection string, records []eventstore.Record, began time.Time) {
		a.spans.Applied(projection, eventstore.OriginOf(ctx), records, began)
	}
}

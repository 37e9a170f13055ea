// Package tracing makes OpenTelemetry spans of purchases and sends them by OTLP over HTTP.
//
// It owns the names of the spans and how they join up. It promises that a purchase that was
// accepted has a span for each step, in the trace whose id its answer has: the request, the
// gate, and the record in the log; that what works on many at once (an append, an envelope of
// the bus, a batch of a projection) is a span of its own that links to each of them; and that
// spans of different processes find each other by ids that follow from the order, so that
// nothing more is stored for them. Of refused purchases it makes as many as are logged.
//
// It refuses to slow anything down: without an endpoint there is no Tracer, a nil Tracer does
// nothing, and where spans come faster than they can be sent they are dropped.
package tracing

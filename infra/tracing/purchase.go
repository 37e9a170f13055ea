package tracing

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"seckill/eventstore"
)

// Request is a purchase as it was asked for and answered.
type Request struct {
	Trace string
	// Parent is the traceparent that came with it, "" without one.
	Parent             string
	Buyer, Sale, Order string // Order is "" where it was refused
	Outcome            string
	Start, End         time.Time
}

// Requested makes the span of a request.
func (t *Tracer) Requested(r Request) {
	if t == nil {
		return
	}
	id, err := trace.TraceIDFromHex(r.Trace)
	if err != nil {
		return
	}
	s := span{
		name: "purchase", kind: trace.SpanKindServer, ids: wanted{trace: id}, start: r.Start, end: r.End,
		attrs: []attribute.KeyValue{
			attribute.String("seckill.buyer_id", r.Buyer), attribute.String("seckill.sale_id", r.Sale), attribute.String("seckill.outcome", r.Outcome),
		},
	}
	if r.Order != "" {
		s.ids.span = spanOf(stepRequest, r.Order)
		s.attrs = append(s.attrs, attribute.String("seckill.order_id", r.Order))
	}
	if len(r.Parent) >= 52 { // it was read before: version, trace, parent, flags
		if parent, err := trace.SpanIDFromHex(r.Parent[36:52]); err == nil {
			s.parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: parent, TraceFlags: trace.FlagsSampled})
		}
	}
	t.write(s)
}

// Accepted makes the span of the gate's yes: the call of its script, in which the
// purchase went into the journal.
func (t *Tracer) Accepted(traceID, order, entry string, began, ended time.Time) {
	if t == nil {
		return
	}
	parent := at(traceID, stepRequest, order)
	if !parent.IsValid() {
		return
	}
	t.write(span{
		name: "gate reserve", kind: trace.SpanKindProducer, ids: wanted{span: spanOf(stepGate, order)}, parent: parent, start: began, end: ended,
		attrs: []attribute.KeyValue{attribute.String("seckill.order_id", order), attribute.String("seckill.entry", entry)},
	})
}

// Stored makes the span of an append that decided purchases, which links to each of
// them, and for each the span of its record, from the gate's yes to the commit.
func (t *Tracer) Stored(records []eventstore.Record) {
	if t == nil {
		return
	}
	now := time.Now()
	decided := decisions(records)
	if len(decided) == 0 {
		return
	}
	links := make([]trace.Link, len(decided))
	for i, d := range decided {
		links[i] = trace.Link{SpanContext: at(d.trace, d.before(), d.record.OrderID)}
	}
	whole := t.write(span{
		name: "log append", kind: trace.SpanKindConsumer, start: decided[0].record.RecordedAt, end: now, links: links,
		attrs: []attribute.KeyValue{attribute.Int("seckill.events", len(records)), attribute.Int("seckill.purchases", len(decided))},
	})
	for i, d := range decided {
		start := d.record.RecordedAt
		if d.accepted.Before(start) && !d.accepted.IsZero() {
			start = d.accepted
		}
		t.write(span{
			name: "log record", kind: trace.SpanKindConsumer, ids: wanted{span: spanOf(stepRecord, d.record.OrderID)}, parent: links[i].SpanContext,
			start: start, end: now, links: []trace.Link{{SpanContext: whole}},
			attrs: []attribute.KeyValue{
				attribute.String("seckill.order_id", d.record.OrderID), attribute.String("seckill.type", d.record.Type), attribute.Int64("seckill.position", d.record.Position),
			},
		})
	}
}

// Publishing begins the span of an envelope and gives the traceparent that goes with it;
// sent ends it.
func (t *Tracer) Publishing(records []eventstore.Record) (traceparent string, sent func(error)) {
	if t == nil || len(records) == 0 {
		return "", func(error) {}
	}
	_, s := t.tracer.Start(context.Background(), "bus publish", trace.WithSpanKind(trace.SpanKindProducer), trace.WithLinks(recordLinks(records)...),
		trace.WithAttributes(attribute.Int("seckill.events", len(records)), attribute.Int64("seckill.last_position", records[len(records)-1].Position)))
	c := s.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-01", func(err error) {
		if err != nil {
			s.RecordError(err)
		}
		s.End()
	}
}

// Applied makes the span of a batch that a projection has applied. It links to the
// record of every purchase in it, and to the envelope that it came in, where it came in one.
func (t *Tracer) Applied(projection, traceparent string, records []eventstore.Record, began time.Time) {
	if t == nil {
		return
	}
	links := recordLinks(records)
	if len(links) == 0 {
		return
	}
	if envelope := parentOf(traceparent); envelope.IsValid() {
		links = append(links, trace.Link{SpanContext: envelope})
	}
	t.write(span{
		name: "project " + projection, kind: trace.SpanKindConsumer, start: began, end: time.Now(), links: links,
		attrs: []attribute.KeyValue{attribute.String("seckill.projection", projection), attribute.Int("seckill.events", len(records))},
	})
}

func parentOf(traceparent string) trace.SpanContext {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 {
		return trace.SpanContext{}
	}
	traceID, err1 := trace.TraceIDFromHex(parts[1])
	spanID, err2 := trace.SpanIDFromHex(parts[2])
	if err1 != nil || err2 != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled})
}

// decision is the event that decided a purchase.
type decision struct {
	record   *eventstore.Record
	trace    string
	entry    string
	accepted time.Time
}

// before is the step that the record follows: without a gate that is the request.
func (d decision) before() string {
	if d.entry == "" {
		return stepRequest
	}
	return stepGate
}

// decisions gives the first event of each order's stream that has a trace.
func decisions(records []eventstore.Record) []decision {
	var all []decision
	for i := range records {
		r := &records[i]
		if r.Version != 1 || r.OrderID == "" || !strings.HasPrefix(r.Type, "order.") {
			continue
		}
		var meta struct {
			TraceID string `json:"trace_id"`
			Entry   string `json:"entry"`
		}
		if json.Unmarshal(r.Metadata, &meta) != nil || !at(meta.TraceID, stepRecord, r.OrderID).IsValid() {
			continue
		}
		var payload struct {
			AcceptedAt time.Time `json:"accepted_at"`
		}
		_ = json.Unmarshal(r.Payload, &payload) // of a rejected order there is none
		all = append(all, decision{record: r, trace: meta.TraceID, entry: meta.Entry, accepted: payload.AcceptedAt})
	}
	return all
}

// recordLinks links to the record of each purchase that is decided in some records.
func recordLinks(records []eventstore.Record) []trace.Link {
	decided := decisions(records)
	links := make([]trace.Link, len(decided))
	for i, d := range decided {
		links[i] = trace.Link{SpanContext: at(d.trace, stepRecord, d.record.OrderID)}
	}
	return links
}

package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options say where spans go and whose they are.
type Options struct {
	// Endpoint is the URL of a collector (OTLP over HTTP); without a path /v1/traces is
	// added. "": what the standard variables OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and
	// OTEL_EXPORTER_OTLP_ENDPOINT say, and no tracing without them.
	Endpoint string
	// Node and Version name the process.
	Node, Version string
	Log           *slog.Logger
}

// Bounds of what waits to be sent, and of the links of one span.
const (
	queued   = 16_384
	mostLink = 4096
	// everySend is how long a span waits at most.
	everySend = 2 * time.Second
)

// Tracer makes spans. A nil Tracer makes none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Open makes a tracer, nil where nobody said where spans go. A collector that is away is
// no error: spans are dropped until it is there.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	var how []otlptracehttp.Option
	if o.Endpoint != "" {
		at, err := url.Parse(o.Endpoint)
		if err != nil || at.Host == "" {
			return nil, fmt.Errorf("send spans to %q: want a URL such as http://collector:4318", o.Endpoint)
		}
		if strings.Trim(at.Path, "/") == "" {
			at.Path = "/v1/traces"
		}
		how = append(how, otlptracehttp.WithEndpointURL(at.String()))
	} else if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx, how...)
	if err != nil {
		return nil, fmt.Errorf("send spans: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("spans not sent", "error", err) })) // it writes to stderr otherwise
	limits := sdk.NewSpanLimits()
	limits.LinkCountLimit = mostLink
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter, sdk.WithMaxQueueSize(queued), sdk.WithBatchTimeout(everySend)),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "seckill"), attribute.String("service.instance.id", o.Node), attribute.String("service.version", o.Version))),
		sdk.WithIDGenerator(ids{}), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithRawSpanLimits(limits),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("seckill")}, nil
}

// Close sends what waits, within the time of ctx.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return errors.Join(t.provider.ForceFlush(ctx), t.provider.Shutdown(ctx))
}

// wanted are the ids that the next span gets; zero ones are made up.
type wanted struct {
	trace trace.TraceID
	span  trace.SpanID
}

type wantedKey struct{}

// ids gives spans the ids that were asked for.
type ids struct{}

// NewIDs gives a root span its ids.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	w, _ := ctx.Value(wantedKey{}).(wanted)
	if !w.trace.IsValid() {
		binary.BigEndian.PutUint64(w.trace[:8], rand.Uint64())
		binary.BigEndian.PutUint64(w.trace[8:], rand.Uint64()|1)
	}
	return w.trace, w.spanID()
}

// NewSpanID gives another span its id.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	w, _ := ctx.Value(wantedKey{}).(wanted)
	return w.spanID()
}

func (w wanted) spanID() trace.SpanID {
	if !w.span.IsValid() {
		binary.BigEndian.PutUint64(w.span[:], rand.Uint64()|1)
	}
	return w.span
}

// spanOf gives the id of a step of an order's purchase: the same in every process.
func spanOf(step, order string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("seckill span " + step + " " + order))
	copy(id[:], sum[:])
	return id
}

// Steps of a purchase.
const (
	stepRequest = "request"
	stepGate    = "gate"
	stepRecord  = "record"
)

// span makes a whole span at once: parent may be the zero context, then it begins a trace.
type span struct {
	name       string
	kind       trace.SpanKind
	ids        wanted
	parent     trace.SpanContext
	start, end time.Time
	links      []trace.Link
	attrs      []attribute.KeyValue
}

func (t *Tracer) write(s span) trace.SpanContext {
	ctx := context.WithValue(context.Background(), wantedKey{}, s.ids)
	if s.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.parent)
	}
	if s.end.Before(s.start) {
		s.start = s.end // of clocks that differ
	}
	_, made := t.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.start), trace.WithLinks(s.links...), trace.WithAttributes(s.attrs...))
	made.End(trace.WithTimestamp(s.end))
	return made.SpanContext()
}

// at gives the context of a step of an order in its trace; not valid where the trace id
// is none.
func at(traceID, step, order string) trace.SpanContext {
	id, err := trace.TraceIDFromHex(traceID)
	if err != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: spanOf(step, order), TraceFlags: trace.FlagsSampled})
}

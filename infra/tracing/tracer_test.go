package tracing

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"seckill/eventstore"
)

const (
	testTrace = "0af7651916cd43dd8448eb211c80319c"
	testOrder = "0101g000000000000000000000000000000000000000w"
)

// recording makes a tracer whose spans stay in memory.
func recording() (*Tracer, *tracetest.SpanRecorder) {
	kept := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(kept), sdk.WithIDGenerator(ids{}))
	return &Tracer{provider: provider, tracer: provider.Tracer("test")}, kept
}

func placed(version int64, metadata string) eventstore.Record {
	return eventstore.Record{
		Position: 7, Version: version, Type: "order.placed", OrderID: testOrder, RecordedAt: time.Now(), Metadata: []byte(metadata), Payload: []byte(`{}`),
	}
}

func TestARefusedPurchaseHasASpanOfItsOwnInItsTrace(t *testing.T) {
	tracer, kept := recording()
	for range 2 {
		tracer.Requested(Request{Trace: testTrace, Buyer: "b", Sale: "s", Outcome: "sold_out", Start: time.Now(), End: time.Now()})
	}
	spans := kept.Ended()
	if len(spans) != 2 || spans[0].SpanContext().TraceID().String() != testTrace || spans[0].SpanContext().SpanID() == spans[1].SpanContext().SpanID() || spans[0].Parent().IsValid() {
		t.Fatalf("got %v; want two spans in the trace, told apart, without a parent", spans)
	}
}

func TestARecordWithoutAGateFollowsItsRequest(t *testing.T) {
	for metadata, step := range map[string]string{
		`{"trace_id":"` + testTrace + `","entry":"1-2.1"}`: stepGate,
		`{"trace_id":"` + testTrace + `"}`:                 stepRequest,
	} {
		tracer, kept := recording()
		tracer.Stored([]eventstore.Record{placed(1, metadata), placed(2, metadata)})
		spans := kept.Ended()
		if len(spans) != 2 || len(spans[0].Links()) != 1 || spans[1].Parent().SpanID() != spanOf(step, testOrder) || spans[1].SpanContext().SpanID() != spanOf(stepRecord, testOrder) {
			t.Errorf("%s: got %v; want one append and one record under the step %s", metadata, spans, step)
		}
	}
}

func TestABatchLinksToThePurchasesInItAndToItsEnvelope(t *testing.T) {
	tracer, kept := recording()
	records := []eventstore.Record{placed(1, `{"trace_id":"`+testTrace+`"}`)}
	traceparent, sent := tracer.Publishing(records)
	sent(errors.New("the broker is away"))
	tracer.Applied("order_view", traceparent, records, time.Now())
	spans := kept.Ended()
	if len(spans) != 2 || len(spans[1].Links()) != 2 || spans[1].Links()[1].SpanContext.SpanID() != spans[0].SpanContext().SpanID() || len(spans[0].Events()) != 1 {
		t.Errorf("got %v; want the projection to link to the record and to the envelope, which failed", spans)
	}
}

func TestWhatHasNoTraceMakesNoSpan(t *testing.T) {
	tracer, kept := recording()
	tracer.Requested(Request{Trace: "nonsense"})
	tracer.Accepted("", testOrder, "1-2.1", time.Now(), time.Now())
	tracer.Stored([]eventstore.Record{placed(1, `{}`), placed(1, `not JSON`)})
	tracer.Applied("order_view", "", []eventstore.Record{placed(1, `{}`)}, time.Now())
	if n := len(kept.Ended()); n != 0 {
		t.Errorf("got %d spans, want none", n)
	}
}

func TestWithoutAnEndpointThereIsNoTracer(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	tracer, err := Open(t.Context(), Options{Log: slog.Default()})
	if err != nil || tracer != nil {
		t.Fatalf("got %v, %v; want none", tracer, err)
	}
	tracer.Requested(Request{Trace: testTrace})
	tracer.Stored([]eventstore.Record{placed(1, `{}`)})
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Options{Endpoint: "collector", Log: slog.Default()}); err == nil {
		t.Error("took an endpoint that is no URL")
	}
}

func TestStepsOfAnOrderAreTheSameInEveryProcess(t *testing.T) {
	if got := spanOf(stepGate, testOrder); got != (trace.SpanID{0x45, 0xad, 0x1d, 0xe1, 0xf6, 0x51, 0x29, 0x54}) {
		t.Errorf("got %s: processes of two versions would not find each other", got)
	}
}

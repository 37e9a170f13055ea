package e2e

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spanv1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"seckill/infra/testenv"
)

// collected keeps every span that was sent to it by OTLP over HTTP.
type collected struct {
	URL string

	mu    sync.Mutex
	spans []*spanv1.Span
	fault error
}

func newCollector(t *testing.T) *collected {
	c := &collected{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil || r.URL.Path != "/v1/traces" {
			c.fault = fmt.Errorf("%s: %v", r.URL.Path, err)
		}
		for _, resource := range sent.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// find gives the span that fits, or says what there is.
func (c *collected) find(what string, fits func(*spanv1.Span) bool) (*spanv1.Span, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		return nil, c.fault
	}
	if i := slices.IndexFunc(c.spans, fits); i >= 0 {
		return c.spans[i], nil
	}
	names := map[string]int{}
	for _, s := range c.spans {
		names[s.Name]++
	}
	return nil, fmt.Errorf("no %s among %v", what, names)
}

// linked tells whether a span links to another.
func linked(from, to *spanv1.Span) bool {
	return slices.ContainsFunc(from.Links, func(l *spanv1.Span_Link) bool {
		return string(l.TraceId) == string(to.TraceId) && string(l.SpanId) == string(to.SpanId)
	})
}

func TestTheSpansOfAPurchaseJoinUpAcrossProcesses(t *testing.T) {
	r, c := NewRig(t), newCollector(t)
	env := append(r.Settings(t), "SECKILL_OTLP_ENDPOINT="+c.URL)
	standard := append(r.Settings(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	front := Serve(t, ChildOptions{Env: env, Args: []string{"--roles", "api"}})
	Serve(t, ChildOptions{Env: standard, Args: []string{"--roles", "recorder,relay,projector,scheduler"}})
	client := NewClient(front.URL)
	sale := client.CreateSale(t, 1)
	trace, parent := strings.Repeat("5a", 16), "00f067aa0ba902b7"
	testenv.Eventually(t, time.Minute, func() error {
		a, err := client.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "tracy", "", `{"sku":"item","quantity":1}`, "traceparent", "00-"+trace+"-"+parent+"-01")
		if err == nil && a.Status != 202 {
			err = errStatus(a)
		}
		return err
	})
	await := func(what string, fits func(*spanv1.Span) bool) (s *spanv1.Span) {
		t.Helper()
		testenv.Eventually(t, time.Minute, func() (err error) { s, err = c.find(what, fits); return err })
		return s
	}
	inTrace := func(name string, under *spanv1.Span) *spanv1.Span {
		t.Helper()
		return await(name, func(s *spanv1.Span) bool {
			return s.Name == name && hex.EncodeToString(s.TraceId) == trace && string(s.ParentSpanId) == string(under.SpanId)
		})
	}
	request := await("request under the button's span", func(s *spanv1.Span) bool {
		return s.Name == "purchase" && hex.EncodeToString(s.TraceId) == trace && hex.EncodeToString(s.ParentSpanId) == parent &&
			slices.ContainsFunc(s.Attributes, func(a *common.KeyValue) bool { return a.Key == "seckill.order_id" })
	})
	gate := inTrace("gate reserve", request)
	record := inTrace("log record", gate)
	whole := await("append that links to the gate's yes", func(s *spanv1.Span) bool { return s.Name == "log append" && linked(s, gate) })
	if !linked(record, whole) {
		t.Errorf("the record links to %v, want the append it was part of", record.Links)
	}
	await("envelope that links to the record", func(s *spanv1.Span) bool { return s.Name == "bus publish" && linked(s, record) })
	await("projection that links to the record", func(s *spanv1.Span) bool { return s.Name == "project order_view" && linked(s, record) })
	for _, s := range []*spanv1.Span{request, gate, record, whole} {
		if s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s ends before it begins", s.Name)
		}
	}
}

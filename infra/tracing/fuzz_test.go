package tracing

import (
	"strings"
	"testing"
)

// FuzzParent: of a message's traceparent only a span that stands in it is taken.
func FuzzParent(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Add("00-00000000000000000000000000000000-0000000000000000-00")
	f.Add("---")
	f.Fuzz(func(t *testing.T, text string) {
		parent := parentOf(text)
		if parent.IsValid() && !strings.Contains(strings.ToLower(text), parent.TraceID().String()+"-"+parent.SpanID().String()) {
			t.Errorf("%q gives %v", text, parent)
		}
	})
}

package client

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzProblem: whatever a server, or what stands before it, answers, the refusal has
// its status and never asks to wait for less than no time.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"code":"busy","detail":"x","retry_after_ms":1500,"trace_id":"t","errors":[{"field":"a","reason":"b"}]}`), "application/problem+json", "1")
	f.Add([]byte(`{"retry_after_ms":9223372036854775807}`), "application/problem+json; charset=utf-8", "")
	f.Add([]byte(`<html>`), "text/html", "Fri, 31 Dec 9999 23:59:59 GMT")
	f.Add([]byte(`{"status":200,"retry_after_ms":-1}`), "application/problem+json", "99999999999")
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte, kind, after string) {
		p := problemOf(&answer{status: 503, header: http.Header{"Content-Type": {kind}, "Retry-After": {after}}, body: body, trace: "ours"}, now)
		if p.Status != 503 || p.RetryAfter < 0 || p.TraceID == "" || !strings.HasPrefix(p.Error(), "503") {
			t.Errorf("%q as %q with %q: got %+v", body, kind, after, p)
		}
	})
}

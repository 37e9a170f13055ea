package api

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"

	"github.com/labstack/echo/v4"
)

// headerTrace carries the trace id on every answer.
const headerTrace = "X-Trace-Id"

// traceOf gives the trace id of a request that observe has seen.
func traceOf(c echo.Context) string { return first(c.Response().Header(), headerTrace) }

// first gives the first value of a header whose name is written in its canonical
// form, as Get would, which looks at every letter of the name.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// newTraceID makes a trace id: 32 hexadecimal digits, not all zero.
func newTraceID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], rand.Uint64())
	binary.BigEndian.PutUint64(b[8:], rand.Uint64()|1)
	return hex.EncodeToString(b[:])
}

// parentTrace reads the trace id out of a traceparent (W3C Trace Context). ok is
// false for anything that the standard calls invalid: then a new trace begins.
func parentTrace(header string) (id string, ok bool) {
	const length = 55 // version 2, trace id 32, parent id 16, flags 2, and three dashes
	if len(header) < length || header[2] != '-' || header[35] != '-' || header[52] != '-' {
		return "", false
	}
	version, id, parent, flags := header[:2], header[3:35], header[36:52], header[53:55]
	if !lowerHex(version) || version == "ff" || !lowerHex(id) || !lowerHex(parent) || !lowerHex(flags) {
		return "", false
	}
	if len(header) > length && (version == "00" || header[length] != '-') {
		return "", false
	}
	return id, !zeros(id) && !zeros(parent)
}

func lowerHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

func zeros(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '0' {
			return false
		}
	}
	return true
}

// callKey finds a call in a context.
type callKey struct{}

// call is who asks, in which trace and language; the handlers behind huma find
// it in their context.
type call struct {
	caller   Caller
	trace    string
	language string
	answer   http.Header // the headers of the answer, before it is written
	route    *route
}

func withCall(ctx context.Context, c call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

package client

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
)

// trace is the trace that one call belongs to: all its tries carry the same trace id.
type trace struct{ id, flags string }

// newTrace continues the caller's trace, or begins one.
func (c *Client) newTrace(ctx context.Context) trace {
	if c.opts.TraceParent != nil {
		if parts := strings.Split(c.opts.TraceParent(ctx), "-"); len(parts) == 4 && len(parts[1]) == 32 && len(parts[3]) == 2 {
			return trace{id: parts[1], flags: parts[3]}
		}
	}
	return trace{id: randomHex(16), flags: "01"}
}

// parent writes the traceparent of one try, which is a span of its own.
func (t trace) parent() string { return "00-" + t.id + "-" + randomHex(8) + "-" + t.flags }

// randomHex gives n bytes, up to 16, not all of them zero, as hexadecimal digits. It
// names things; it keeps no secret.
func randomHex(n int) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], rand.Uint64())
	binary.BigEndian.PutUint64(b[:8], rand.Uint64()|1)
	return hex.EncodeToString(b[:n])
}

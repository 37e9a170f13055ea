package eventstore

import "context"

type originKey struct{}

// WithOrigin notes the trace context (traceparent) of the message that a batch came in;
// "" notes nothing.
func WithOrigin(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return context.WithValue(ctx, originKey{}, traceparent)
}

// OriginOf gives what WithOrigin noted, "" for nothing.
func OriginOf(ctx context.Context) string {
	origin, _ := ctx.Value(originKey{}).(string)
	return origin
}

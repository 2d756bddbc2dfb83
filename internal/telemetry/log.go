package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
)

// Logged returns a handler that adds trace_id and span_id to each record that is logged within a span.
func Logged(h slog.Handler) slog.Handler { return handler{h} }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if span := oteltrace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

// atomicTime is the time at which something last happened.
type atomicTime struct{ nanos atomic.Int64 }

// passed reports whether that was longer than d ago, or never; if so, it sets the time to now.
func (t *atomicTime) passed(d time.Duration) bool {
	last, now := t.nanos.Load(), time.Now().UnixNano()
	return (last == 0 || now-last >= int64(d)) && t.nanos.CompareAndSwap(last, now)
}

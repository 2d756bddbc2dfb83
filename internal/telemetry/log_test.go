package telemetry

import (
	"log/slog"
	"strings"
	"testing"

	oteltrace "go.opentelemetry.io/otel/trace"
)

func TestLogged_NamesTheTraceOfARecord(t *testing.T) {
	var text strings.Builder
	log := slog.New(Logged(slog.NewTextHandler(&text, nil))).With("a", 1)
	span := oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: oteltrace.TraceID{1}, SpanID: oteltrace.SpanID{2}})
	log.InfoContext(oteltrace.ContextWithSpanContext(t.Context(), span), "within")
	log.InfoContext(t.Context(), "outside")
	within, outside, _ := strings.Cut(text.String(), "\n")
	if !strings.HasSuffix(within, "msg=within a=1 trace_id=01000000000000000000000000000000 span_id=0200000000000000") || strings.Contains(outside, "trace_id") {
		t.Errorf("%s", text.String())
	}
}

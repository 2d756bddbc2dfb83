// Package trace marks what a turn does as OpenTelemetry spans: one trace for each turn, with a span for
// each stage, model call and tool call. Names and attributes follow the semantic conventions for
// generative AI (github.com/open-telemetry/semantic-conventions-genai, as of November 2026).
//
// Until Enable is called, nothing is traced, and Start functions return their context and a nil Span,
// which is valid. Spans hold no text of questions, answers or documents unless Enable was called with
// content.
package trace

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// settings are the arguments of Enable.
type settings struct {
	tracer  oteltrace.Tracer
	content bool
}

var enabled atomic.Pointer[settings]

// w3c reads and writes the headers of W3C Trace Context.
var w3c propagation.TraceContext

// Enable begins to trace with a tracer; nil ends it. With content, spans of model calls hold the messages.
func Enable(tracer oteltrace.Tracer, content bool) {
	if tracer == nil {
		enabled.Store(nil)
		return
	}
	enabled.Store(&settings{tracer, content})
}

// Request begins the span of a request that a route serves, and returns the request with the context for it.
// The span continues the trace of the request's traceparent header.
func Request(r *http.Request, route string) (*http.Request, *Span) {
	if enabled.Load() == nil {
		return r, nil
	}
	ctx, span := start(w3c.Extract(r.Context(), propagation.HeaderCarrier(r.Header)), r.Method+" "+route, oteltrace.SpanKindServer,
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route))
	return r.WithContext(ctx), span
}

// EndRequest ends the span of a request with the status of its response.
func (s *Span) EndRequest(status int) {
	if s == nil {
		return
	}
	s.set(attribute.Int("http.response.status_code", status))
	failed := ""
	if status >= http.StatusInternalServerError {
		failed = strconv.Itoa(status)
	}
	s.end(failed)
}

// ToHeader writes the traceparent header for a request that is sent within ctx.
func ToHeader(ctx context.Context, h http.Header) {
	if enabled.Load() != nil {
		w3c.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Span is an operation in progress. A nil Span does nothing.
type Span struct {
	span       oteltrace.Span
	content    bool
	begun      time.Time
	attributes []attribute.KeyValue // are set at the end, all at once, since each call costs an allocation
}

// start begins a span.
func start(ctx context.Context, name string, kind oteltrace.SpanKind, attributes ...attribute.KeyValue) (context.Context, *Span) {
	s := enabled.Load()
	if s == nil {
		return ctx, nil
	}
	ctx, span := s.tracer.Start(ctx, name, oteltrace.WithSpanKind(kind))
	return ctx, &Span{span, s.content, time.Now(), attributes}
}

// set adds attributes.
func (s *Span) set(attributes ...attribute.KeyValue) {
	s.attributes = append(s.attributes, attributes...)
}

// end ends the span. If failed is not empty, it marks the span as an error of that kind.
func (s *Span) end(failed string) {
	if failed != "" {
		s.set(attribute.String("error.type", failed))
		s.span.SetStatus(codes.Error, failed)
	}
	s.span.SetAttributes(s.attributes...)
	s.span.End()
}

// Turn begins the span of a turn.
func Turn(ctx context.Context, id, conversation, namespace string) (context.Context, *Span) {
	if enabled.Load() == nil {
		return ctx, nil
	}
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.provider.name", "parley"),
		attribute.String("gen_ai.agent.name", "parley"),
		attribute.String("gen_ai.data_source.id", namespace),
		attribute.String("parley.turn.id", id),
	}
	if conversation != "" {
		attributes = append(attributes, attribute.String("gen_ai.conversation.id", conversation))
	}
	return start(ctx, "invoke_agent parley", oteltrace.SpanKindInternal, attributes...)
}

// Stage begins the span of a stage of a turn.
func Stage(ctx context.Context, name, namespace string) (context.Context, *Span) {
	if enabled.Load() == nil {
		return ctx, nil
	}
	if name == "retrieve" {
		return start(ctx, "retrieval "+namespace, oteltrace.SpanKindInternal,
			attribute.String("gen_ai.operation.name", "retrieval"), attribute.String("gen_ai.provider.name", "parley"),
			attribute.String("gen_ai.data_source.id", namespace))
	}
	return start(ctx, name, oteltrace.SpanKindInternal)
}

// Tool begins the span of a call of a tool.
func Tool(ctx context.Context, name, callID string) (context.Context, *Span) {
	if enabled.Load() == nil {
		return ctx, nil
	}
	return start(ctx, "execute_tool "+name, oteltrace.SpanKindInternal,
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.type", "function"), attribute.String("gen_ai.tool.call.id", callID))
}

// End ends a span. An error marks it as failed; its text is not recorded, since it may quote a document.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	s.end(kindOf(err))
}

// EndAs ends the span of a turn with its status; all but "completed" and "cancelled" are errors.
func (s *Span) EndAs(status string) {
	if s == nil {
		return
	}
	s.set(attribute.String("parley.turn.status", status))
	if status == "completed" || status == "cancelled" {
		s.end("")
	} else {
		s.end(status)
	}
}

// kindOf returns a value for error.type; for nil it is empty.
func kindOf(err error) string {
	var typed interface{ ErrorType() string }
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &typed):
		return typed.ErrorType()
	}
	return "_OTHER"
}

package trace

import (
	"context"
	"encoding/json"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// providers are the conventional names of providers, where they are not our own.
var providers = map[string]string{"azure-openai": "azure.ai.openai", "gemini": "gcp.gemini", "mistral": "mistral_ai", "builtin": "parley"}

// maxContent bounds each text of a span, in bytes.
const maxContent = 64 << 10

// Model begins the span of a call of a model. The operation is chat, embeddings or rerank; the endpoint is
// provider:model.
func Model(ctx context.Context, operation, endpoint, model string) (context.Context, *Span) {
	if enabled.Load() == nil {
		return ctx, nil
	}
	provider, _, _ := strings.Cut(endpoint, ":")
	if name := providers[provider]; name != "" {
		provider = name
	}
	return start(ctx, operation+" "+model, oteltrace.SpanKindClient,
		attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.provider.name", provider),
		attribute.String("gen_ai.request.model", model))
}

// Params are the parameters of a completion. Zero values are not recorded.
type Params struct {
	Temperature, TopP float64
	MaxTokens         int
}

// Sent records the parameters of a completion.
func (s *Span) Sent(p Params) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.Float64("gen_ai.request.temperature", p.Temperature))
	if p.MaxTokens > 0 {
		s.span.SetAttributes(attribute.Int("gen_ai.request.max_tokens", p.MaxTokens))
	}
	if p.TopP > 0 {
		s.span.SetAttributes(attribute.Float64("gen_ai.request.top_p", p.TopP))
	}
}

// Message is a message of a conversation.
type Message struct{ Role, Text string }

// Reply is what a model answered. Empty values are not recorded.
type Reply struct {
	ID, Model, FinishReason string
	Input, Output, Cached   int // tokens; Input includes Cached
}

// Got records what a model answered.
func (s *Span) Got(r Reply) {
	if s == nil {
		return
	}
	for key, value := range map[string]string{"gen_ai.response.id": r.ID, "gen_ai.response.model": r.Model} {
		if value != "" {
			s.span.SetAttributes(attribute.String(key, value))
		}
	}
	if r.FinishReason != "" {
		s.span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{r.FinishReason}))
	}
	for key, value := range map[string]int{"input_tokens": r.Input, "output_tokens": r.Output, "cache_read.input_tokens": r.Cached} {
		if value > 0 {
			s.span.SetAttributes(attribute.Int("gen_ai.usage."+key, value))
		}
	}
}

// FirstToken marks the moment at which a model began to answer.
func (s *Span) FirstToken() {
	if s != nil {
		s.span.AddEvent("gen_ai.first_token")
	}
}

// HoldsContent reports whether the span records the texts of messages.
func (s *Span) HoldsContent() bool { return s != nil && s.content }

// Input records the messages that a model got, if the span holds content.
func (s *Span) Input(messages ...Message) { s.messages("gen_ai.input.messages", messages) }

// Output records the message that a model answered with, if the span holds content.
func (s *Span) Output(text string) {
	s.messages("gen_ai.output.messages", []Message{{"assistant", text}})
}

func (s *Span) messages(key string, messages []Message) {
	if !s.HoldsContent() {
		return
	}
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	list, room := make([]message, 0, len(messages)), maxContent
	for _, m := range messages {
		text := strings.ToValidUTF8(m.Text[:min(len(m.Text), room)], "")
		room -= len(text)
		list = append(list, message{m.Role, []part{{"text", text}}})
	}
	if raw, err := json.Marshal(list); err == nil {
		s.span.SetAttributes(attribute.String(key, string(raw)))
	}
}

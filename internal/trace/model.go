package trace

import (
	"context"
	"encoding/json"
	"strings"
	"time"

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

// Sent records the parameters of a completion, which is always streamed from its provider.
func (s *Span) Sent(p Params) {
	if s == nil {
		return
	}
	s.set(attribute.Bool("gen_ai.request.stream", true), attribute.Float64("gen_ai.request.temperature", p.Temperature))
	s.setCount("gen_ai.request.max_tokens", p.MaxTokens)
	if p.TopP > 0 {
		s.set(attribute.Float64("gen_ai.request.top_p", p.TopP))
	}
}

// Message is a message of a conversation.
type Message struct{ Role, Text string }

// Reply describes the answer of a model. Empty values are not recorded.
type Reply struct {
	ID, Model, FinishReason string
	Input, Output, Cached   int // tokens; Input includes Cached
}

// Got records what a model answered.
func (s *Span) Got(r Reply) {
	if s == nil {
		return
	}
	s.setText("gen_ai.response.id", r.ID)
	s.setText("gen_ai.response.model", r.Model)
	if r.FinishReason != "" {
		s.set(attribute.StringSlice("gen_ai.response.finish_reasons", []string{r.FinishReason}))
	}
	s.setCount("gen_ai.usage.input_tokens", r.Input)
	s.setCount("gen_ai.usage.output_tokens", r.Output)
	s.setCount("gen_ai.usage.cache_read.input_tokens", r.Cached)
}

// setText adds an attribute unless it is empty.
func (s *Span) setText(key, value string) {
	if value != "" {
		s.set(attribute.String(key, value))
	}
}

// setCount adds an attribute unless it is 0.
func (s *Span) setCount(key string, value int) {
	if value > 0 {
		s.set(attribute.Int(key, value))
	}
}

// FirstToken notes the moment at which a model began to answer.
func (s *Span) FirstToken() {
	if s != nil {
		s.set(attribute.Float64("gen_ai.response.time_to_first_chunk", time.Since(s.begun).Seconds()))
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
		s.set(attribute.String(key, string(raw)))
	}
}

package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireRequest struct {
	Model               string            `json:"model"`
	Messages            []wireMessage     `json:"messages"`
	Stream              bool              `json:"stream"`
	StreamOptions       wireStreamOptions `json:"stream_options,omitzero"`
	Tools               []wireTool        `json:"tools,omitempty"`
	ToolChoice          wireToolChoice    `json:"tool_choice,omitzero"`
	Temperature         *float64          `json:"temperature,omitempty"`
	TopP                float64           `json:"top_p,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	Stop                []string          `json:"stop,omitempty"`
	ReasoningEffort     string            `json:"reasoning_effort,omitempty"`
	ResponseFormat      *wireFormat       `json:"response_format,omitempty"`
}

type wireFormat struct {
	Type   string     `json:"type"`
	Schema wireSchema `json:"json_schema"`
}

type wireSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

type wireStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireMessage struct {
	Role       string         `json:"role"`
	Content    any            `json:"content"` // see encodeContent
	Reasoning  string         `json:"reasoning_content,omitempty"`
	ToolCalls  []wireToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

// wireToolChoice is encoded as a word, or as an object with the name of a tool.
type wireToolChoice string

func (c wireToolChoice) MarshalJSON() ([]byte, error) {
	if c == llm.ToolsNone || c == llm.ToolsRequired {
		return upstream.Encode(string(c))
	}
	type function struct {
		Name string `json:"name"`
	}
	return upstream.Encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{string(c)}})
}

type wirePart struct {
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	ImageURL *wireImageURL `json:"image_url,omitempty"`
}

type wireImageURL struct {
	URL string `json:"url"`
}

// encodeContent returns a string if there is only text, which every server accepts, and otherwise a list
// of parts.
func encodeContent(content []llm.Part) any {
	if !slices.ContainsFunc(content, func(p llm.Part) bool { return p.Image != "" }) {
		return llm.Message{Parts: content}.Text()
	}
	parts := make([]wirePart, len(content))
	for i, p := range content {
		if p.Image != "" {
			parts[i] = wirePart{Type: "image_url", ImageURL: &wireImageURL{URL: p.Image}}
		} else {
			parts[i] = wirePart{Type: "text", Text: p.Text}
		}
	}
	return parts
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type wireToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireCallBody `json:"function"`
}

type wireCallBody struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (p *Provider) encodeRequest(req llm.Request) ([]byte, error) {
	takes := p.family(req.Model)
	req = takes.Fit(req)
	w := wireRequest{
		Model:           llm.CleanName(req.Model),
		Messages:        make([]wireMessage, len(req.Messages)),
		Stream:          true,
		StreamOptions:   wireStreamOptions{IncludeUsage: !p.server.noUsageOption},
		ToolChoice:      wireToolChoice(req.ToolChoice),
		TopP:            req.TopP,
		Stop:            req.Stop,
		ReasoningEffort: takes.effort(req.Effort),
	}
	if takes.Temperature {
		w.Temperature = &req.Temperature
	}
	switch {
	case !takes.reasons:
		w.MaxTokens = req.MaxOutputTokens
	case req.MaxOutputTokens > 0:
		w.MaxCompletionTokens = req.MaxOutputTokens + llm.ReasoningRoom(req.Effort)
	}
	if req.Schema != nil {
		w.ResponseFormat = &wireFormat{Type: "json_schema", Schema: wireSchema{Name: "answer", Schema: req.Schema}}
	}
	for i, m := range req.Messages {
		w.Messages[i] = encodeMessage(m)
	}
	for _, t := range req.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: wireFunction(t)})
	}
	return upstream.Encode(w)
}

// effort returns the word for an effort that models of the family accept.
func (f *family) effort(e string) string {
	if e == "minimal" && !f.minimal {
		return "low"
	}
	return e
}

// reasoned is the prefix of the signature of a tool call that contains the reasoning before the call.
// DeepSeek refuses the result of a tool without this reasoning_content.
// https://api-docs.deepseek.com/guides/thinking_mode#tool-calls
const reasoned = "reasoning_content:"

func encodeMessage(m llm.Message) wireMessage {
	w := wireMessage{Role: string(m.Role), Content: encodeContent(m.Parts), ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, wireToolCall{
			ID: c.ID, Type: "function", Function: wireCallBody{Name: c.Name, Arguments: c.Arguments},
		})
		if reasoning, ok := strings.CutPrefix(c.Signature, reasoned); ok {
			w.Reasoning = reasoning
		}
	}
	return w
}

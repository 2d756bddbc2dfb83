package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"parley/internal/llm"
)

type wireRequest struct {
	Model               string            `json:"model"`
	Messages            []wireMessage     `json:"messages"`
	Stream              bool              `json:"stream"`
	StreamOptions       wireStreamOptions `json:"stream_options"`
	Tools               []wireTool        `json:"tools,omitempty"`
	Temperature         *float64          `json:"temperature,omitempty"`
	TopP                float64           `json:"top_p,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
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
	Content    wireContent    `json:"content"`
	ToolCalls  []wireToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

// wireContent is a string when there is only text, which every server reads, else a list of parts.
type wireContent []llm.Part

func (c wireContent) MarshalJSON() ([]byte, error) {
	images := false
	for _, p := range c {
		images = images || p.Image != ""
	}
	if !images {
		return encode(llm.Message{Parts: c}.Text())
	}
	type imageURL struct {
		URL string `json:"url"`
	}
	type part struct {
		Type     string    `json:"type"`
		Text     string    `json:"text,omitempty"`
		ImageURL *imageURL `json:"image_url,omitempty"`
	}
	parts := make([]part, len(c))
	for i, p := range c {
		if p.Image != "" {
			parts[i] = part{Type: "image_url", ImageURL: &imageURL{URL: p.Image}}
		} else {
			parts[i] = part{Type: "text", Text: p.Text}
		}
	}
	return encode(parts)
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

func encodeRequest(req llm.Request, reasons bool) ([]byte, error) {
	w := wireRequest{
		Model:         llm.CleanName(req.Model),
		Messages:      make([]wireMessage, len(req.Messages)),
		Stream:        true,
		StreamOptions: wireStreamOptions{IncludeUsage: true},
	}
	if reasons {
		w.MaxCompletionTokens, w.ReasoningEffort = req.MaxOutputTokens, req.Effort
	} else {
		w.Temperature, w.TopP, w.MaxTokens = &req.Temperature, req.TopP, req.MaxOutputTokens
	}
	if req.Schema != nil {
		w.ResponseFormat = &wireFormat{Type: "json_schema", Schema: wireSchema{Name: "answer", Schema: req.Schema}}
	}
	for i, m := range req.Messages {
		w.Messages[i] = wireMessage{Role: string(m.Role), Content: m.Parts, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			w.Messages[i].ToolCalls = append(w.Messages[i].ToolCalls, wireToolCall{
				ID: c.ID, Type: "function", Function: wireCallBody{Name: c.Name, Arguments: c.Arguments},
			})
		}
	}
	for _, t := range req.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: wireFunction(t)})
	}
	return encode(w)
}

// reasoning lists the families of models that OpenAI serves as ones that reason: those refuse
// max_tokens and any temperature and top_p but their own, and take an effort.
// https://platform.openai.com/docs/guides/reasoning
var reasoning = []struct {
	family string
	but    string // a branch of the family that does not reason
}{{family: "o1"}, {family: "o3"}, {family: "o4"}, {"gpt-5", "-chat"}, {"gpt-6", "-chat"}}

// reasons reports whether a model is one of reasoning, or of those that the configuration adds.
func (p *Provider) reasons(model string) bool {
	if slices.Contains(p.cfg.Reasoning, model) {
		return true
	}
	for _, r := range reasoning {
		if rest, ok := strings.CutPrefix(model, r.family); ok && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return r.but == "" || !strings.HasPrefix(rest, r.but)
		}
	}
	return false
}

// encode is json.Marshal without the escapes for HTML, which would only cost tokens' bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

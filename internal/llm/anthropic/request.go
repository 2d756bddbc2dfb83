package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireRequest struct {
	Model       string          `json:"model"`
	MaxTokens   int             `json:"max_tokens"`
	System      string          `json:"system,omitempty"`
	Messages    []wireMessage   `json:"messages"`
	Stream      bool            `json:"stream"`
	Stop        []string        `json:"stop_sequences,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	Tools       []wireTool      `json:"tools,omitempty"`
	ToolChoice  *wireToolChoice `json:"tool_choice,omitempty"`
	Thinking    *wireThinking   `json:"thinking,omitempty"`
	Output      wireOutput      `json:"output_config,omitzero"`
}

type wireToolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type wireOutput struct {
	Effort string      `json:"effort,omitempty"`
	Format *wireFormat `json:"format,omitempty"`
}

type wireFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type wireMessage struct {
	Role    string      `json:"role"`
	Content []wireBlock `json:"content"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Source    *wireSource     `json:"source,omitempty"`      // for image
	ID        string          `json:"id,omitempty"`          // for tool_use
	Name      string          `json:"name,omitempty"`        // for tool_use
	Input     json.RawMessage `json:"input,omitempty"`       // for tool_use
	ToolUseID string          `json:"tool_use_id,omitempty"` // for tool_result
	Content   string          `json:"content,omitempty"`     // for tool_result
	Thinking  *string         `json:"thinking,omitempty"`    // for thinking, where it may be ""
	Signature string          `json:"signature,omitempty"`   // for thinking
	Data      string          `json:"data,omitempty"`        // for redacted_thinking
}

type wireSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// defaultMaxTokens is the limit of a request without one, since the API requires a limit. Every model
// allows it.
const defaultMaxTokens = 4096

func (p *Provider) encodeRequest(req llm.Request) ([]byte, error) {
	takes := p.family(req.Model)
	req = takes.Fit(req)
	w := wireRequest{
		Model: llm.CleanName(req.Model), MaxTokens: req.MaxOutputTokens, Stream: true,
		Stop: stops(req.Stop), ToolChoice: encodeToolChoice(req.ToolChoice),
	}
	if w.MaxTokens <= 0 {
		w.MaxTokens = defaultMaxTokens
	}
	takes.think(&w, &req)
	if takes.thinking > budgeted {
		w.Output.Effort = effort(req.Effort)
	}
	if req.Schema != nil {
		w.Output.Format = &wireFormat{Type: "json_schema", Schema: req.Schema}
	}
	if takes.Temperature && w.Thinking == nil {
		t := min(req.Temperature, 1) // the API's range ends at 1
		w.Temperature = &t
	}
	if len(req.Tools) == 0 {
		if req.Tools = called(req.Messages); len(req.Tools) > 0 {
			w.ToolChoice = &wireToolChoice{Type: "none"}
		}
	}
	for _, t := range req.Tools {
		schema := t.Parameters
		if schema == nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		w.Tools = append(w.Tools, wireTool{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	w.System, w.Messages = encodeMessages(&req)
	return upstream.Encode(w)
}

// called returns definitions of the tools that messages call. The API refuses calls of undefined tools.
func called(messages []llm.Message) (tools []llm.Tool) {
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == c.Name }) {
				tools = append(tools, llm.Tool{Name: c.Name})
			}
		}
	}
	return tools
}

func encodeToolChoice(choice string) *wireToolChoice {
	switch choice {
	case "":
		return nil
	case llm.ToolsNone:
		return &wireToolChoice{Type: "none"}
	case llm.ToolsRequired:
		return &wireToolChoice{Type: "any"}
	}
	return &wireToolChoice{Type: "tool", Name: choice}
}

// stops removes texts of white space only, which the API refuses.
func stops(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// effort maps an effort to the API's levels: low, medium, high and more.
func effort(e string) string {
	if e == "minimal" {
		return "low"
	}
	return e
}

// encodeMessages separates the system messages, and joins messages of the same role: the results of all
// tools that one message called must be in one message.
func encodeMessages(req *llm.Request) (system string, messages []wireMessage) {
	var instructions []string
	for _, m := range req.Messages {
		if m.Role == llm.System {
			instructions = append(instructions, m.Text())
			continue
		}
		role := "user"
		if m.Role == llm.Assistant {
			role = "assistant"
		}
		blocks := encodeBlocks(m, req.Model)
		if last := len(messages) - 1; last >= 0 && messages[last].Role == role {
			messages[last].Content = append(messages[last].Content, blocks...)
		} else if len(blocks) > 0 {
			messages = append(messages, wireMessage{Role: role, Content: blocks})
		}
	}
	return strings.Join(instructions, "\n\n"), messages
}

// encodeBlocks omits texts of white space only, which the API refuses. Thinking is in the place where
// the model put it; the first of it precedes everything else.
func encodeBlocks(m llm.Message, model string) (blocks []wireBlock) {
	if m.Role == llm.ToolRole {
		return []wireBlock{{Type: "tool_result", ToolUseID: m.ToolCallID, Content: m.Text()}}
	}
	if len(m.ToolCalls) > 0 {
		blocks = thoughtsBefore(m.ToolCalls[0], model)
	}
	for _, p := range m.Parts {
		switch {
		case p.Image != "":
			blocks = append(blocks, wireBlock{Type: "image", Source: encodeImage(p.Image)})
		case strings.TrimSpace(p.Text) != "":
			blocks = append(blocks, wireBlock{Type: "text", Text: p.Text})
		}
	}
	for i, c := range m.ToolCalls {
		if i > 0 {
			blocks = append(blocks, thoughtsBefore(c, model)...)
		}
		blocks = append(blocks, wireBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: upstream.Object(c.Arguments, "{}")})
	}
	return blocks
}

func encodeImage(image string) *wireSource {
	if kind, data, ok := upstream.DataURI(image); ok {
		return &wireSource{Type: "base64", MediaType: kind, Data: data}
	}
	return &wireSource{Type: "url", URL: image}
}

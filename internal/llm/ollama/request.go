package ollama

import (
	"encoding/json"
	"errors"
	"slices"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireRequest struct {
	Model    string          `json:"model"`
	Messages []wireMessage   `json:"messages"`
	Stream   bool            `json:"stream"`
	Tools    []wireTool      `json:"tools,omitempty"`
	Format   json.RawMessage `json:"format,omitempty"`
	Think    json.RawMessage `json:"think,omitempty"` // true, or a level
	Options  wireOptions     `json:"options"`
}

type wireOptions struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        float64  `json:"top_p,omitempty"`
	NumPredict  int      `json:"num_predict,omitempty"`
	NumCtx      int      `json:"num_ctx,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	Images    []string   `json:"images,omitempty"` // base64
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
	ToolName  string     `json:"tool_name,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id,omitempty"`
	Function wireCallBody `json:"function"`
}

type wireCallBody struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
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

func encodeRequest(req llm.Request, takes family) ([]byte, error) {
	req = takes.Fit(req)
	w := wireRequest{
		Model:   llm.CleanName(req.Model),
		Stream:  true,
		Format:  req.Schema,
		Think:   takes.think(req.Effort),
		Options: wireOptions{TopP: req.TopP, NumPredict: req.MaxOutputTokens, NumCtx: takes.window(), Stop: req.Stop},
	}
	if takes.Temperature {
		w.Options.Temperature = &req.Temperature
	}
	if takes.Effort && req.MaxOutputTokens > 0 { // thinking counts towards the limit
		w.Options.NumPredict += llm.ReasoningRoom(req.Effort)
	}
	req.Tools = chosen(req.Tools, req.ToolChoice)
	for _, t := range req.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: wireFunction(t)})
	}
	names := map[string]string{} // names of tools, by call id
	for _, m := range req.Messages {
		message, err := encodeMessage(m, names)
		if err != nil {
			return nil, err
		}
		w.Messages = append(w.Messages, message)
	}
	return upstream.Encode(w)
}

// chosen returns the tools to offer. Ollama has no other way to choose tools.
func chosen(tools []llm.Tool, choice string) []llm.Tool {
	switch choice {
	case "", llm.ToolsRequired:
		return tools
	case llm.ToolsNone:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.Tool) bool { return t.Name != choice })
}

func encodeMessage(m llm.Message, names map[string]string) (wireMessage, error) {
	w := wireMessage{Role: string(m.Role), Content: m.Text()}
	if m.Role == llm.ToolRole {
		w.ToolName = names[m.ToolCallID]
	}
	for _, p := range m.Parts {
		if p.Image == "" {
			continue
		}
		_, data, ok := upstream.DataURI(p.Image)
		if !ok {
			return w, errors.New("images for Ollama have to be data: URIs in base64")
		}
		w.Images = append(w.Images, data)
	}
	for _, c := range m.ToolCalls {
		names[c.ID] = c.Name
		w.ToolCalls = append(w.ToolCalls, wireCall{Function: wireCallBody{Name: c.Name, Arguments: upstream.Object(c.Arguments, "{}")}})
	}
	return w, nil
}

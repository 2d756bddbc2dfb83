package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

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
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p,omitempty"`
	NumPredict  int     `json:"num_predict,omitempty"`
	NumCtx      int     `json:"num_ctx,omitempty"`
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

// thinking lists the families of models that can be told to think; others refuse to be told.
// https://docs.ollama.com/capabilities/thinking
var thinking = []struct {
	family string
	levels bool // low, medium and high rather than true
}{{"gpt-oss", true}, {"qwen3", false}, {"deepseek-r1", false}, {"deepseek-v3.1", false}, {"magistral", false}}

func encodeRequest(req llm.Request, context int) ([]byte, error) {
	w := wireRequest{
		Model:  llm.CleanName(req.Model),
		Stream: true,
		Format: req.Schema,
		Think:  think(req.Model, req.Effort),
		Options: wireOptions{
			Temperature: req.Temperature, TopP: req.TopP, NumPredict: req.MaxOutputTokens, NumCtx: context,
		},
	}
	for _, t := range req.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: wireFunction(t)})
	}
	names := map[string]string{} // of tools, by the id of a call
	for _, m := range req.Messages {
		message, err := encodeMessage(m, names)
		if err != nil {
			return nil, err
		}
		w.Messages = append(w.Messages, message)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(w)
	return b.Bytes(), err
}

// think returns nil where nothing is to be said: the model does not think, or does as it likes.
func think(model, effort string) json.RawMessage {
	if effort == "" {
		return nil
	}
	if slash := strings.LastIndexByte(model, '/'); slash >= 0 {
		model = model[slash+1:]
	}
	for _, t := range thinking {
		switch {
		case !strings.HasPrefix(model, t.family):
		case !t.levels:
			return json.RawMessage("true")
		case effort == "minimal":
			return json.RawMessage(`"low"`)
		default:
			return json.RawMessage(`"` + effort + `"`)
		}
	}
	return nil
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
		w.ToolCalls = append(w.ToolCalls, wireCall{Function: wireCallBody{Name: c.Name, Arguments: object(c.Arguments)}})
	}
	return w, nil
}

// object returns arguments if they are a JSON object, which they have to be, else an empty one.
func object(arguments string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &o) != nil || o == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(arguments)
}

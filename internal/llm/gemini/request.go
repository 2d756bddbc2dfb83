package gemini

import (
	"encoding/base64"
	"encoding/json"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireRequest struct {
	System     *wireContent  `json:"systemInstruction,omitempty"`
	Contents   []wireContent `json:"contents"`
	Tools      []wireTools   `json:"tools,omitempty"`
	ToolConfig *wireToolConf `json:"toolConfig,omitempty"`
	Config     wireConfig    `json:"generationConfig"`
}

type wireToolConf struct {
	Calling wireCalling `json:"functionCallingConfig"`
}

type wireCalling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

type wireConfig struct {
	Temperature        *float64        `json:"temperature,omitempty"`
	TopP               float64         `json:"topP,omitempty"`
	MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
	Stop               []string        `json:"stopSequences,omitempty"`
	ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
	Thinking           *wireThinking   `json:"thinkingConfig,omitempty"`
}

type wireThinking struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	Budget          int    `json:"thinkingBudget,omitempty"` // tokens; Gemini 2.5
	Level           string `json:"thinkingLevel,omitempty"`  // Gemini 3 and later
}

type wireTools struct {
	Functions []wireFunction `json:"functionDeclarations"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type wireContent struct {
	Role  string     `json:"role,omitempty"`
	Parts []wirePart `json:"parts"`
}

type wirePart struct {
	Text             string            `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
	InlineData       *wireBlob         `json:"inlineData,omitempty"`
	FileData         *wireFile         `json:"fileData,omitempty"`
	FunctionCall     *wireCall         `json:"functionCall,omitempty"`
	FunctionResponse *wireFunctionDone `json:"functionResponse,omitempty"`
}

type wireBlob struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

type wireFile struct {
	URI string `json:"fileUri"`
}

type wireCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type wireFunctionDone struct {
	Name     string     `json:"name"`
	Response wireResult `json:"response"`
}

type wireResult struct {
	Output string `json:"output"`
}

// skipSignature replaces the signature of a call that came back without one, which Gemini 3 would
// refuse. https://ai.google.dev/gemini-api/docs/thought-signatures (FAQ)
const skipSignature = "skip_thought_signature_validator"

func (p *Provider) encodeRequest(req llm.Request) ([]byte, error) {
	takes := p.family(req.Model)
	req = takes.Fit(req)
	w := wireRequest{ToolConfig: encodeToolChoice(req.ToolChoice), Config: wireConfig{
		TopP: req.TopP, MaxOutputTokens: req.MaxOutputTokens, Stop: req.Stop, Thinking: takes.thinking(req.Effort),
	}}
	if takes.Temperature {
		w.Config.Temperature = &req.Temperature
	}
	if takes.think && req.MaxOutputTokens > 0 {
		w.Config.MaxOutputTokens += llm.ReasoningRoom(req.Effort)
	}
	if req.Schema != nil && (len(req.Tools) == 0 || takes.both) {
		w.Config.ResponseMIMEType, w.Config.ResponseJSONSchema = "application/json", req.Schema
	}
	if len(req.Tools) > 0 {
		w.Tools = make([]wireTools, 1)
	}
	for _, t := range req.Tools {
		w.Tools[0].Functions = append(w.Tools[0].Functions, wireFunction(t))
	}
	w.System, w.Contents = encodeMessages(req.Messages)
	return upstream.Encode(w)
}

// thinking returns the settings of a model that thinks, including a request for its thoughts. It returns
// nil for other models, which refuse such settings.
func (f *family) thinking(effort string) *wireThinking {
	if !f.think {
		return nil
	}
	return &wireThinking{IncludeThoughts: true, Budget: f.budgets[effort], Level: f.levels[effort]}
}

func encodeToolChoice(choice string) *wireToolConf {
	switch choice {
	case "":
		return nil
	case llm.ToolsNone:
		return &wireToolConf{wireCalling{Mode: "NONE"}}
	case llm.ToolsRequired:
		return &wireToolConf{wireCalling{Mode: "ANY"}}
	}
	return &wireToolConf{wireCalling{Mode: "ANY", Allowed: []string{choice}}}
}

func encodeMessages(all []llm.Message) (system *wireContent, contents []wireContent) {
	names := map[string]string{} // names of tools, by call id
	for _, m := range all {
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
		}
		if m.Role == llm.System {
			if system == nil {
				system = &wireContent{}
			}
			system.Parts = append(system.Parts, wirePart{Text: m.Text()})
			continue
		}
		role := "user"
		if m.Role == llm.Assistant {
			role = "model"
		}
		parts := encodeParts(m, names)
		if last := len(contents) - 1; last >= 0 && contents[last].Role == role {
			contents[last].Parts = append(contents[last].Parts, parts...)
		} else if len(parts) > 0 {
			contents = append(contents, wireContent{Role: role, Parts: parts})
		}
	}
	return system, contents
}

func encodeParts(m llm.Message, names map[string]string) (parts []wirePart) {
	if m.Role == llm.ToolRole {
		done := &wireFunctionDone{Name: names[m.ToolCallID], Response: wireResult{Output: m.Text()}}
		return []wirePart{{FunctionResponse: done}}
	}
	for _, p := range m.Parts {
		switch {
		case p.Image != "":
			parts = append(parts, encodeImage(p.Image))
		case p.Text != "":
			parts = append(parts, wirePart{Text: p.Text})
		}
	}
	for i, c := range m.ToolCalls {
		part := wirePart{FunctionCall: &wireCall{Name: c.Name, Args: upstream.Object(c.Arguments, "")}, ThoughtSignature: c.Signature}
		if _, err := base64.StdEncoding.DecodeString(c.Signature); err != nil {
			part.ThoughtSignature = "" // it came from another provider
		}
		if i == 0 && part.ThoughtSignature == "" { // only the first of several calls has a signature
			part.ThoughtSignature = skipSignature
		}
		parts = append(parts, part)
	}
	return parts
}

func encodeImage(image string) wirePart {
	if kind, data, ok := upstream.DataURI(image); ok {
		return wirePart{InlineData: &wireBlob{MIMEType: kind, Data: data}}
	}
	return wirePart{FileData: &wireFile{URI: image}}
}

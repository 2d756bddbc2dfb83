package aisdk

import (
	"cmp"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// uiMessage is a message as pages store it. Older versions and hand-written clients send Content.
type uiMessage struct {
	ID      wire.Value `json:"id"`
	Role    wire.Value `json:"role"`
	Parts   wire.Value `json:"parts"`
	Content wire.Value `json:"content"`
}

// uiPart is the union of the parts that are read. Parts of other types are ignored. They include those that this
// server has added to its answers, such as sources, which pages send back.
type uiPart struct {
	Type      wire.Value `json:"type"`
	Text      wire.Value `json:"text"`
	URL       wire.Value `json:"url"`
	MediaType wire.Value `json:"mediaType"`
	Filename  wire.Value `json:"filename"`

	ToolName   wire.Value `json:"toolName"`
	ToolCallID wire.Value `json:"toolCallId"`
	State      wire.Value `json:"state"`
	Input      wire.Value `json:"input"`
	Output     wire.Value `json:"output"`
	ErrorText  wire.Value `json:"errorText"`
	OurOwn     wire.Value `json:"providerExecuted"`
	Provider   wire.Value `json:"callProviderMetadata"`
}

// messageOf reads a message. An assistant's message with tool calls becomes several: its text and calls, the
// results, and the text after them.
func (h *Handler) messageOf(v wire.Value, at wire.Element) (*messageBuilder, error) {
	var m uiMessage
	if !v.Read(&m) {
		return nil, wire.Invalidf(`"%v" must be an object`, at)
	}
	b := &messageBuilder{h: h}
	b.id, _ = m.ID.Text()
	name, _ := m.Role.Text()
	b.role = llm.Role(name)
	if b.role != llm.User && b.role != llm.Assistant && b.role != llm.System {
		return nil, wire.Invalidf(`"%v.role" must be "user", "assistant" or "system"`, at)
	}
	if said, ok := m.Content.Text(); ok && m.Parts == nil {
		b.list = []chat.Message{chat.TextMessage(b.role, said)}
		return b, nil
	}
	parts, ok := m.Parts.Elements()
	if !ok {
		return nil, wire.Invalidf(`"%v.parts" must be a list of parts`, at)
	}
	i := 0
	for v := range parts {
		if err := b.add(v, wire.At(at.String()+".parts", i)); err != nil {
			return nil, err
		}
		i++
	}
	b.flush()
	return b, nil
}

// messageBuilder converts the parts of a uiMessage to messages.
type messageBuilder struct {
	h       *Handler
	id      string
	role    llm.Role
	list    []chat.Message
	refused error // why the first file that is left out was refused
	open    chat.Message
	results []chat.Message
}

func (b *messageBuilder) add(v wire.Value, at wire.Element) error {
	var p uiPart
	if !v.Read(&p) {
		return wire.Invalidf(`"%v" must be an object`, at)
	}
	kind, ok := p.Type.Text()
	if !ok {
		return wire.Invalidf(`"%v.type" must be a string`, at)
	}
	tool, isTool := strings.CutPrefix(kind, "tool-")
	switch {
	case kind == "text":
		said, ok := p.Text.Text()
		if !ok {
			return wire.Invalidf(`"%v.text" must be a string`, at)
		}
		if len(b.results) > 0 {
			b.flush()
		}
		b.say(said)
	case kind == "file" && b.role == llm.User:
		if err := b.file(&p, at); err != nil {
			b.refused = cmp.Or(b.refused, err)
		}
	case kind == "step-start":
		b.flush()
	case b.role == llm.Assistant && kind == "dynamic-tool":
		name, ok := p.ToolName.Text()
		if !ok {
			return wire.Invalidf(`"%v.toolName" must be a string`, at)
		}
		return b.call(name, &p, at)
	case b.role == llm.Assistant && isTool:
		return b.call(tool, &p, at)
	}
	return nil
}

// say adds a text. Each begins a new line, since the texts of a question are joined.
func (b *messageBuilder) say(said string) {
	if b.open.Text() != "" {
		said = "\n" + said
	}
	b.open.Parts = append(b.open.Parts, llm.Part{Text: said})
}

// file adds an image, which the model sees, or a document, which the server reads (Config.Give).
func (b *messageBuilder) file(p *uiPart, at wire.Element) error {
	param := at.String()
	url, ok := p.URL.Text()
	if !ok {
		return wire.Invalidf(`"%s.url" must be a string`, param)
	}
	media, err := wire.OptionalText(p.MediaType, param+".mediaType")
	if err != nil {
		return err
	}
	name, err := wire.OptionalText(p.Filename, param+".filename")
	if err != nil {
		return err
	}
	if top, _, _ := strings.Cut(cmp.Or(media, strings.TrimPrefix(url, "data:")), "/"); strings.EqualFold(top, "image") {
		if err := openai.CheckImage(url, b.h.cfg.Vision, param, param+".url"); err != nil {
			return err
		}
		b.open.Parts = append(b.open.Parts, llm.Part{Image: url})
		return nil
	}
	if b.h.cfg.Give == nil {
		return wire.Invalidf(`"%s" is a file of the type %q: only images are accepted here; upload documents instead`, param, media)
	}
	f, err := openai.FileOfURL(url, media, name, param, param+".url")
	if err != nil {
		return err
	}
	b.open.Files = append(b.open.Files, f)
	return nil
}

// call adds a call of one of the client's tools with its result. It ignores calls that the server has run itself,
// and calls without a result, which the client has abandoned.
func (b *messageBuilder) call(name string, p *uiPart, at wire.Element) error {
	id, ok := p.ToolCallID.Text()
	if !ok || id == "" || name == "" {
		return wire.Invalidf(`"%v" must be the call of a tool, with its name and "toolCallId"`, at)
	}
	if own, _ := p.OurOwn.Bool(); own {
		return nil
	}
	result := chat.Message{Role: llm.ToolRole, ToolCallID: id}
	switch state, _ := p.State.Text(); state {
	case "output-available":
		result.Parts = []llm.Part{{Text: textOf(p.Output)}}
	case "output-error":
		result.Parts = []llm.Part{{Text: "Error: " + textOf(p.ErrorText)}}
	case "output-denied":
		result.Parts = []llm.Part{{Text: "The user did not allow this call."}}
	default:
		return nil
	}
	arguments := "{}"
	if _, ok := p.Input.Object(); ok {
		arguments = string(p.Input.Compact())
	}
	b.open.ToolCalls = append(b.open.ToolCalls, llm.ToolCall{ID: id, Name: name, Arguments: arguments, Signature: openai.SignatureOf(p.Provider)})
	b.results = append(b.results, result)
	return nil
}

// textOf returns a result as the model reads it: a string unchanged, anything else as JSON.
func textOf(v wire.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	if v == nil {
		return ""
	}
	return string(v.Compact())
}

// flush ends the open message, and adds it and the results of its calls to the list.
func (b *messageBuilder) flush() {
	if b.open.Parts == nil && b.open.ToolCalls == nil && b.open.Files == nil {
		return
	}
	b.open.Role = b.role
	b.list = append(append(b.list, b.open), b.results...)
	b.open, b.results = chat.Message{}, nil
}

// maxTools is the maximum number of tools in a request.
const maxTools = 128

// toolsOf reads the tools that the page runs, as assistant-ui sends them: {name: {description, parameters}}.
func toolsOf(v wire.Value) ([]llm.Tool, error) {
	if !v.IsGiven() {
		return nil, nil
	}
	object, ok := v.Object()
	if !ok {
		return nil, wire.Invalidf(`"tools" must be an object of tools by their names`)
	}
	var tools []llm.Tool
	for name, v := range object.Members() {
		var w struct {
			Description wire.Value `json:"description"`
			Parameters  wire.Value `json:"parameters"`
		}
		if !v.Read(&w) || len(tools) == maxTools {
			return nil, wire.Invalidf(`"tools" must hold objects, %d at most`, maxTools)
		}
		tool := llm.Tool{Name: name}
		var err error
		if tool.Description, err = wire.OptionalText(w.Description, "tools."+name+".description"); err != nil {
			return nil, err
		}
		if w.Parameters.IsGiven() {
			if _, ok := w.Parameters.Object(); !ok {
				return nil, wire.Invalidf(`"tools.%s.parameters" must be an object`, name)
			}
			tool.Parameters = w.Parameters.Compact()
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func toolChoiceOf(v wire.Value) (string, error) {
	switch choice, err := wire.OptionalText(v, "toolChoice"); choice {
	case "", "auto":
		return "", err
	case llm.ToolsNone, llm.ToolsRequired:
		return choice, nil
	}
	return "", wire.Invalidf(`"toolChoice" must be "auto", "none" or "required"`)
}

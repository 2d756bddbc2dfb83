package agui

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// uiMessage is a message of a thread.
type uiMessage struct {
	Role       wire.Value `json:"role"`
	Content    wire.Value `json:"content"`
	ToolCalls  wire.Value `json:"toolCalls"`
	ToolCallID wire.Value `json:"toolCallId"`
	Error      wire.Value `json:"error"`
}

// messagesOf reads a thread. It keeps calls and results only of the page's own tools, since the server has run the
// other calls itself. It leaves out activities and reasoning, which are not for the model.
func (h *Handler) messagesOf(v wire.Value, tools []llm.Tool) ([]chat.Message, error) {
	elements, ok := v.Elements()
	if !ok {
		return nil, wire.Invalidf(`"messages" must be a list of messages`)
	}
	count, ok := wire.AtMost(h.cfg.MaxMessages, elements)
	if !ok {
		return nil, wire.Invalidf(`"messages" may hold %d messages at most`, h.cfg.MaxMessages)
	}
	list, called := make([]chat.Message, 0, count), map[string]bool{}
	question, i := "", 0
	for v := range elements {
		m, ok, err := h.messageOf(v, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		i++
		m.ToolCalls = slices.DeleteFunc(m.ToolCalls, func(c llm.ToolCall) bool {
			return !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == c.Name })
		})
		for _, c := range m.ToolCalls {
			called[c.ID] = true
		}
		empty := m.Role == llm.Assistant && m.Text() == "" && len(m.ToolCalls) == 0
		if !ok || empty || m.Role == llm.ToolRole && !called[m.ToolCallID] {
			continue
		}
		if m.Role == llm.User {
			question = m.Text()
		}
		if last := len(list) - 1; last >= 0 && m.Role == llm.Assistant && len(list[last].ToolCalls) > 0 {
			// Some clients keep each call in a separate message.
			list[last].Parts = append(list[last].Parts, m.Parts...)
			list[last].ToolCalls = append(list[last].ToolCalls, m.ToolCalls...)
			continue
		}
		list = append(list, m)
	}
	if strings.TrimSpace(question) == "" {
		return nil, wire.Invalidf(`"messages" has no question: the last message with the role "user" is missing or has no text`)
	}
	return list, nil
}

// messageOf reads one message; ok is false if it is not for the model.
func (h *Handler) messageOf(v wire.Value, at string) (m chat.Message, ok bool, err error) {
	var w uiMessage
	if !v.Read(&w) {
		return m, false, wire.Invalidf("%q must be an object", at)
	}
	switch name, _ := w.Role.Text(); name {
	case "user":
		m.Role = llm.User
	case "assistant":
		m.Role = llm.Assistant
		if m.ToolCalls, err = callsOf(w.ToolCalls, at); err != nil {
			return m, false, err
		}
	case "system", "developer":
		m.Role = llm.System
	case "tool":
		m.Role = llm.ToolRole
		if m.ToolCallID, err = wire.OptionalText(w.ToolCallID, at+".toolCallId"); err != nil {
			return m, false, err
		}
	case "activity", "reasoning":
		return m, false, nil
	default:
		return m, false, wire.Invalidf(`"%s.role" must be "user", "assistant", "system", "developer", "tool", "activity" or "reasoning"`, at)
	}
	if !w.Content.IsGiven() && m.Role == llm.Assistant {
		return m, true, nil
	}
	if m.Parts, err = h.contentOf(w.Content, m.Role, at+".content"); err != nil {
		return m, false, err
	}
	if failed, _ := w.Error.Text(); failed != "" {
		m.Parts = append(m.Parts, llm.Part{Text: "\nError: " + failed})
	}
	return m, true, nil
}

// contentOf reads a message's content, which is a string or a list of parts. Each text after the first begins a new line.
func (h *Handler) contentOf(v wire.Value, role llm.Role, at string) ([]llm.Part, error) {
	if said, ok := v.Text(); ok {
		return []llm.Part{{Text: said}}, nil
	}
	elements, ok := v.Elements()
	if !ok {
		return nil, wire.Invalidf("%q must be a string or a list of parts", at)
	}
	var parts []llm.Part
	i, said := 0, false
	for v := range elements {
		p, err := h.partOf(v, role, fmt.Sprintf("%s[%d]", at, i))
		if err != nil {
			return nil, err
		}
		if said && p.Image == "" {
			p.Text = "\n" + p.Text
		}
		said = said || p.Image == ""
		parts = append(parts, p)
		i++
	}
	return parts, nil
}

// uiPart is the union of the supported parts: text, image, and binary, which is the form of images before version 1.0.
type uiPart struct {
	Type   wire.Value `json:"type"`
	Text   wire.Value `json:"text"`
	Source wire.Value `json:"source"`
	Mime   wire.Value `json:"mimeType"`
	Data   wire.Value `json:"data"`
	URL    wire.Value `json:"url"`
}

func (h *Handler) partOf(v wire.Value, role llm.Role, at string) (llm.Part, error) {
	var p uiPart
	if !v.Read(&p) {
		return llm.Part{}, wire.Invalidf("%q must be an object", at)
	}
	kind, _ := p.Type.Text()
	switch {
	case kind == "text":
		said, ok := p.Text.Text()
		if !ok {
			return llm.Part{}, wire.Invalidf(`"%s.text" must be a string`, at)
		}
		return llm.Part{Text: said}, nil
	case kind == "image" && role == llm.User:
		var source struct {
			Value wire.Value `json:"value"`
			Mime  wire.Value `json:"mimeType"`
			Type  wire.Value `json:"type"`
		}
		p.Source.Read(&source)
		if name, _ := source.Type.Text(); name != "data" {
			p.URL = source.Value
		} else {
			p.Data, p.Mime = source.Value, source.Mime
		}
		return h.image(&p, at)
	case kind == "binary" && role == llm.User:
		return h.image(&p, at)
	}
	return llm.Part{}, wire.Invalidf(`"%s.type" must be "text", or "image" in a user message; upload documents instead`, at)
}

func (h *Handler) image(p *uiPart, at string) (llm.Part, error) {
	url, _ := p.URL.Text()
	if data, ok := p.Data.Text(); ok && data != "" {
		mime, _ := p.Mime.Text()
		url = "data:" + mime + ";base64," + data
	}
	return llm.Part{Image: url}, openai.CheckImage(url, h.cfg.Vision, at, at)
}

// callsOf reads the tool calls of a message.
func callsOf(v wire.Value, at string) ([]llm.ToolCall, error) {
	elements, ok := v.Elements()
	if !ok && v.IsGiven() {
		return nil, wire.Invalidf(`"%s.toolCalls" must be a list of calls`, at)
	}
	var calls []llm.ToolCall
	for v := range elements {
		c, ok := openai.CallOf(v)
		if !ok {
			return nil, wire.Invalidf(`"%s.toolCalls[%d]" must be the call of a function, with "id" and "function" {"name", "arguments"}`, at, len(calls))
		}
		call, _ := v.Object()
		value, _ := call.Get("encryptedValue")
		c.Signature, _ = value.Text()
		calls = append(calls, c)
	}
	return calls, nil
}

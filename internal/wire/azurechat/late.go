package azurechat

import (
	"encoding/json"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// lateTop is the default of "top" in the later samples.
const lateTop = 5

// isLate recognises a client of the samples since April 2026 by members that no document describes. It may also be
// a client of samples since August 2025, which have the same settings but still read 2024-05-29.
func isLate(b body, settings wire.Object) bool {
	if b.Messages == nil && b.Input != nil {
		return true
	}
	v, _ := settings.Get("send_text_sources")
	_, isBool := v.Bool()
	return isBool
}

// knowsLater reports whether the client has the settings of the later samples.
func (x *exchange) knowsLater() bool { return x.late || x.form.Version == VLate }

// optionsOf returns the defaults, overridden by the settings of a request.
func (h *Handler) optionsOf(x *exchange, settings wire.Object, at string) (chat.Options, error) {
	defaults := h.cfg.Defaults
	if x.knowsLater() {
		defaults.Top = lateTop
	}
	return overlay(defaults, settings, at, h.cfg.Vision, x.knowsLater())
}

// inputOf reads "input": a question, or a list of messages, the content of each being a string or a list of parts.
// most limits the number of messages.
func inputOf(v wire.Value, most int) ([]chat.Message, error) {
	if question, ok := v.Text(); ok {
		if strings.TrimSpace(question) == "" {
			return nil, wire.Invalidf(`"input" is empty`)
		}
		return []chat.Message{chat.TextMessage(llm.User, question)}, nil
	}
	elements, ok := v.Elements()
	if !ok {
		return nil, wire.Invalidf(`"input" must be a question, or a list of messages, each with "role" and "content"`)
	}
	return wire.MessagesIn(elements, "input", most, inputMessageOf)
}

func inputMessageOf(v wire.Value, at wire.Element) (m chat.Message, ok bool, err error) {
	var w struct {
		Type    wire.Value `json:"type"`
		Role    wire.Value `json:"role"`
		Content wire.Value `json:"content"`
	}
	if !v.Read(&w) {
		return m, false, wire.Invalidf("%q must be an object", at)
	}
	if kind, _ := w.Type.Text(); w.Type != nil && kind != "message" {
		return m, false, wire.Invalidf(`"%s.type" must be "message"`, at)
	}
	role, err := roleOf(w.Role, at)
	if err != nil {
		return m, false, err
	}
	if text, ok := w.Content.Text(); ok {
		return chat.TextMessage(role, text), true, nil
	}
	text, ok := textOfParts(w.Content)
	if !ok {
		return m, false, wire.Invalidf(`"%s.content" must be a string, or a list of parts, each with the type "input_text" or "output_text" and "text"`, at)
	}
	return chat.TextMessage(role, text), true, nil
}

// textOfParts returns the concatenated texts of a list of parts, or false if it is not one.
func textOfParts(v wire.Value) (string, bool) {
	parts, ok := v.Elements()
	if !ok {
		return "", false
	}
	var joined strings.Builder
	for v := range parts {
		var part struct {
			Type wire.Value `json:"type"`
			Text wire.Value `json:"text"`
		}
		if !v.Read(&part) {
			return "", false
		}
		kind, _ := part.Type.Text()
		text, ok := part.Text.Text()
		if !ok || kind != "input_text" && kind != "output_text" {
			return "", false
		}
		joined.WriteString(text)
	}
	return joined.String(), true
}

// laterSettings are the settings that only the later samples have. Each function returns "", or a description of the
// valid values.
var laterSettings = map[string]func(o *overrides, v wire.Value) string{
	"reasoning_effort":           func(o *overrides, v wire.Value) string { return wire.Effort.Set(&o.Options, v) },
	"send_text_sources":          func(o *overrides, v wire.Value) string { return setFlag(&o.texts, v) },
	"send_image_sources":         func(o *overrides, v wire.Value) string { return tighten(&o.vision, v) },
	"search_text_embeddings":     func(o *overrides, v wire.Value) string { return setFlag(&o.textVectors, v) },
	"search_image_embeddings":    ignoredFlag, // no images are embedded
	"query_rewriting":            ignoredFlag, // done by Azure's search service
	"language":                   ignoredText, // answers are in the language of the question
	"retrieval_reasoning_effort": retrievalEffort,
	"use_advanced_flow":          advancedFlow,
	"use_agentic_knowledgebase":  refused("this server has no agentic retrieval"),
	"use_web_source":             refused("this server does not search the web for this protocol"),
	"use_sharepoint_source":      refused("this server has no SharePoint source"),
}

func ignoredFlag(_ *overrides, v wire.Value) string {
	var on bool
	return setFlag(&on, v)
}

func ignoredText(_ *overrides, v wire.Value) string {
	if _, ok := v.Text(); !ok {
		return "a string"
	}
	return ""
}

// retrievalEffort checks a setting of agentic retrieval. It has no effect, because the server has no agentic retrieval.
func retrievalEffort(_ *overrides, v wire.Value) string {
	switch name, _ := v.Text(); name {
	case "minimal", "low", "medium":
		return ""
	}
	return `"minimal", "low" or "medium"`
}

// advancedFlow reads the setting of rag-postgres-openai-python for rewriting follow-up questions. It can only switch it off.
func advancedFlow(o *overrides, v wire.Value) string {
	on := true
	want := setFlag(&on, v)
	o.Rewrite.Off = o.Rewrite.Off || !on
	return want
}

// refused returns a function that accepts only false. reason says why the server cannot do what true asks for.
func refused(reason string) func(*overrides, wire.Value) string {
	return func(_ *overrides, v wire.Value) string {
		if on, ok := v.Bool(); !ok || on {
			return "false: " + reason
		}
		return ""
	}
}

// formatLate is the format of the later samples: lines have a type, "delta" is a string, and a whole answer is in
// "output_text". If both is set, the client may be of either era, so each line is also one that the earlier samples
// read or ignore.
type formatLate struct {
	early format0529
	both  bool
}

const (
	contextLine = `{"type":"response.context",`
	textLine    = `{"type":"response.output_text.delta","delta":`
)

// context appends the beginning of a line with a context. Earlier samples expect a role beside it.
func (f *formatLate) context(dst []byte, context json.RawMessage) []byte {
	dst = append(dst, contextLine...)
	if f.both {
		dst = append(dst, roleDelta+`},`...)
	}
	return append(append(dst, `"context":`...), context...)
}

func (f *formatLate) first(dst []byte, context json.RawMessage, _ string) []byte {
	return append(f.early.state.append(f.context(dst, context)), '}')
}

// started appends nothing, because no client reads that line.
func (f *formatLate) started(dst []byte, _ chat.CompletionStarted) []byte { return dst }

func (f *formatLate) delta(dst []byte, text string, _ *llm.Vendor) []byte {
	return append(wire.AppendString(append(dst, textLine...), text), '}')
}

func (f *formatLate) last(dst []byte, _ chat.MessageFinished, context json.RawMessage) []byte {
	if context == nil {
		return dst
	}
	return append(f.context(dst, context), '}')
}

func (f *formatLate) reply(dst []byte, m chat.MessageFinished, text string, context json.RawMessage, requested string) []byte {
	dst = append(wire.AppendString(append(dst, `{"output_text":`...), text), ',')
	if f.both {
		from := len(dst)
		dst = f.early.reply(dst, m, text, context, requested)
		return append(dst[:from], dst[from+1:]...) // without its opening brace
	}
	dst = append(append(dst, `"context":`...), context...)
	return append(f.early.state.append(dst), '}')
}

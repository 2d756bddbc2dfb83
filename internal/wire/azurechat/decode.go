package azurechat

import (
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// body is the body of a request in any version. A nil Value means that the member is missing.
type body struct {
	Messages     wire.Value `json:"messages"`
	Input        wire.Value `json:"input"` // the messages, in later samples
	Context      wire.Value `json:"context"`
	Stream       wire.Value `json:"stream"` // 2024-01-28
	SessionState wire.Value `json:"session_state"`
	SDKState     wire.Value `json:"sessionState"` // the SDK's name for it
}

// requestContext is the member "context".
type requestContext struct {
	Overrides wire.Value `json:"overrides"`
	Approach  wire.Value `json:"approach"` // sent by the web component
}

// message is one element of "messages".
type message struct {
	Role    wire.Value `json:"role"`
	Content wire.Value `json:"content"`
}

// decode fills x from a request. It first reads the parts that determine the shape of errors, so that
// the client can read an error about any other part.
func (h *Handler) decode(r *wire.Request, x *exchange, files []file) error {
	x.req.Principal = r.Who
	object, err := r.Object()
	if err != nil {
		return err
	}
	var b body
	object.Read(&b)
	settings, at, err := settingsOf(x, b.Context)
	if err != nil {
		return err
	}
	if x.streamed, err = wantsStream(r, x.form, b.Stream); err != nil {
		return err
	}
	x.late = x.form.Sniffs && !x.webComponent && isLate(b, settings)
	if b.Messages == nil && b.Input != nil && (x.late || x.form.Version == VLate) {
		x.req.Messages, err = inputOf(b.Input, h.cfg.MaxMessages)
	} else {
		x.req.Messages, err = wire.Messages(b.Messages, h.cfg.MaxMessages, messageOf)
	}
	if err != nil {
		return err
	}
	if err := h.attach(x.req.Messages, files); err != nil {
		return err
	}
	if x.req.Options, err = h.optionsOf(x, settings, at); err != nil {
		return err
	}
	x.req.Namespace = h.cfg.Namespace
	x.state = stateOf(x.form, b)
	if x.form.SDK {
		return h.continueConversation(r.Context(), x)
	}
	if h.cfg.History {
		h.nameChat(x, b)
	}
	return nil
}

// settingsOf returns the object that contains the settings, and its path for error messages. It
// recognises the web component, whose settings are members of "context" itself, next to "approach".
func settingsOf(x *exchange, v wire.Value) (settings wire.Object, at string, err error) {
	const inContext, inOverrides = "context", "context.overrides"
	if !v.IsGiven() {
		return wire.Object{}, inContext, nil
	}
	context, ok := v.Object()
	if !ok {
		return wire.Object{}, "", wire.Invalidf(`"context" must be an object`)
	}
	var c requestContext
	context.Read(&c)
	if _, named := c.Approach.Text(); named && c.Overrides == nil && x.form.Version == V0128 {
		x.webComponent = true
		return context, inContext, nil
	}
	if !c.Overrides.IsGiven() {
		return wire.Object{}, inOverrides, nil
	}
	settings, ok = c.Overrides.Object()
	if !ok {
		return wire.Object{}, "", wire.Invalidf(`"context.overrides" must be an object`)
	}
	return settings, inOverrides, nil
}

func wantsStream(r *wire.Request, form Form, v wire.Value) (bool, error) {
	if form.Version != V0128 {
		return form.Stream == StreamAlways, nil
	}
	asked, ok := v.Bool()
	if !ok && v.IsGiven() {
		return false, wire.Invalidf(`"stream" must be true or false`)
	}
	if v == nil {
		asked = r.URL.Query().Get("stream") == "true"
	}
	return form.Stream == StreamAlways || form.Stream == StreamByBody && asked, nil
}

func messageOf(v wire.Value, at wire.Element) (m chat.Message, ok bool, err error) {
	var w message
	if !v.Read(&w) {
		return m, false, wire.Invalidf("%q must be an object", at)
	}
	role, err := roleOf(w.Role, at)
	if err != nil {
		return m, false, err
	}
	text, ok := w.Content.Text()
	if !ok {
		return m, false, wire.Invalidf(`"%s.content" must be a string`, at)
	}
	return chat.TextMessage(role, text), true, nil
}

func roleOf(v wire.Value, at wire.Element) (llm.Role, error) {
	name, _ := v.Text()
	switch role := llm.Role(name); role {
	case llm.User, llm.Assistant, llm.System:
		return role, nil
	}
	return "", wire.Invalidf(`"%s.role" must be "user", "assistant" or "system"`, at)
}

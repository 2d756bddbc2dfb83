package azurechat

import (
	"fmt"
	"iter"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// body is a request's members that matter; a nil Value was not sent.
type body struct {
	messages, context, stream   wire.Value
	sessionState, sessionStateC wire.Value // session_state and the SDK's sessionState
}

// decode fills x from a request. What the shape of an error depends on comes first, so that
// even a refusal has the shape that the client reads.
func (h *Handler) decode(r *wire.Request, x *exchange, files []file) error {
	x.req.Principal = r.Who
	object, err := r.Object()
	if err != nil {
		return err
	}
	b := membersOf(object)
	settings, at, err := settingsOf(x, b.context)
	if err != nil {
		return err
	}
	if x.streamed, err = wantsStream(r, x.form, b.stream); err != nil {
		return err
	}
	if x.req.Messages, err = messagesOf(b.messages, h.cfg.MaxMessages); err != nil {
		return err
	}
	if err := h.attach(x.req.Messages, files); err != nil {
		return err
	}
	if x.req.Options, err = overlay(h.cfg.Defaults, settings, at, h.cfg.Vision); err != nil {
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

func membersOf(object wire.Object) body {
	var b body
	for key, v := range object.Members() {
		switch key {
		case "messages":
			b.messages = v
		case "context":
			b.context = v
		case "stream":
			b.stream = v
		case "session_state":
			b.sessionState = v
		case "sessionState":
			b.sessionStateC = v
		}
	}
	return b
}

// settingsOf returns the object that holds the settings, and its path for error messages. It
// recognises the web component, which has its settings flat in context beside "approach".
func settingsOf(x *exchange, v wire.Value) (settings wire.Object, at string, err error) {
	const inContext, inOverrides = "context", "context.overrides"
	if v == nil || v.IsNull() {
		return wire.Object{}, inContext, nil
	}
	context, ok := v.Object()
	if !ok {
		return wire.Object{}, "", wire.Invalidf(`"context" must be an object`)
	}
	overrides, sent := context.Get("overrides")
	approach, _ := context.Get("approach")
	if _, named := approach.Text(); named && !sent && x.form.Version == V0128 {
		x.webComponent = true
		return context, inContext, nil
	}
	if !sent || overrides.IsNull() {
		return wire.Object{}, inOverrides, nil
	}
	settings, ok = overrides.Object()
	if !ok {
		return wire.Object{}, "", wire.Invalidf(`"context.overrides" must be an object`)
	}
	return settings, inOverrides, nil
}

func wantsStream(r *wire.Request, form Form, v wire.Value) (bool, error) {
	if form.Version == V0529 {
		return form.Stream == StreamAlways, nil
	}
	asked, ok := v.Bool()
	if !ok && v != nil && !v.IsNull() {
		return false, wire.Invalidf(`"stream" must be true or false`)
	}
	if v == nil {
		asked = r.URL.Query().Get("stream") == "true"
	}
	return form.Stream == StreamAlways || form.Stream == StreamByBody && asked, nil
}

func messagesOf(v wire.Value, most int) ([]chat.Message, error) {
	elements, ok := v.Elements()
	if !ok {
		return nil, wire.Invalidf(`"messages" must be a list of messages, each with "role" and "content"`)
	}
	count, ok := wire.AtMost(most, elements)
	if !ok {
		return nil, wire.Invalidf(`"messages" may hold %d messages at most`, most)
	}
	return readMessages(elements, count)
}

func readMessages(elements iter.Seq[wire.Value], count int) ([]chat.Message, error) {
	messages := make([]chat.Message, 0, count)
	question := ""
	for v := range elements {
		m, err := messageOf(v, fmt.Sprintf("messages[%d]", len(messages)))
		if err != nil {
			return nil, err
		}
		if m.Role == llm.User {
			question = m.Text()
		}
		messages = append(messages, m)
	}
	if strings.TrimSpace(question) == "" {
		return nil, wire.Invalidf(`"messages" has no question: the last message with the role "user" is missing or empty`)
	}
	return messages, nil
}

func messageOf(v wire.Value, at string) (chat.Message, error) {
	object, ok := v.Object()
	if !ok {
		return chat.Message{}, wire.Invalidf("%q must be an object", at)
	}
	var role, content wire.Value
	for key, v := range object.Members() {
		switch key {
		case "role":
			role = v
		case "content":
			content = v
		}
	}
	name, _ := role.Text()
	switch llm.Role(name) {
	case llm.User, llm.Assistant, llm.System:
	default:
		return chat.Message{}, wire.Invalidf(`"%s.role" must be "user", "assistant" or "system"`, at)
	}
	text, ok := content.Text()
	if !ok {
		return chat.Message{}, wire.Invalidf(`"%s.content" must be a string`, at)
	}
	return chat.TextMessage(llm.Role(name), text), nil
}

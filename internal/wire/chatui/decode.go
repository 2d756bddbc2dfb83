package chatui

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// format is the shape of a reply that is not streamed.
type format string

// The formats. For a multi-agent reply, full and minimal are the same.
const (
	full     format = "full"     // a message, and "messages" beside its fields; or an array of messages
	minimal  format = "minimal"  // an array of messages
	messages format = "messages" // an object that holds such an array; multi-agent only
)

const maxConversationID = 256 // bytes

// exchange returns the exchange for a request before its body is decoded.
func (h *Handler) exchange(r *wire.Request, form Form) *exchange {
	x := &exchange{
		team: form.Team, base: wire.BaseURL(r.Request, h.cfg.PublicURL, false), conversation: h.cfg.NewID(),
		streamed: form.Stream == Always || form.Stream == ByAccept && wantsEvents(r.Header),
	}
	x.req.Team, x.req.Namespace, x.req.Principal, x.req.Options = form.Team, h.cfg.Namespace, r.Who, h.cfg.Defaults
	return x
}

// body is the body of a request for an answer. A nil Value means that the member is missing.
type body struct {
	ConversationID wire.Value `json:"conversationId"`
	Messages       wire.Value `json:"messages"`
}

// bodyMessage is one element of "messages".
type bodyMessage struct {
	Role    wire.Value `json:"role"`
	Content wire.Value `json:"content"`
}

// decode fills x from a request.
func (h *Handler) decode(r *wire.Request, x *exchange) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	if err := h.readQuery(x, r); err != nil {
		return err
	}
	var b body
	object.Read(&b)
	if b.ConversationID.IsGiven() {
		id, ok := b.ConversationID.Text()
		if !ok || len(id) > maxConversationID {
			return wire.Invalidf(`"conversationId" must be a string of %d bytes at most`, maxConversationID)
		}
		if id != "" {
			x.conversation = id
		}
	}
	if x.req.Messages, err = wire.Messages(b.Messages, h.cfg.MaxMessages, messageOf); err != nil {
		return err
	}
	x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	return nil
}

// readQuery reads ?format= and ?stream_partials=.
func (h *Handler) readQuery(x *exchange, r *wire.Request) error {
	query := r.URL.Query()
	x.format = full
	if h.cfg.Minimal {
		x.format = minimal
	}
	switch f := format(query.Get("format")); {
	case f == "":
	case f == full || f == minimal || f == messages && x.team:
		x.format = f
	case x.team:
		return wire.Invalidf(`"format" must be "full", "minimal" or "messages"`)
	default:
		return wire.Invalidf(`"format" must be "full" or "minimal"`)
	}
	x.partials = !h.cfg.NoPartials
	if text := query.Get("stream_partials"); text != "" {
		var err error
		if x.partials, err = strconv.ParseBool(text); err != nil {
			return wire.Invalidf(`"stream_partials" must be true or false`)
		}
	}
	return nil
}

// wantsEvents reports whether a client prefers server-sent events to JSON.
func wantsEvents(h http.Header) bool {
	events, object := 0.0, 0.0
	for _, value := range h.Values("Accept") {
		for accepted := range strings.SplitSeq(value, ",") {
			media, params, err := mime.ParseMediaType(accepted)
			if err != nil {
				continue
			}
			quality := 1.0
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
				quality = q
			}
			switch media {
			case "text/event-stream":
				events = max(events, quality)
			case "application/json":
				object = max(object, quality)
			}
		}
	}
	return events > 0 && events >= object
}

// messageOf reads a message of a user or an assistant. It skips other roles, because the newest client sends its
// own error texts back as system messages.
func messageOf(v wire.Value, at wire.Element) (m chat.Message, ok bool, err error) {
	var a bodyMessage
	if !v.Read(&a) {
		return m, false, wire.Invalidf("%q must be an object", at)
	}
	name, _ := a.Role.Text()
	spoken := llm.Role(strings.ToLower(name))
	if spoken != llm.User && spoken != llm.Assistant {
		return m, false, nil
	}
	if spoken == llm.Assistant && !a.Content.IsGiven() {
		return m, false, nil // an answer that never arrived; clients keep it and send it back
	}
	text, ok := a.Content.Text()
	if !ok {
		return m, false, wire.Invalidf(`"%s.content" must be a string`, at)
	}
	return chat.TextMessage(spoken, text), true, nil
}

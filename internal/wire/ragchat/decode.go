package ragchat

import (
	"fmt"
	"strings"

	"parley/internal/chat"
	"parley/internal/lazyregexp"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/wire"
)

// body is the body of a request for an answer. A Value that was not sent is nil.
type body struct {
	Message      wire.Value `json:"message"`
	Params       wire.Value `json:"params"`
	UseWebSearch wire.Value `json:"use_web_search"`
	History      wire.Value `json:"history"`
}

// decode fills x from a request. It reads the query id before it checks the rest, so that watchers of the steps
// learn of errors too.
func (h *Handler) decode(r *wire.Request, x *exchange) error {
	x.base, x.home = wire.BaseURL(r.Request, h.cfg.PublicURL, false), h.cfg.Namespace
	x.req.Namespace, x.req.Principal = h.cfg.Namespace, r.Who
	object, err := r.Object()
	if err != nil {
		return err
	}
	var b body
	object.Read(&b)
	settings, err := paramsOf(b.Params)
	if err != nil {
		return err
	}
	x.queryID = queryIDOf(settings)
	if err := h.overlay(x, settings); err != nil {
		return err
	}
	if err := h.confine(r.Context(), x); err != nil {
		return err
	}
	question, ok := b.Message.Text()
	if !ok || strings.TrimSpace(question) == "" {
		return &fieldError{"message", "a string that is not empty"}
	}
	if err := h.webSearchOf(x, b.UseWebSearch); err != nil {
		return err
	}
	if x.session != "" {
		x.req.ConversationID, x.req.Kind, x.req.Home = x.session, Kind, h.cfg.Namespace
		x.req.Account.Conversation = "" // the session is the account
	} else if x.req.Messages, err = h.historyOf(b.History, question); err != nil {
		return err
	}
	x.req.Messages = append(x.req.Messages, chat.TextMessage(llm.User, question))
	return nil
}

// paramsOf returns the object of parameters; it is empty if there is none.
func paramsOf(v wire.Value) (wire.Object, error) {
	if !v.IsGiven() {
		return wire.Object{}, nil
	}
	settings, ok := v.Object()
	if !ok {
		return wire.Object{}, &fieldError{"params", "an object"}
	}
	return settings, nil
}

// webSearchOf decides whether to search the web: the body takes precedence over the parameters, and
// these over the configuration.
func (h *Handler) webSearchOf(x *exchange, v wire.Value) error {
	if v.IsGiven() {
		asked, ok := v.Flag()
		if !ok {
			return &fieldError{"use_web_search", "true or false"}
		}
		x.webSearch = asked
	}
	if x.webSearch {
		h.offerWebSearch(x)
	}
	return nil
}

// webSearchTool is the name of the tool that searches the web.
const webSearchTool = "web_search"

// offerWebSearch lets the answering model search the web at its discretion. If it cannot, the response
// says so.
func (h *Handler) offerWebSearch(x *exchange) {
	o := &x.req.Options
	switch {
	case h.cfg.WebSearch == nil || !h.cfg.WebSearch(x.req.Namespace):
		x.noWeb = "not_configured"
		x.notes = append(x.notes, "Web search was asked for, but is not configured on this server.")
	case strings.HasPrefix(o.Models.Inference, ledger.Builtin+":"):
		x.noWeb = "not_available"
		x.notes = append(x.notes, "Web search was asked for, but the answering model cannot call tools.")
	default:
		o.MoreTools = []string{webSearchTool}
	}
}

// historyOf reads the client's history, oldest first, without the current question and its placeholder (trimHistory).
func (h *Handler) historyOf(v wire.Value, question string) ([]chat.Message, error) {
	if !v.IsGiven() {
		return nil, nil
	}
	elements, ok := v.Elements()
	if !ok {
		return nil, &fieldError{"history", "a list of messages"}
	}
	count, ok := wire.AtMost(h.cfg.MaxMessages, elements)
	if !ok {
		return nil, &fieldError{"history", fmt.Sprintf("a list of at most %d messages", h.cfg.MaxMessages)}
	}
	messages, i := make([]chat.Message, 0, count+1), 0
	for v := range elements {
		m, err := messageOf(v, i)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
		i++
	}
	return trimHistory(messages, question), nil
}

func messageOf(v wire.Value, i int) (chat.Message, error) {
	var item struct {
		Role    wire.Value `json:"role"`
		Content wire.Value `json:"content"`
	}
	if !v.Read(&item) {
		return chat.Message{}, &fieldError{fmt.Sprintf("history.%d", i), "an object"}
	}
	name, _ := item.Role.Text()
	switch llm.Role(name) {
	case llm.User, llm.Assistant, llm.System:
	default:
		return chat.Message{}, &fieldError{fmt.Sprintf("history.%d.role", i), `"user", "assistant" or "system"`}
	}
	text, ok := item.Content.Text()
	if !ok {
		return chat.Message{}, &fieldError{fmt.Sprintf("history.%d.content", i), "a string"}
	}
	if llm.Role(name) == llm.Assistant {
		text = stripSources(text)
	}
	return chat.TextMessage(llm.Role(name), text), nil
}

// placeholder matches the text that clients show while they wait for an answer, possibly followed by the
// steps so far.
var placeholder = lazyregexp.New(`^\s*(?:(?:Processing|Thinking)(?:\.{3}|…)?(?:\s*-->.*)?)?\s*$`)

// trimHistory removes two items that real clients append to the history: the question itself, and the placeholder
// of its answer.
func trimHistory(messages []chat.Message, question string) []chat.Message {
	if n := len(messages); n > 0 && messages[n-1].Role == llm.Assistant && placeholder.MatchString(messages[n-1].Text()) {
		messages = messages[:n-1]
	}
	if n := len(messages); n > 0 && messages[n-1].Role == llm.User &&
		strings.TrimSpace(messages[n-1].Text()) == strings.TrimSpace(question) {
		messages = messages[:n-1]
	}
	return messages
}

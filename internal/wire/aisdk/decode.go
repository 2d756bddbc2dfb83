package aisdk

import (
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// exchange is one request with what its answer depends on.
type exchange struct {
	chat    string // id that the client has given the chat; "" for none
	message string // id of the message that answers
	base    string // URL of the server, for links
	req     chat.Request
}

// body is a request; a nil Value was not sent. Beside these members it may have those of options.
type body struct {
	ID         wire.Value `json:"id"`
	Messages   wire.Value `json:"messages"`
	Trigger    wire.Value `json:"trigger"`
	Model      wire.Value `json:"model"`
	System     wire.Value `json:"system"`
	Tools      wire.Value `json:"tools"`
	ToolChoice wire.Value `json:"toolChoice"`
}

// decode returns the exchange that a request asks for.
func (h *Handler) decode(r *wire.Request) (*exchange, error) {
	object, err := r.Object()
	if err != nil {
		return nil, err
	}
	var b body
	object.Read(&b)
	x := &exchange{base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)}
	x.req.Principal, x.req.Options = r.Who, h.cfg.Defaults
	if x.chat, err = wire.OptionalText(b.ID, "id"); err != nil {
		return nil, err
	}
	if len(x.chat) > maxChatID {
		return nil, wire.Invalidf(`"id" must be a string of %d bytes at most`, maxChatID)
	}
	if err := wire.SetOptions(&x.req.Options, object, wire.PageOptions); err != nil {
		return nil, err
	}
	if x.req.Options.Tools, err = toolsOf(b.Tools); err != nil {
		return nil, err
	}
	if x.req.Options.ToolChoice, err = toolChoiceOf(b.ToolChoice); err != nil {
		return nil, err
	}
	if x.req.Namespace, err = h.namespaceOf(r, b.Model); err != nil {
		return nil, err
	}
	if err := h.readMessages(x, &b); err != nil {
		return nil, err
	}
	if _, err := h.cfg.Give.Bring(r.Context(), r.Who, &x.req); err != nil {
		return nil, err
	}
	x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	if x.message == "" {
		x.message = x.req.TurnID
	}
	return x, nil
}

// namespaceOf returns the namespace to search: that of the model "parley" or "parley/NAMESPACE". Pages that
// let people choose a model send the names of other models, which mean nothing here.
func (h *Handler) namespaceOf(r *wire.Request, v wire.Value) (string, error) {
	name, err := wire.OptionalText(v, "model")
	if err != nil || !strings.HasPrefix(name, "parley/") {
		return h.cfg.Namespace, err
	}
	return h.catalog.NamespaceOf(r.Context(), r.Who, name)
}

// readMessages reads the conversation. An answer behind the last question is the one that is asked for again,
// unless it ends with results of the client's tools: then the answer goes on with them.
func (h *Handler) readMessages(x *exchange, b *body) error {
	elements, ok := b.Messages.Elements()
	if !ok {
		return wire.Invalidf(`"messages" must be a list of messages, each with "role" and "parts"`)
	}
	count, ok := wire.AtMost(h.cfg.MaxMessages, elements)
	if !ok {
		return wire.Invalidf(`"messages" may hold %d messages at most`, h.cfg.MaxMessages)
	}
	list := make([]chat.Message, 0, count+1)
	system, err := wire.OptionalText(b.System, "system")
	if err != nil {
		return err
	}
	if system != "" {
		list = append(list, chat.TextMessage(llm.System, system))
	}
	var refused error // for a file of the question
	i, question, answer := 0, -1, ""
	for v := range elements {
		m, err := h.messageOf(v, wire.At("messages", i))
		if err != nil {
			return err
		}
		list = append(list, m.list...)
		if m.role == llm.User && (len(m.list) > 0 || m.refused != nil) {
			refused, question = m.refused, len(list)-1
		} else if len(m.list) > 0 {
			answer = m.id
		}
		i++
	}
	if refused != nil {
		return refused
	}
	if question < 0 || !asks(list[question]) {
		return wire.Invalidf(`"messages" has no question: the last message with the role "user" is missing or has no text`)
	}
	earlier(list[:question])
	if list[len(list)-1].Role == llm.ToolRole {
		x.message, x.req.Messages = answer, list
		return nil
	}
	x.req.Messages = list[:question+1]
	return nil
}

// earlier marks the files of messages before the question, which are left out if they cannot be read: a page sends the
// whole conversation each time, also with a question that was refused for its file.
func earlier(messages []chat.Message) {
	for _, m := range messages {
		for i := range m.Files {
			m.Files[i].Param = ""
		}
	}
}

func asks(m chat.Message) bool { return strings.TrimSpace(m.Text()) != "" }

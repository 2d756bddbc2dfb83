package aisdk

import (
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// exchange is a decoded request.
type exchange struct {
	chat    string // the client's id of the chat; "" for none
	message string // id of the answer's message
	base    string // URL of the server, for links
	req     chat.Request
}

// body is a request. A member that was not sent is nil. The options of wire.PageOptions are further members.
type body struct {
	ID         wire.Value `json:"id"`
	Messages   wire.Value `json:"messages"`
	Trigger    wire.Value `json:"trigger"`
	Model      wire.Value `json:"model"`
	System     wire.Value `json:"system"`
	Tools      wire.Value `json:"tools"`
	ToolChoice wire.Value `json:"toolChoice"`
}

// decode checks and decodes a request.
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

// namespaceOf returns the namespace to search: NAMESPACE for the model "parley/NAMESPACE", and the configured one
// for any other model, since pages that let people choose a model send names that mean nothing here.
func (h *Handler) namespaceOf(r *wire.Request, v wire.Value) (string, error) {
	name, err := wire.OptionalText(v, "model")
	if err != nil || !strings.HasPrefix(name, "parley/") {
		return h.cfg.Namespace, err
	}
	return h.catalog.NamespaceOf(r.Context(), r.Who, name)
}

// readMessages reads the conversation. If it ends with results of the client's tools, the model continues that
// answer. Otherwise an answer after the last question is left out: the client asks for it again.
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
	var refused error // why a file of the question was refused
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

// earlier marks the files of messages before the question, by clearing Param, so that they are left out if they cannot be
// read. A page sends the whole conversation each time, including an earlier question that was refused because of its file.
func earlier(messages []chat.Message) {
	for _, m := range messages {
		for i := range m.Files {
			m.Files[i].Param = ""
		}
	}
}

func asks(m chat.Message) bool { return strings.TrimSpace(m.Text()) != "" }

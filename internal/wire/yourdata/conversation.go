package yourdata

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// exchange is one question from the front end.
type exchange struct {
	id       string          // of the answer
	metadata json.RawMessage // history_metadata, which each line contains
	base     string          // URL of the server, for links
	created  int64           // Unix seconds
	whole    bool            // not streamed
	req      chat.Request
}

// converse handles POST /conversation. It stores nothing.
func (h *Handler) converse(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	metadata := json.RawMessage("{}")
	if v, _ := object.Get("history_metadata"); v.IsGiven() {
		if _, ok := v.Object(); !ok {
			return wire.Invalidf(`"history_metadata" must be an object`)
		}
		metadata = v.Compact()
	}
	x, err := h.exchangeOf(r, object)
	if err != nil {
		return err
	}
	x.id, x.metadata = x.req.TurnID, metadata
	return h.answer(w, r, x)
}

// exchangeOf reads the members that all requests for an answer have in common. The caller sets id and metadata.
func (h *Handler) exchangeOf(r *wire.Request, object wire.Object) (*exchange, error) {
	x := &exchange{created: h.cfg.Now().Unix(), base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)}
	v, _ := object.Get("messages")
	var err error
	if x.req.Messages, err = wire.Messages(v, h.cfg.MaxMessages, messageOf); err != nil {
		return nil, err
	}
	if v, _ := object.Get("stream"); v.IsGiven() {
		streamed, ok := v.Bool()
		if !ok {
			return nil, wire.Invalidf(`"stream" must be true or false`)
		}
		x.whole = !streamed
	}
	x.req.Principal, x.req.Namespace, x.req.Options = r.Who, h.cfg.Namespace, h.cfg.Defaults
	x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	return x, wire.SetOptions(&x.req.Options, object, members)
}

// messageOf reads a message from the front end; ok is false for one to skip. The front end sends back the tool messages
// with the citations of earlier answers, and {} for an answer that had none.
func messageOf(v wire.Value, at wire.Element) (m chat.Message, ok bool, err error) {
	if v.IsNull() {
		return m, false, nil
	}
	object, ok := v.Object()
	if !ok {
		return m, false, wire.Invalidf("%q must be an object", at)
	}
	role, sent := object.Get("role")
	if !sent {
		for range object.Members() {
			return m, false, wire.Invalidf(`"%s.role" is missing`, at)
		}
		return m, false, nil
	}
	content, _ := object.Get("content")
	name, _ := role.Text()
	switch name {
	case "tool", "function", "error":
		return m, false, nil
	case "user", "assistant", "system", "developer":
	default:
		return m, false, wire.Invalidf(`"%s.role" must be "user", "assistant", "system" or "tool"`, at)
	}
	text, err := textOfContent(content, at.String()+".content")
	switch {
	case err != nil:
		return m, false, err
	case name == "assistant":
		text = unmarked(text)
	case name == "developer":
		name = string(llm.System)
	}
	return chat.TextMessage(llm.Role(name), text), true, nil
}

// textOfContent reads a string, or the concatenated texts of a list of parts. at names it in errors.
func textOfContent(v wire.Value, at string) (string, error) {
	if text, ok := v.Text(); ok {
		return text, nil
	}
	parts, ok := v.Elements()
	if !ok {
		return "", wire.Invalidf(`%q must be a string or a list of parts`, at)
	}
	var all strings.Builder
	for v := range parts {
		part, _ := v.Object()
		kind, _ := part.Get("type")
		value, _ := part.Get("text")
		text, ok := value.Text()
		if name, _ := kind.Text(); name != "text" || !ok {
			return "", wire.Invalidf(`%q must have only parts with the type "text": this server does not read images here`, at)
		}
		all.WriteString(text)
	}
	return all.String(), nil
}

// answer runs the turn and streams the answer: first a line with the result of the search, then a line for each piece of
// text. If x.whole is set, it responds with one object instead.
func (h *Handler) answer(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	if x.whole {
		return h.reply(w, r, x)
	}
	s := &session{h: h, x: x, stream: wire.NDJSON(w, "application/json-lines")}
	return s.stream.SendTurn(r.Context(), h.cfg.Runner.Run(r.Context(), &x.req), s.event, func(err error) error {
		return s.stream.Send(ascii(appendFailure(s.stream.Line(), wire.FailureOf(err))))
	})
}

// session is the streamed answer to one exchange.
type session struct {
	h      *Handler
	x      *exchange
	stream *wire.Stream
	turn   chat.Turn // the events before the answer
	model  string
	marks  marker

	opening []byte // beginning of each line with a piece of the answer; nil until the model is known
}

func (s *session) event(e chat.Event) error {
	switch e := e.(type) {
	case chat.TextDelta:
		return s.text(s.marks.add(e.Text))
	case chat.ReasoningDelta:
		return nil // the API has no field for it
	case chat.CompletionStarted:
		s.model, s.opening = e.Model, nil
	case chat.MessageStarted:
		s.model, s.opening, s.marks.labels = e.Model, nil, s.turn.Prompt.Labels
		tool, err := s.h.toolMessage(&s.turn, s.x)
		if err != nil {
			return err
		}
		return s.stream.Send(ascii(s.x.appendLine(s.stream.Line(), "chat.completion.chunk", s.model, tool)))
	case chat.MessageFinished:
		if err := s.text(s.marks.end()); err != nil {
			return err
		}
		return wire.MessageError(e)
	case chat.TurnFinished:
	default:
		s.turn.Add(e)
	}
	return nil
}

func (s *session) text(text string) error {
	if text == "" {
		return nil
	}
	if s.opening == nil {
		s.opening = append(s.x.appendOpening(nil, "chat.completion.chunk", s.model), openAssistant...)
	}
	line := wire.AppendString(append(s.stream.Line(), s.opening...), text)
	return s.stream.SendSoon(ascii(s.x.appendEnd(append(line, '}'))))
}

// reply runs the turn and responds with one object, which has the same content as the stream.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	x.req.Whole = true
	t, err := chat.Collect(h.cfg.Runner.Run(r.Context(), &x.req))
	if err != nil {
		return err
	}
	m, err := wire.AnswerOf(t)
	if err != nil {
		return err
	}
	tool, err := h.toolMessage(t, x)
	if err != nil {
		return err
	}
	marks := marker{labels: t.Prompt.Labels}
	text := marks.add(m.Text) + marks.end()
	both := append(append(tool, ','), assistantMessage(text)...)
	return wire.WriteJSON(w, http.StatusOK, ascii(x.appendLine(nil, "chat.completion", m.Model, both)))
}

// toolMessage returns the tool message with the result of the search, as JSON in a string.
func (h *Handler) toolMessage(t *chat.Turn, x *exchange) ([]byte, error) {
	f, err := h.foundOf(t, x.req.Namespace, x.base)
	if err != nil {
		return nil, err
	}
	content, err := wire.AppendJSON(nil, f)
	if err != nil {
		return nil, err
	}
	return append(wire.AppendString([]byte(`{"role":"tool","content":`), string(content)), '}'), nil
}

const openAssistant = `{"role":"assistant","content":`

func assistantMessage(text string) []byte {
	return append(wire.AppendString([]byte(openAssistant), text), '}')
}

// appendLine appends an object with messages, which are JSON separated by commas.
func (x *exchange) appendLine(dst []byte, object, model string, messages []byte) []byte {
	return x.appendEnd(append(x.appendOpening(dst, object, model), messages...))
}

// appendOpening appends the part of an object before its messages; appendEnd appends the part after them.
func (x *exchange) appendOpening(dst []byte, object, model string) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), x.id)
	dst = wire.AppendString(append(dst, `,"model":`...), model)
	dst = strconv.AppendInt(append(dst, `,"created":`...), x.created, 10)
	dst = wire.AppendString(append(dst, `,"object":`...), object)
	return append(dst, `,"choices":[{"messages":[`...)
}

func (x *exchange) appendEnd(dst []byte) []byte {
	dst = append(dst, `]}],"history_metadata":`...)
	dst = append(append(dst, x.metadata...), `,"apim-request-id":`...)
	return append(wire.AppendString(dst, x.req.TurnID), '}')
}

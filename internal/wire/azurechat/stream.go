package azurechat

import (
	"iter"
	"net/http"
	"slices"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// session is the streamed reply of one exchange.
type session struct {
	x      *exchange
	stream *wire.Stream
	format format
	early  format0529 // also writes each piece, for a client that may be of either era
	turn   chat.Turn  // the events so far, for the first and the last line
	begun  bool       // the line of format.started was sent
	cut    cutter     // for the web component
}

func (h *Handler) stream(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	contentType := "application/json-lines"
	if x.form.SDK {
		contentType = "application/jsonl"
	}
	s := &session{x: x, stream: wire.NDJSON(w, contentType), format: h.format(x)}
	s.cut.isLabel = func(label string) bool { return slices.Contains(s.turn.Prompt.Labels, label) }
	return s.stream.SendTurn(r.Context(), h.cfg.Runner.Run(r.Context(), &x.req), s.send, func(err error) error {
		return s.stream.Send(x.appendError(s.stream.Line(), err))
	})
}

func (s *session) send(e chat.Event) error {
	if delta, ok := e.(chat.TextDelta); ok {
		return s.text(delta.Text, delta.Vendor)
	}
	return s.event(e)
}

// event handles every event except TextDelta.
func (s *session) event(e chat.Event) error {
	s.stream.Wait() // the first line is still being made from s.turn
	switch e := e.(type) {
	case chat.ReasoningDelta:
		return nil // no place for it in this protocol
	case chat.MessageStarted:
		s.turn.Add(e)
		s.first(e)
		return nil
	case chat.CompletionStarted:
		return s.started(e)
	case chat.MessageFinished:
		s.turn.Add(e)
		if s.x.webComponent {
			if err := s.cut.end(s.piece); err != nil {
				return err
			}
		}
		return wire.MessageError(e)
	case chat.FollowUpsSuggested:
		s.turn.Add(e)
		return s.followUps(e.Questions)
	case chat.TurnFinished:
		return s.last()
	}
	s.turn.Add(e)
	return nil
}

// first sends the line with the context. The line takes a while to make, so this happens while the model is being called.
func (s *session) first(e chat.MessageStarted) {
	s.stream.SendAside(func(line []byte) ([]byte, error) {
		c, err := s.x.openingContext(&s.turn).render()
		if err != nil {
			return nil, err
		}
		return s.format.first(line, c, e.Model), nil
	})
}

// started sends the line of format.started once: a message may take several completions, one after each tool call.
func (s *session) started(e chat.CompletionStarted) error {
	line := s.stream.Line()
	empty := len(line)
	line = s.format.started(line, e)
	if s.begun || len(line) == empty {
		return nil
	}
	s.begun = true
	return s.stream.SendWithNext(line)
}

func (s *session) text(text string, v *llm.Vendor) error {
	if !s.x.webComponent {
		line := s.stream.Line()
		if s.x.late {
			line = s.stream.And(s.early.delta(line, text, v))
		}
		return s.stream.SendSoon(s.format.delta(line, text, v))
	}
	return s.cut.add(text, func(piece string) error {
		return s.stream.SendSoon(s.format.delta(s.stream.Line(), piece, v))
	})
}

// piece sends a delta to the web component.
func (s *session) piece(text string) error {
	return s.stream.SendSoon(s.format.delta(s.stream.Line(), text, nil))
}

// followUps sends the questions to the web component as text, where it looks for them. Other clients get them in the last line.
func (s *session) followUps(questions []string) error {
	if !s.x.webComponent {
		return nil
	}
	return s.cut.ask(questions, s.piece)
}

func (s *session) last() error {
	m, err := wire.AnswerOf(&s.turn)
	if err != nil {
		return err
	}
	closing := s.x.closingContext(&s.turn)
	line := s.stream.Line()
	empty := len(line)
	if closing.empty() {
		line = s.format.last(line, m, nil)
	} else {
		c, err := closing.render()
		if err != nil {
			return err
		}
		line = s.format.last(line, m, c)
	}
	if len(line) == empty {
		return nil
	}
	return s.stream.Send(line)
}

// reply responds with a whole reply, assembled from the same events.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	x.req.Whole = true
	body, err := h.fold(x, h.cfg.Runner.Run(r.Context(), &x.req))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, http.StatusOK, body)
}

func (h *Handler) fold(x *exchange, events iter.Seq2[chat.Event, error]) ([]byte, error) {
	turn, err := chat.Collect(events)
	if err != nil {
		return nil, err
	}
	m, err := wire.AnswerOf(turn)
	if err != nil {
		return nil, err
	}
	c := x.openingContext(turn)
	closing := x.closingContext(turn)
	c.FollowUps, c.Unsupported = closing.FollowUps, closing.Unsupported
	raw, err := c.render()
	if err != nil {
		return nil, err
	}
	text := m.Text
	if x.webComponent {
		text += inline(turn.FollowUps)
	}
	room := make([]byte, 0, len(raw)+len(text)+len(text)/8+512)
	return h.format(x).reply(room, m, text, raw, turn.Requested), nil
}

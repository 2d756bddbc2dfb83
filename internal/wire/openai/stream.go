package openai

import (
	"net/http"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// session is the streamed answer to one exchange.
type session struct {
	h         *Handler
	x         *exchange
	stream    *wire.Stream
	chunks    *encoder // nil until the answer begins
	requested string   // model that was asked to answer
	message   chat.MessageFinished
	calls     int     // of tools, sent so far
	linker    *linker // nil if citations are not links
	spent     *llm.Usage
	more      bool // another choice follows
}

func (h *Handler) stream(w http.ResponseWriter, r *wire.Request, all []*exchange) error {
	var (
		s      *session // of the choice that is being answered
		stream = wire.SSE(w)
		spent  llm.Usage
	)
	events := func(yield func(chat.Event, error) bool) {
		for i, x := range all {
			s = &session{h: h, x: x, stream: stream, spent: &spent, more: i < len(all)-1}
			if x.links {
				s.linker = h.linkerOf(x)
			}
			for e, err := range x.runner.Run(r.Context(), &x.req) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
	return stream.SendTurn(r.Context(), events, func(e chat.Event) error { return s.event(e) }, func(err error) error {
		// No [DONE] follows, because the answer is incomplete.
		return stream.Send(appendError(stream.Line(), err))
	})
}

func (s *session) event(e chat.Event) error {
	if s.linker != nil {
		s.linker.note(e)
	}
	switch e := e.(type) {
	case chat.TextDelta:
		if err := s.begin(s.requested); err != nil {
			return err
		}
		return s.text(e.Text)
	case chat.MessageStarted:
		s.requested = e.Model
	case chat.ToolCalled:
		err := s.begin(s.requested)
		if err == nil {
			err = s.flushText()
		}
		if err != nil {
			return err
		}
		s.calls++
		return s.stream.Send(s.chunks.call(s.stream.Line(), s.calls-1, e.Call))
	case chat.CompletionStarted:
		return s.begin(Fingerprint(e.Model, e.Vendor))
	case chat.MessageFinished:
		s.message = e
		return wire.MessageError(e)
	case chat.TurnFinished:
		return s.last(e.Usage)
	}
	return nil
}

// text sends a piece of the answer, except for what the linker holds back.
func (s *session) text(piece string) error {
	if s.linker != nil {
		if piece = s.linker.add(piece); piece == "" {
			return nil
		}
	}
	return s.stream.SendSoon(s.chunks.text(s.stream.Line(), piece))
}

// flushText sends the text that the linker has held back.
func (s *session) flushText() error {
	if s.linker == nil {
		return nil
	}
	rest := s.linker.rest()
	if rest == "" {
		return nil
	}
	return s.stream.Send(s.chunks.text(s.stream.Line(), rest))
}

// begin sends the first chunk, once. It is not called until a model has begun to answer, so that earlier errors have
// their own HTTP status.
func (s *session) begin(answering string) error {
	if s.chunks != nil {
		return nil
	}
	s.chunks = newEncoder(s.x, answering)
	return s.stream.Send(s.chunks.first(s.stream.Line()))
}

// last ends the choice, and after the last choice the stream. It must be called at the end of the turn, because only then
// is the answer final.
func (s *session) last(u llm.Usage) error {
	if err := wire.MessageError(s.message); err != nil {
		return err
	}
	if err := s.begin(Fingerprint(s.message.Model, s.message.Vendor)); err != nil {
		return err
	}
	if err := s.flushText(); err != nil {
		return err
	}
	if list := s.h.annotationsOf(s.x, s.message); len(list) > 0 && !s.x.prompted {
		if err := s.stream.Send(s.chunks.annotations(s.stream.Line(), list, s.message.Unsupported())); err != nil {
			return err
		}
	}
	if err := s.stream.Send(s.chunks.last(s.stream.Line(), reasonOf(s.message.FinishReason))); err != nil {
		return err
	}
	*s.spent = s.spent.Add(u)
	if s.more {
		return nil
	}
	if s.x.usage {
		if err := s.stream.Send(s.chunks.usage(s.stream.Line(), *s.spent)); err != nil {
			return err
		}
	}
	return s.stream.Send(append(s.stream.Line(), "[DONE]"...))
}

// reply runs all exchanges, and responds with one JSON object.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, all []*exchange) error {
	var (
		body  []byte
		spent llm.Usage
	)
	for _, x := range all {
		x.req.Whole = true
		turn, err := chat.Collect(x.runner.Run(r.Context(), &x.req))
		if err != nil {
			return err
		}
		m, err := wire.AnswerOf(turn)
		if err != nil {
			return err
		}
		if body == nil {
			body = append(x.appendHead(nil, x.object(), Fingerprint(m.Model, m.Vendor)), `,"choices":[`...)
		} else {
			body = append(body, ',')
		}
		body = h.appendChoice(body, x, m)
		spent = spent.Add(turn.Usage)
	}
	return wire.WriteJSON(w, http.StatusOK, append(appendUsage(append(body, `],"usage":`...), spent), '}'))
}

// object returns the value of the member "object" of a whole reply.
func (x *exchange) object() string {
	if x.prompted {
		return textCompletion
	}
	return "chat.completion"
}

// appendChoice appends the choice with an answer.
func (h *Handler) appendChoice(dst []byte, x *exchange, m chat.MessageFinished) []byte {
	if x.links {
		l := h.linkerOf(x)
		l.note(m)
		m.Text = l.link(m.Text)
	}
	if x.prompted {
		dst = wire.AppendString(append(dst, x.choice("text")...), m.Text) // there is no place for annotations
	} else {
		dst = h.appendMessage(append(dst, x.choice("message")...), x, m)
	}
	dst = append(dst, `,"logprobs":null,"finish_reason":`...)
	return append(wire.AppendString(dst, reasonOf(m.FinishReason)), '}')
}

// appendMessage appends the message of a choice.
func (h *Handler) appendMessage(dst []byte, x *exchange, m chat.MessageFinished) []byte {
	dst = append(dst, `{"role":"assistant","content":`...)
	if m.Text == "" && len(m.ToolCalls) > 0 {
		dst = append(dst, `null`...)
	} else {
		dst = wire.AppendString(dst, m.Text)
	}
	dst = append(dst, `,"refusal":null,"annotations":`...)
	dst = appendUnsupported(appendAnnotations(dst, h.annotationsOf(x, m)), m.Unsupported())
	if len(m.ToolCalls) > 0 {
		dst = appendCalls(append(dst, `,"tool_calls":`...), m.ToolCalls)
	}
	return append(dst, '}')
}

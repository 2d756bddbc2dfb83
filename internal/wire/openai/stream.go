package openai

import (
	"iter"
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
	linker    *linker // nil where citations stay as they are
}

func (h *Handler) stream(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	s := &session{h: h, x: x, stream: wire.SSE(w)}
	if x.links {
		s.linker = h.linkerOf(x)
	}
	return s.stream.SendTurn(r.Context(), x.runner.Run(r.Context(), &x.req), s.event, func(err error) error {
		// There is no [DONE] after it: the answer is not done.
		return s.stream.Send(appendError(s.stream.Line(), err))
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
		return s.begin(fingerprint(e.Model, e.Vendor))
	case chat.MessageFinished:
		s.message = e
		return wire.MessageError(e)
	case chat.TurnFinished:
		return s.last(e.Usage)
	}
	return nil
}

// text sends a piece of the answer, or what of it may be sent already.
func (s *session) text(piece string) error {
	if s.linker != nil {
		if piece = s.linker.add(piece); piece == "" {
			return nil
		}
	}
	return s.stream.SendSoon(s.chunks.text(s.stream.Line(), piece))
}

// flushText sends what was held back of the answer.
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

// begin sends the first chunk, once: when a model has begun to answer, so that an error before
// that has its own status.
func (s *session) begin(answering string) error {
	if s.chunks != nil {
		return nil
	}
	s.chunks = newEncoder(s.x, answering)
	return s.stream.Send(s.chunks.first(s.stream.Line()))
}

// last ends the stream. It waits for the end of the turn: only then is the answer known to stay.
func (s *session) last(u llm.Usage) error {
	if err := wire.MessageError(s.message); err != nil {
		return err
	}
	if err := s.begin(fingerprint(s.message.Model, s.message.Vendor)); err != nil {
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
	if s.x.usage {
		if err := s.stream.Send(s.chunks.usage(s.stream.Line(), u)); err != nil {
			return err
		}
	}
	return s.stream.Send(append(s.stream.Line(), "[DONE]"...))
}

// reply answers with the fold of the same events.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	x.req.Whole = true
	body, err := h.fold(x, x.runner.Run(r.Context(), &x.req))
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
	if x.links {
		l := h.linkerOf(x)
		l.note(m)
		m.Text = l.link(m.Text)
	}
	if x.prompted {
		return x.appendPrompted(m, turn.Usage), nil
	}
	dst := append(x.appendHead(nil, "chat.completion", fingerprint(m.Model, m.Vendor)), `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
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
	dst = append(dst, `},"logprobs":null,"finish_reason":`...)
	dst = append(wire.AppendString(dst, reasonOf(m.FinishReason)), `}],"usage":`...)
	return append(appendUsage(dst, turn.Usage), '}'), nil
}

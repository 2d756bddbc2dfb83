package server

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"strings"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/azurechat"
)

// dispatched answers on a path that several protocols share.
func (s *Server) dispatched(stream azurechat.Streaming) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := declared(r.Header)
		if c.decided {
			speaks(w, s.errorsOf(c, r, stream, nil))
		}
		if err != nil {
			return err
		}
		if c.multipart {
			return s.multipart(w, r, azurechat.Form{Stream: stream})
		}
		body, err := wire.ReadBody(w, r, s.cfg.MaxBody)
		if err != nil {
			return err
		}
		if !c.decided {
			probe, err := wire.ProbeBody(body)
			if err != nil {
				return err
			}
			if c.protocol, err = byBody(probe); err != nil {
				return err
			}
		}
		speaks(w, s.errorsOf(c, r, stream, body))
		return s.turnOf(w, r, body, func(w http.ResponseWriter, r *http.Request) {
			if c.protocol == ragChat {
				s.deps.RAGChat.Chat(w, r, body)
				return
			}
			s.deps.Chat.Serve(w, r, c.form(stream), body)
		})
	}
}

// fixed answers on a path that belongs to one protocol.
func (s *Server) fixed(form azurechat.Form) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		multipart, err := isMultipart(r.Header)
		if err != nil {
			return err
		}
		if multipart && form.Version != azurechat.V0529 {
			return &refusalError{unsupportedType}
		}
		if multipart {
			return s.multipart(w, r, form)
		}
		body, err := wire.ReadBody(w, r, s.cfg.MaxBody)
		if err != nil {
			return err
		}
		speaks(w, azurechat.Failures(form, body))
		return s.turnOf(w, r, body, func(w http.ResponseWriter, r *http.Request) {
			s.deps.Chat.Serve(w, r, form, body)
		})
	}
}

// turnOf answers a request for a turn whose body was read.
func (s *Server) turnOf(w http.ResponseWriter, r *http.Request, body []byte, answer http.HandlerFunc) error {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return s.turn(answering(answer))(w, r)
}

// multipart answers a form with files.
func (s *Server) multipart(w http.ResponseWriter, r *http.Request, form azurechat.Form) error {
	speaks(w, azurechat.Failures(azurechat.Form{SDK: true}, nil))
	return s.turn(answering(func(w http.ResponseWriter, r *http.Request) {
		s.deps.Chat.ServeMultipart(w, r, form)
	}))(w, r)
}

// maxMCP is the most bytes of a message of that protocol, which holds no more than a question.
const maxMCP = 256 << 10

// mcp answers a message of the Model Context Protocol. The transport has no streams of the server's
// own, so GET and DELETE are not allowed (MCP 2025-06-18, Transports, section 2.1).
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) error {
	body, err := s.jsonBodyTo(w, r, min(s.cfg.MaxBody, maxMCP))
	if err == nil {
		err = wire.Check(body)
	}
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.deps.MCP.ServeHTTP(w, r)
	return nil
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) error {
	s.deps.OpenAI.Models(w, r)
	return nil
}

// model answers GET /v1/models/{id}. Some clients escape the slash of an id, some do not.
func (s *Server) model(w http.ResponseWriter, r *http.Request) error {
	s.deps.OpenAI.Model(w, r, strings.TrimPrefix(r.URL.Path, modelsPath))
	return nil
}

// Runner runs turns; chat.Engine and turn runners do. Leaving the range ends the turn.
type Runner interface {
	Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error]
}

type runFunc func(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error]

func (f runFunc) Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
	return f(ctx, req)
}

// LimitTurns returns next with at most n turns in progress at one time. A turn over the limit is
// rejected as chat's contract says, by an error before any event, so that each protocol answers
// 429 in its own shape. A turn counts only while it runs: a client that is slow to send its
// question takes no place.
func LimitTurns(n int, next Runner) Runner {
	places := make(chan struct{}, n)
	return runFunc(func(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
		events := next.Run(ctx, req)
		return func(yield func(chat.Event, error) bool) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			default:
				yield(nil, errBusy)
				return
			}
			for e, err := range events {
				if !yield(e, err) {
					return
				}
			}
		}
	})
}

var errBusy = &chat.Error{
	Kind: chat.RateLimited,
	Msg:  "The server is working on as many answers as it may. Please try again in a moment.",
}

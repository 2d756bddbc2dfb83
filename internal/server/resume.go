package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire"
)

// What clients send for turns that they may leave and come back to.
const (
	disconnectHeader  = "X-On-Disconnect"
	lastEventHeader   = "Last-Event-ID"
	lastEventQuery    = "last_event_id" // for clients that cannot set a header
	keepAliveInterval = 12 * time.Second
)

var errNoTurn = &chat.Error{Kind: chat.NotFound, Msg: "There is no such turn."}

// turn answers a request for a turn: it reads what every protocol takes from headers.
func (s *Server) turn(answer handler) handler {
	answer = s.once(answer)
	return func(w http.ResponseWriter, r *http.Request) error {
		switch values := r.Header.Values(disconnectHeader); {
		case len(values) == 0:
		case len(values) == 1 && (values[0] == string(turn.Cancel) || values[0] == string(turn.Finish)):
			r = r.WithContext(turn.WithPolicy(r.Context(), turn.Policy(values[0])))
		default:
			return wire.Invalidf("%s must be cancel or finish", disconnectHeader)
		}
		return answer(w, r)
	}
}

// turnLog returns what a turn has said to its owner, in a namespace that they may ask. To everybody
// else there is no such turn.
func (s *Server) turnLog(r *http.Request) (*turn.Log, error) {
	if s.deps.Turns == nil {
		return nil, errNoTurn
	}
	who, err := s.deps.Principal(r)
	if err != nil {
		return nil, err
	}
	l, err := s.deps.Turns.Log(r.Context(), who.Subject, r.PathValue("id"))
	if errors.Is(err, turn.ErrNotFound) {
		return nil, errNoTurn
	}
	if err != nil {
		return nil, err
	}
	if ns := l.Scope().Namespace; ns != s.cfg.Namespace {
		if s.deps.Namespaces == nil {
			return nil, errNoTurn
		}
		allowed, err := s.deps.Namespaces(r.Context(), who)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(allowed, ns) {
			return nil, errNoTurn
		}
	}
	return l, nil
}

// stopTurn answers DELETE /api/turns/{id}. A turn that has ended already is no error: the client
// gets what it asks for, and could not have known.
func (s *Server) stopTurn(w http.ResponseWriter, r *http.Request) error {
	l, err := s.turnLog(r)
	if err != nil {
		return err
	}
	l.Stop()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// turnEvents answers GET /api/turns/{id}/events with the events of a turn behind the one that the
// client has seen last, as server-sent events, until the turn has ended. When nothing is left the
// status is 204, on which browsers stop to reconnect (HTML standard, section 9.2.2).
func (s *Server) turnEvents(w http.ResponseWriter, r *http.Request) error {
	after, err := lastEvent(r)
	if err != nil {
		return err
	}
	l, err := s.turnLog(r)
	if err != nil {
		return err
	}
	if l.Over(after) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	err = follow(r, l, after, wire.SSE(w))
	if err != nil {
		s.log.LogAttrs(r.Context(), wire.LevelOf(r.Context(), err), "events of a turn ended early", slog.Any("error", err))
	}
	return nil
}

func lastEvent(r *http.Request) (int, error) {
	seen, name := r.Header.Get(lastEventHeader), lastEventHeader
	if seen == "" {
		seen, name = r.URL.Query().Get(lastEventQuery), lastEventQuery
	}
	if seen == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(seen, 10, 32)
	if err != nil || n < 0 {
		return 0, wire.Invalidf("%s must be the id of an event of this turn", name)
	}
	return int(n), nil
}

// follow sends what is behind a position. Its error is that of sending, or that the client's own
// request has ended before the turn: the stream then just ends, so that the client comes back.
func follow(r *http.Request, l *turn.Log, after int, stream *wire.Stream) error {
	for n, err := range l.Follow(r.Context(), after, keepAliveInterval) {
		switch {
		case err != nil && n.Turn == "":
			return err
		case err != nil:
			return sendFailure(stream, n, err)
		case n.Event == nil:
			err = stream.Comment("keep-alive")
		default:
			err = sendEvent(stream, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sendEvent(stream *wire.Stream, n chat.Numbered) error {
	n.Event = turn.Public(n.Event)
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return stream.SendNumbered(n.Seq, append(stream.Line(), raw...))
}

// sendFailure sends the last event of a turn that ended with an error: the type "error" in the
// encoding of events, with what the turn's own client was told.
func sendFailure(stream *wire.Stream, n chat.Numbered, ended error) error {
	f := wire.FailureOf(ended)
	dst := wire.AppendString(append(stream.Line(), `{"v":1,"turn":`...), n.Turn)
	dst = strconv.AppendInt(append(dst, `,"seq":`...), int64(n.Seq), 10)
	dst = strconv.AppendInt(append(dst, `,"type":"error","event":{"status":`...), int64(f.Status), 10)
	dst = wire.AppendString(append(dst, `,"code":`...), f.Code)
	dst = wire.AppendString(append(dst, `,"message":`...), f.Text)
	return stream.SendNumbered(n.Seq, append(dst, "}}"...))
}

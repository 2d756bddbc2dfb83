package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire"
)

const keepAliveInterval = 12 * time.Second

// log returns the log of a turn if it is the caller's own and the caller may still use its namespace.
// Otherwise it returns errNoTurn.
func (h *Handler) log(ctx context.Context, who access.Principal, id string) (*turn.Log, error) {
	l, err := h.cfg.Turns.Log(ctx, who.Subject, id)
	if errors.Is(err, turn.ErrNotFound) {
		return nil, errNoTurn
	}
	if err != nil {
		return nil, fmt.Errorf("look for turn %s: %w", id, err)
	}
	allowed, err := h.mayAsk(ctx, who, l.Scope().Namespace)
	if err == nil && !allowed {
		err = errNoTurn
	}
	return l, err
}

// stop handles DELETE /api/turns/{id}. It also succeeds if the turn has already ended, because the client
// cannot know that.
func (h *Handler) stop(w http.ResponseWriter, r *wire.Request) error {
	l, err := h.log(r.Context(), r.Who, r.PathValue("id"))
	if err != nil {
		return err
	}
	l.Stop()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// events handles GET /api/turns/{id}/events. It sends the events of a turn that follow the last one the client
// has seen, as server-sent events, until the turn has ended. If none are left, it responds with 204, which
// stops browsers from reconnecting (HTML standard, section 9.2.2).
func (h *Handler) events(w http.ResponseWriter, r *wire.Request) error {
	after, err := lastEvent(r)
	if err != nil {
		return err
	}
	l, err := h.log(r.Context(), r.Who, r.PathValue("id"))
	if err != nil {
		return err
	}
	if l.Over(after) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return follow(r, l, after, wire.SSE(w))
}

func lastEvent(r *wire.Request) (int, error) {
	const header, query = "Last-Event-ID", "last_event_id" // query is for clients that cannot set a header
	seen, name := r.Header.Get(header), header
	if seen == "" {
		seen, name = r.URL.Query().Get(query), query
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

// follow sends the events after a position until the turn has ended. It returns an error if sending fails or
// the request ends before the turn; the stream then just ends, so that the client reconnects.
func follow(r *wire.Request, l *turn.Log, after int, stream *wire.Stream) error {
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
	n.Event, n.At = turn.Public(n.Event), time.Time{}
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return stream.SendNumbered(n.Seq, append(stream.Line(), raw...))
}

// sendFailure sends the last event of a turn that ended with an error. It is encoded like other events, has the
// type "error", and contains the same failure as the turn's own response.
func sendFailure(stream *wire.Stream, n chat.Numbered, ended error) error {
	f := wire.FailureOf(ended)
	dst := wire.AppendString(append(stream.Line(), `{"v":1,"turn":`...), n.Turn)
	dst = strconv.AppendInt(append(dst, `,"seq":`...), int64(n.Seq), 10)
	dst = strconv.AppendInt(append(dst, `,"type":"error","event":{"status":`...), int64(f.Status), 10)
	dst = wire.AppendString(append(dst, `,"code":`...), f.Code)
	dst = wire.AppendString(append(dst, `,"message":`...), f.Text)
	return stream.SendNumbered(n.Seq, append(dst, "}}"...))
}

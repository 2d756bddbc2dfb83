package ragchat

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// reserved lists names of routes, which cannot be session ids.
var reserved = []string{"session", "sessions", "stream", "reset", "clear"}

// Limits for reading sessions.
const (
	maxHistoryTurns = 5000
	defaultPage     = 100
	maxPage         = 1000
)

var errNoSession = &chat.Error{Kind: chat.NotFound, Msg: "There is no such session. POST /chat/session creates one."}

// scope returns the scope of the caller's sessions.
func (h *Handler) scope(r *wire.Request) turn.Scope {
	return turn.Scope{Namespace: h.cfg.Namespace, Owner: r.Who.Subject}
}

// unknown converts the errors for missing sessions and for sessions of others to errNoSession, so that callers cannot
// distinguish them.
func unknown(err error) error {
	if errors.Is(err, turn.ErrNotFound) || errors.Is(err, turn.ErrForeign) {
		return errNoSession
	}
	return err
}

// at formats a time for responses.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

type sessionID struct {
	ID string `json:"session_id"`
}

// begin handles POST /chat/session. It ignores the body.
func (h *Handler) begin(w http.ResponseWriter, r *wire.Request) error {
	id := h.cfg.SessionID()
	err := h.cfg.Sessions.Begin(r.Context(), turn.Conversation{
		ID: id, Scope: h.scope(r), Kind: Kind, CreatedAt: h.cfg.Now().UTC().Truncate(time.Microsecond),
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, sessionID{id})
}

// sessionHistory is the content of a session.
type sessionHistory struct {
	ID           string           `json:"session_id"`
	Messages     []historyMessage `json:"messages"`
	CreatedAt    string           `json:"created_at"`
	LastActivity string           `json:"last_activity"`
}

type historyMessage struct {
	Role    llm.Role `json:"role"`
	Content string   `json:"content"`
	Sources []source `json:"sources,omitempty"`
	Tools   []string `json:"tools_used,omitempty"`
}

// history handles GET /chat/{session_id}/history.
func (h *Handler) history(w http.ResponseWriter, r *wire.Request) error {
	c, err := h.conversation(r, maxHistoryTurns)
	if err != nil {
		return err
	}
	base := wire.BaseURL(r.Request, h.cfg.PublicURL, false)
	out := sessionHistory{ID: c.ID, Messages: make([]historyMessage, len(c.History)), CreatedAt: at(c.CreatedAt), LastActivity: at(c.UpdatedAt)}
	for i, m := range c.History {
		out.Messages[i] = historyMessage{Role: m.Role, Content: m.Text(), Sources: h.citedSources(base, m.Citations), Tools: m.ToolsUsed}
	}
	return wire.Reply(w, http.StatusOK, out)
}

// conversation returns the session that the path names.
func (h *Handler) conversation(r *wire.Request, turns int) (turn.Conversation, error) {
	id := r.PathValue("session_id")
	if slices.Contains(reserved, id) {
		return turn.Conversation{}, errNoSession
	}
	c, err := h.cfg.Sessions.Conversation(r.Context(), h.scope(r), id, turns)
	if err == nil && c.Kind != Kind {
		err = turn.ErrForeign
	}
	return c, unknown(err)
}

// citedSources returns the citations of a stored answer, from the answer's snapshot.
func (h *Handler) citedSources(base string, citations []chat.Citation) []source {
	var all []source
	for _, c := range citations {
		all = append(all, source{ID: c.DocumentID, Payload: payload{
			URL: sourceURL(base, h.cfg.Namespace, c.Namespace, c.URL, c.Label), Title: c.Title, Text: c.Snippet, Page: pageOf(c.Page), Citation: c.Label,
		}})
	}
	return all
}

// sessionList is a page of the caller's sessions.
type sessionList struct {
	Sessions []sessionSummary `json:"sessions"`
	Total    int              `json:"total"`          // number of sessions on this page
	Next     string           `json:"next,omitempty"` // ?after= of the next page; absent on the last page
}

type sessionSummary struct {
	ID           string `json:"session_id"`
	MessageCount int64  `json:"message_count"`
	CreatedAt    string `json:"created_at"`
	LastActivity string `json:"last_activity"`
}

// list handles GET /chat/sessions: the caller's sessions, last used first, in pages of ?limit=.
func (h *Handler) list(w http.ResponseWriter, r *wire.Request) error {
	limit, after, err := pageOfSessions(r)
	if err != nil {
		return err
	}
	found, err := h.cfg.Sessions.Conversations(r.Context(), h.scope(r), Kind, after, limit+1)
	if err != nil {
		return err
	}
	out := sessionList{Sessions: []sessionSummary{}}
	for _, c := range found[:min(limit, len(found))] {
		out.Sessions = append(out.Sessions, sessionSummary{
			ID: c.ID, MessageCount: 2 * c.Completed, CreatedAt: at(c.CreatedAt), LastActivity: at(c.UpdatedAt),
		})
	}
	if out.Total = len(out.Sessions); len(found) > limit {
		last := found[limit-1]
		out.Next = strconv.FormatInt(last.UpdatedAt.UnixMicro(), 10) + "-" + last.ID
	}
	return wire.Reply(w, http.StatusOK, out)
}

func pageOfSessions(r *wire.Request) (limit int, after turn.Position, err error) {
	limit = defaultPage
	if s := r.URL.Query().Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 {
			return 0, after, &fieldError{"limit", "a whole number over 0"}
		}
	}
	if s := r.URL.Query().Get("after"); s != "" {
		micros, id, ok := cut(s)
		if !ok {
			return 0, after, &fieldError{"after", `the "next" of the previous page`}
		}
		after = turn.Position{UpdatedAt: time.UnixMicro(micros).UTC(), ID: id}
	}
	return min(limit, maxPage), after, nil
}

func cut(s string) (micros int64, id string, ok bool) {
	for i := range s {
		if s[i] == '-' && i > 0 {
			n, err := strconv.ParseInt(s[:i], 10, 64)
			return n, s[i+1:], err == nil
		}
	}
	return 0, "", false
}

// acknowledgement reports what was done.
type acknowledgement struct {
	Status    string `json:"status"`
	Message   string `json:"message"`
	SessionID string `json:"session_id,omitempty"`
	Cleared   *bool  `json:"cleared,omitempty"`
}

// reset handles POST /chat/{session_id}/reset. It keeps the session, without its messages and totals.
func (h *Handler) reset(w http.ResponseWriter, r *wire.Request) error {
	c, err := h.conversation(r, 0)
	if err == nil {
		err = unknown(h.cfg.Sessions.Reset(r.Context(), c.Scope, c.ID, h.cfg.Now().UTC().Truncate(time.Microsecond)))
	}
	return acknowledge(w, err, acknowledgement{Message: "Session reset", SessionID: c.ID})
}

// delete handles DELETE /chat/{session_id}.
func (h *Handler) delete(w http.ResponseWriter, r *wire.Request) error {
	c, err := h.conversation(r, 0)
	if err == nil {
		err = unknown(h.cfg.Sessions.Delete(r.Context(), c.Scope, c.ID))
	}
	return acknowledge(w, err, acknowledgement{Message: "Session deleted", SessionID: c.ID})
}

// clear handles POST /chat/reset and POST /chat/clear, which set the totals of the account named in the body to
// zero. The only other trace of a stateless chat is in the ledger, which clear does not change. An empty body
// names no account.
func (h *Handler) clear(w http.ResponseWriter, r *wire.Request) error {
	account, err := accountOf(r.Body)
	cleared := false
	if key := ledger.AccountOf(r.Who.Subject, "", account); err == nil && !key.IsZero() {
		cleared, err = h.cfg.Ledger.ClearTotals(r.Context(), key)
	}
	return acknowledge(w, err, acknowledgement{Message: "Conversation cleared", Cleared: &cleared})
}

func accountOf(body []byte) (a chat.Account, err error) {
	if len(body) == 0 {
		return a, nil
	}
	object, err := wire.ParseObject(body)
	if err != nil {
		return a, err
	}
	for _, field := range []struct {
		key string
		to  *string
	}{{"conversation_id", &a.Conversation}, {"user_id", &a.User}} {
		err := apply(object, field.key, func(v wire.Value) string { return setName(field.to, v) })
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

func acknowledge(w http.ResponseWriter, err error, a acknowledgement) error {
	if err != nil {
		return err
	}
	a.Status = "ok"
	return wire.Reply(w, http.StatusOK, a)
}

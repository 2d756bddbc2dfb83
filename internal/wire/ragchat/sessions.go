package ragchat

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// reserved are the names of routes, which are never sessions.
var reserved = []string{"session", "sessions", "stream", "reset", "clear"}

// The bounds of what is read of sessions at one time.
const (
	maxHistoryTurns = 5000
	defaultPage     = 100
	maxPage         = 1000
)

var errNoSession = &chat.Error{Kind: chat.NotFound, Msg: "There is no such session. POST /chat/session makes one."}

// sessionOf returns the scope of the caller's sessions, and an error for an id that is none.
func (h *Handler) sessionOf(r *http.Request, id string) (turn.Scope, error) {
	who, err := h.cfg.Principal(r)
	if err == nil && slices.Contains(reserved, id) {
		err = errNoSession
	}
	return turn.Scope{Namespace: h.cfg.Namespace, Owner: who.Subject}, err
}

// unknown makes the errors of a store that no caller may tell apart one.
func unknown(err error) error {
	if errors.Is(err, turn.ErrNotFound) || errors.Is(err, turn.ErrForeign) {
		return errNoSession
	}
	return err
}

// at writes a time as the documents do.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

type sessionID struct {
	ID string `json:"session_id"`
}

// Begin answers POST /chat/session. What a body says is ignored.
func (h *Handler) Begin(w http.ResponseWriter, r *http.Request) {
	scope, err := h.sessionOf(r, "")
	id := h.cfg.SessionID()
	if err == nil {
		err = h.cfg.Sessions.Begin(r.Context(), turn.Conversation{
			ID: id, Scope: scope, Kind: Kind, CreatedAt: h.cfg.Now().UTC().Truncate(time.Microsecond),
		})
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.json(w, r, sessionID{id})
}

// history is what a session holds.
type history struct {
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

// History answers GET /chat/{session_id}/history.
func (h *Handler) History(w http.ResponseWriter, r *http.Request, id string) {
	c, err := h.conversation(r, id, maxHistoryTurns)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	base := wire.BaseURL(r, h.cfg.PublicURL, false)
	out := history{ID: id, Messages: make([]historyMessage, len(c.History)), CreatedAt: at(c.CreatedAt), LastActivity: at(c.UpdatedAt)}
	for i, m := range c.History {
		out.Messages[i] = historyMessage{Role: m.Role, Content: m.Text(), Sources: h.citedSources(base, m.Citations), Tools: m.ToolsUsed}
	}
	h.json(w, r, out)
}

func (h *Handler) conversation(r *http.Request, id string, turns int) (turn.Conversation, error) {
	scope, err := h.sessionOf(r, id)
	if err != nil {
		return turn.Conversation{}, err
	}
	c, err := h.cfg.Sessions.Conversation(r.Context(), scope, id, turns)
	if err == nil && c.Kind != Kind {
		err = turn.ErrForeign
	}
	return c, unknown(err)
}

// citedSources returns what a stored answer cites, as the answer's snapshot has it.
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
	Total    int              `json:"total"`          // of this page
	Next     string           `json:"next,omitempty"` // ?after= of the next page; absent on the last one
}

type sessionSummary struct {
	ID           string `json:"session_id"`
	MessageCount int64  `json:"message_count"`
	CreatedAt    string `json:"created_at"`
	LastActivity string `json:"last_activity"`
}

// List answers GET /chat/sessions: the caller's sessions, last used first, in pages of ?limit=.
func (h *Handler) List(w http.ResponseWriter, r *http.Request) {
	scope, err := h.sessionOf(r, "")
	limit, after := defaultPage, turn.Position{}
	if err == nil {
		limit, after, err = pageOfSessions(r)
	}
	var found []turn.Conversation
	if err == nil {
		found, err = h.cfg.Sessions.Conversations(r.Context(), scope, Kind, after, limit+1)
	}
	if err != nil {
		h.fail(w, r, err)
		return
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
	h.json(w, r, out)
}

func pageOfSessions(r *http.Request) (limit int, after turn.Position, err error) {
	limit = defaultPage
	if s := r.URL.Query().Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 {
			return 0, after, &fieldError{"limit", "a whole number over 0"}
		}
	}
	if s := r.URL.Query().Get("after"); s != "" {
		micros, id, ok := cut(s)
		if !ok {
			return 0, after, &fieldError{"after", `the "next" of another page`}
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

// acknowledgement says what was done.
type acknowledgement struct {
	Status    string `json:"status"`
	Message   string `json:"message"`
	SessionID string `json:"session_id,omitempty"`
	Cleared   *bool  `json:"cleared,omitempty"`
}

// Reset answers POST /chat/{session_id}/reset: the session stays, its messages and totals go.
func (h *Handler) Reset(w http.ResponseWriter, r *http.Request, id string) {
	c, err := h.conversation(r, id, 0)
	if err == nil {
		err = unknown(h.cfg.Sessions.Reset(r.Context(), c.Scope, id, h.cfg.Now().UTC().Truncate(time.Microsecond)))
	}
	h.acknowledge(w, r, err, acknowledgement{Message: "Session reset", SessionID: id})
}

// Delete answers DELETE /chat/{session_id}.
func (h *Handler) Delete(w http.ResponseWriter, r *http.Request, id string) {
	c, err := h.conversation(r, id, 0)
	if err == nil {
		err = unknown(h.cfg.Sessions.Delete(r.Context(), c.Scope, id))
	}
	h.acknowledge(w, r, err, acknowledgement{Message: "Session deleted", SessionID: id})
}

// Clear answers POST /chat/reset and POST /chat/clear: the totals of the account that the body
// names begin anew. There is nothing else that a stateless chat leaves on the server; the ledger
// stays. An empty body is one that names nothing.
func (h *Handler) Clear(w http.ResponseWriter, r *http.Request, body []byte) {
	who, err := h.cfg.Principal(r)
	var account chat.Account
	if err == nil {
		account, err = accountOf(body)
	}
	cleared := false
	if key := turn.AccountOf(who.Subject, "", account); err == nil && !key.IsZero() {
		cleared, err = h.cfg.Ledger.ClearTotals(r.Context(), key)
	}
	h.acknowledge(w, r, err, acknowledgement{Message: "Conversation cleared", Cleared: &cleared})
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

func (h *Handler) acknowledge(w http.ResponseWriter, r *http.Request, err error, a acknowledgement) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	a.Status = "ok"
	h.json(w, r, a)
}

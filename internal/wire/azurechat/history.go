package azurechat

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// Limits of the chats that a front end saves and lists. A pair is a question and its response.
const (
	maxSessionID  = 256 // bytes
	maxPairs      = 5000
	maxTranscript = 16 << 20 // bytes of a chat's pairs
	maxTitle      = 50       // characters
	defaultCount  = 10
	maxCount      = 1000
)

// save handles POST /chat_history {id, answers:[[question, response]…]}. Each pair replaces the stored
// pair at the same position; stored pairs after the last one sent are kept.
func (h *Handler) save(w http.ResponseWriter, r *wire.Request) error {
	id, pairs, err := pairsOf(r.Body)
	if err != nil {
		return err
	}
	_, err = h.cfg.Store.Save(r.Context(), h.scopeOf(r), id, func(t *transcript.Transcript, found bool) error {
		t.UpdatedAt = h.cfg.Now()
		if !found {
			t.CreatedAt = t.UpdatedAt
		}
		t.Title = titleOf(pairs[0])
		t.Messages = append(pairs, t.Messages[min(len(pairs), len(t.Messages)):]...)
		return checkSize(t.Messages)
	})
	if err != nil {
		return historyError(err)
	}
	return wire.WriteJSON(w, http.StatusCreated, []byte("{}"))
}

// pairsOf reads the id of a session and its pairs from a body.
func pairsOf(body []byte) (id string, pairs []transcript.Message, err error) {
	object, err := wire.ParseObject(body)
	if err != nil {
		return "", nil, err
	}
	v, _ := object.Get("id")
	if id, _ = v.Text(); id == "" || len(id) > maxSessionID {
		return "", nil, wire.Invalidf(`"id" must be a string of 1 to %d bytes`, maxSessionID)
	}
	v, _ = object.Get("answers")
	elements, ok := v.Elements()
	if !ok {
		return "", nil, wire.Invalidf(`"answers" must be a list of pairs, each a question and a response`)
	}
	for pair := range elements {
		if len(pairs) == maxPairs {
			return "", nil, wire.Invalidf(`"answers" may hold %d pairs at most`, maxPairs)
		}
		if _, ok := questionOf(pair); !ok {
			return "", nil, wire.Invalidf(`"answers[%d]" must be a list of a question and a response`, len(pairs))
		}
		pairs = append(pairs, transcript.Message{Body: pair.Compact()})
	}
	if len(pairs) == 0 {
		return "", nil, wire.Invalidf(`"answers" must contain at least one pair`)
	}
	return id, pairs, nil
}

// questionOf returns the question of a pair. ok is false if the value is not a pair.
func questionOf(pair wire.Value) (question string, ok bool) {
	elements, ok := pair.Elements()
	if !ok {
		return "", false
	}
	n := 0
	for v := range elements {
		if n == 0 {
			question, ok = v.Text()
		}
		n++
	}
	return question, ok && n == 2
}

func titleOf(pair transcript.Message) string {
	question, _ := questionOf(wire.Value(pair.Body))
	question = chat.Seen(question)
	if runes := []rune(question); len(runes) > maxTitle {
		return string(runes[:maxTitle]) + "..."
	}
	return question
}

func checkSize(pairs []transcript.Message) error {
	size := 0
	for _, p := range pairs {
		size += len(p.Body)
	}
	if size > maxTranscript {
		return &chat.Error{Kind: chat.TooLarge, Msg: "The chat is too long to be stored."}
	}
	return nil
}

// sessions handles GET /chat_history/sessions?count=&continuationToken=, which returns a page of sessions.
// Forks of the front ends name the parameter continuation_token, like the member of the reply.
func (h *Handler) sessions(w http.ResponseWriter, r *wire.Request) error {
	scope := h.scopeOf(r)
	list, err := listOf(r)
	if err != nil {
		return err
	}
	count := list.Limit
	list.Limit++ // one more than returned, to find out whether another page follows
	chats, err := h.cfg.Store.Chats(r.Context(), scope, list)
	if err != nil {
		return historyError(err)
	}
	return wire.WriteJSON(w, http.StatusOK, appendSessions(nil, scope, chats, count))
}

func listOf(r *wire.Request) (list transcript.List, err error) {
	query := r.URL.Query()
	list.Limit = defaultCount
	if text := query.Get("count"); text != "" {
		if list.Limit, err = strconv.Atoi(text); err != nil || list.Limit < 1 {
			return list, wire.Invalidf(`"count" must be a whole number over 0`)
		}
		list.Limit = min(list.Limit, maxCount)
	}
	token := cmp.Or(query.Get("continuationToken"), query.Get("continuation_token"))
	if token != "" {
		if list.Before, err = transcript.ParsePlace(token); err != nil {
			return list, wire.Invalidf(`"continuationToken" was not issued by this server`)
		}
	}
	return list, nil
}

func appendSessions(dst []byte, scope transcript.Scope, chats []transcript.Chat, count int) []byte {
	more := len(chats) > count
	chats = chats[:min(len(chats), count)]
	dst = append(dst, `{"sessions":[`...)
	for i := range chats {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(append(dst, `{"id":`...), chats[i].ID)
		dst = wire.AppendString(append(dst, `,"entra_oid":`...), scope.Owner)
		dst = wire.AppendString(append(dst, `,"title":`...), chats[i].Title)
		dst = append(strconv.AppendInt(append(dst, `,"timestamp":`...), chats[i].UpdatedAt.UnixMilli(), 10), '}')
	}
	if !more {
		return append(dst, `],"continuation_token":null}`...)
	}
	return append(wire.AppendString(append(dst, `],"continuation_token":`...), chats[count-1].Token()), '}')
}

// session handles GET /chat_history/sessions/{id}, which returns the pairs as they were saved.
func (h *Handler) session(w http.ResponseWriter, r *wire.Request) error {
	scope, id := h.scopeOf(r), r.PathValue("id")
	t, err := h.cfg.Store.Transcript(r.Context(), scope, id)
	if err != nil {
		return historyError(err)
	}
	body := wire.AppendString([]byte(`{"id":`), id)
	body = append(wire.AppendString(append(body, `,"entra_oid":`...), scope.Owner), `,"answers":`...)
	return wire.WriteJSON(w, http.StatusOK, append(transcript.AppendBodies(body, t.Messages), '}'))
}

// delete handles DELETE /chat_history/sessions/{id}.
func (h *Handler) delete(w http.ResponseWriter, r *wire.Request) error {
	if err := h.cfg.Store.Delete(r.Context(), h.scopeOf(r), r.PathValue("id")); err != nil {
		return historyError(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *Handler) scopeOf(r *wire.Request) transcript.Scope {
	return transcript.Scope{Kind: transcript.Azure, Namespace: h.cfg.Namespace, Owner: r.Who.Subject}
}

// historyError converts an error of the store to a chat.Error. Unknown errors become Unavailable.
func historyError(err error) error {
	if errors.Is(err, transcript.ErrNotFound) {
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no such chat."}
	}
	if chat.KindOf(err) == chat.Internal && !errors.Is(err, context.Canceled) {
		return &chat.Error{Kind: chat.Unavailable, Err: err}
	}
	return err
}

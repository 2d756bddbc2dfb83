package azurechat

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// HistoryConfig is what a History needs. Store and Principal are required.
type HistoryConfig struct {
	Store     transcript.Store
	Principal func(*http.Request) (access.Principal, error) // a *chat.Error refuses the request
	Namespace string                                        // "" means "default"
	Logger    *slog.Logger                                  // nil means slog.Default()
	Now       func() time.Time                              // nil means time.Now
}

// History keeps the chats of the protocol's front ends, which send every exchange once more when it
// is over: a list of pairs of question and response. It is safe for concurrent use.
type History struct{ cfg HistoryConfig }

// NewHistory returns a History with the defaults of cfg filled in.
func NewHistory(cfg HistoryConfig) *History {
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &History{cfg: cfg}
}

// Limits of what a front end may store and list.
const (
	maxSessionID  = 256 // bytes
	maxPairs      = 5000
	maxTranscript = 16 << 20 // bytes of them
	maxTitle      = 50       // characters
	defaultCount  = 10
	maxCount      = 1000
)

// Save answers POST /chat_history {id, answers:[[question, response]…]}: each pair takes the place
// of the one that was stored there.
func (h *History) Save(w http.ResponseWriter, r *http.Request, body []byte) {
	h.answer(w, r, http.StatusCreated, []byte("{}"), h.save(r, body))
}

func (h *History) save(r *http.Request, body []byte) error {
	scope, err := h.scopeOf(r)
	if err != nil {
		return err
	}
	id, pairs, err := pairsOf(body)
	if err != nil {
		return err
	}
	_, err = h.cfg.Store.Save(r.Context(), scope, id, func(t *transcript.Transcript, found bool) error {
		t.UpdatedAt = h.cfg.Now()
		if !found {
			t.CreatedAt = t.UpdatedAt
		}
		t.Title = titleOf(pairs[0])
		t.Messages = append(pairs, t.Messages[min(len(pairs), len(t.Messages)):]...)
		return checkSize(t.Messages)
	})
	return err
}

// pairsOf reads the id of a session and its pairs.
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
		return "", nil, wire.Invalidf(`"answers" must hold a pair at least`)
	}
	return id, pairs, nil
}

// questionOf returns the question of a pair; ok is false when it is none.
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

// Sessions answers GET /chat_history/sessions?count=&continuationToken= with a page of sessions.
// Forks of the front ends call the parameter continuation_token, as the reply does.
func (h *History) Sessions(w http.ResponseWriter, r *http.Request) {
	page, err := h.sessions(r)
	h.answer(w, r, http.StatusOK, page, err)
}

func (h *History) sessions(r *http.Request) ([]byte, error) {
	scope, err := h.scopeOf(r)
	if err != nil {
		return nil, err
	}
	list, err := listOf(r)
	if err != nil {
		return nil, err
	}
	count := list.Limit
	list.Limit++ // to see whether there are more
	chats, err := h.cfg.Store.Chats(r.Context(), scope, list)
	if err != nil {
		return nil, err
	}
	return appendSessions(nil, scope, chats, count), nil
}

func listOf(r *http.Request) (list transcript.List, err error) {
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
		if list.Before, err = placeOf(token); err != nil {
			return list, wire.Invalidf(`"continuationToken" is none that this server gave`)
		}
	}
	return list, nil
}

// tokenOf returns a place in the list as an opaque text, and placeOf reads it.
func tokenOf(c *transcript.Chat) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.UpdatedAt.UnixMicro(), 10) + ":" + c.ID))
}

func placeOf(token string) (*transcript.Place, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, err
	}
	at, id, ok := strings.Cut(string(text), ":")
	micros, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return nil, errors.New("not a place")
	}
	return &transcript.Place{UpdatedAt: time.UnixMicro(micros), ID: id}, nil
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
	return append(wire.AppendString(append(dst, `],"continuation_token":`...), tokenOf(&chats[count-1])), '}')
}

// Session answers GET /chat_history/sessions/{id} with the pairs as they were stored.
func (h *History) Session(w http.ResponseWriter, r *http.Request, id string) {
	session, err := h.session(r, id)
	h.answer(w, r, http.StatusOK, session, err)
}

func (h *History) session(r *http.Request, id string) ([]byte, error) {
	scope, err := h.scopeOf(r)
	if err != nil {
		return nil, err
	}
	t, err := h.cfg.Store.Transcript(r.Context(), scope, id)
	if err != nil {
		return nil, err
	}
	body := wire.AppendString([]byte(`{"id":`), id)
	body = append(wire.AppendString(append(body, `,"entra_oid":`...), scope.Owner), `,"answers":`...)
	return append(transcript.AppendBodies(body, t.Messages), '}'), nil
}

// Delete answers DELETE /chat_history/sessions/{id}.
func (h *History) Delete(w http.ResponseWriter, r *http.Request, id string) {
	scope, err := h.scopeOf(r)
	if err == nil {
		err = h.cfg.Store.Delete(r.Context(), scope, id)
	}
	if err != nil {
		h.answer(w, r, 0, nil, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *History) scopeOf(r *http.Request) (transcript.Scope, error) {
	who, err := h.cfg.Principal(r)
	return transcript.Scope{Kind: transcript.Azure, Namespace: h.cfg.Namespace, Owner: who.Subject}, err
}

// answer answers with a body, or with why there is none, {"error": sentence}.
func (h *History) answer(w http.ResponseWriter, r *http.Request, status int, body []byte, err error) {
	if err == nil {
		if err = wire.WriteJSON(w, status, body); err != nil {
			h.log(r, err)
		}
		return
	}
	if errors.Is(err, transcript.ErrNotFound) {
		err = &chat.Error{Kind: chat.NotFound, Msg: "There is no such chat."}
	} else if chat.KindOf(err) == chat.Internal && !errors.Is(err, context.Canceled) {
		err = &chat.Error{Kind: chat.Unavailable, Err: err}
	}
	h.log(r, err)
	x := &exchange{}
	f := failureFor(wire.FailureOf(err))
	f.SetHeaders(w.Header())
	// A client that is gone is the only reason for an error here, and nobody is left to tell.
	_ = wire.WriteJSON(w, f.Status, x.appendError(nil, err))
}

func (h *History) log(r *http.Request, err error) {
	h.cfg.Logger.Log(r.Context(), wire.LevelOf(r.Context(), err), "history request ended with an error",
		"namespace", h.cfg.Namespace, "error", err)
}

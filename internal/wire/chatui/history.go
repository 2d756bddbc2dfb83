package chatui

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// The modes of a chat.
const (
	standardMode = "standard"
	teamMode     = "multiAgent"
)

// untitled is the title with which clients begin a chat, until its first message gives it one.
const untitled = "New Chat"

// Limits of what a client may store.
const (
	maxTitle      = 1000     // characters
	maxStored     = 10_000   // messages of one chat
	maxTranscript = 16 << 20 // bytes of them
)

// Lengths in characters of what lists show.
const maxShown = 50

var errNoChat = &chat.Error{Kind: chat.NotFound, Msg: "There is no such chat."}

// Chats answers GET /chat-history: the caller's chats, those of one mode with ?mode=.
func (h *Handler) Chats(w http.ResponseWriter, r *http.Request) {
	list, err := h.chats(r)
	h.answer(w, r, list, err)
}

func (h *Handler) chats(r *http.Request) ([]byte, error) {
	scope, err := h.scopeOf(r)
	if err != nil {
		return nil, err
	}
	mode := r.URL.Query().Get("mode")
	if mode != "" && !isMode(mode) {
		return nil, wire.Invalidf(`"mode" must be "standard" or "multiAgent"`)
	}
	chats, err := h.cfg.Store.Chats(r.Context(), scope, transcript.List{Mode: mode})
	if err != nil {
		return nil, err
	}
	const size = 300 // of one chat, roughly
	body := append(make([]byte, 0, 2+size*len(chats)), '[')
	for i := range chats {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendChat(body, &chats[i])
	}
	return append(body, ']'), nil
}

// CreateChat answers POST /chat-history with a new chat.
func (h *Handler) CreateChat(w http.ResponseWriter, r *http.Request, body []byte) {
	begun, err := h.createChat(r, body)
	h.answer(w, r, begun, err)
}

func (h *Handler) createChat(r *http.Request, body []byte) ([]byte, error) {
	scope, err := h.scopeOf(r)
	if err != nil {
		return nil, err
	}
	asked, err := newChat(body)
	if err != nil {
		return nil, err
	}
	return h.save(r, scope, h.cfg.NewID(), func(t *transcript.Transcript, _ bool) error {
		t.Mode, t.Title = asked.Mode, asked.Title
		t.CreatedAt = h.cfg.Now()
		t.UpdatedAt = t.CreatedAt
		return nil
	})
}

// save stores a chat as update leaves it, and returns it as lists show it.
func (h *Handler) save(r *http.Request, scope transcript.Scope, id string, update func(*transcript.Transcript, bool) error) ([]byte, error) {
	c, err := h.cfg.Store.Save(r.Context(), scope, id, update)
	if err != nil {
		return nil, err
	}
	return appendChat(nil, &c), nil
}

// newChat reads the mode and the title of a chat to begin.
func newChat(body []byte) (c transcript.Chat, err error) {
	object, err := wire.ParseObject(body)
	if err != nil {
		return c, err
	}
	c.Mode, c.Title = standardMode, untitled
	if v, _ := object.Get("mode"); v != nil && !v.IsNull() {
		if c.Mode, _ = v.Text(); !isMode(c.Mode) {
			return c, wire.Invalidf(`"mode" must be "standard" or "multiAgent"`)
		}
	}
	if v, _ := object.Get("title"); v != nil && !v.IsNull() {
		c.Title, err = titleOf(v)
	}
	return c, err
}

func titleOf(v wire.Value) (string, error) {
	title, ok := v.Text()
	if !ok || utf8.RuneCountInString(title) > maxTitle {
		return "", wire.Invalidf(`"title" must be a string of %d characters at most`, maxTitle)
	}
	return chat.Seen(title), nil
}

func isMode(mode string) bool { return mode == standardMode || mode == teamMode }

// Messages answers GET /chat-history/{id}/messages with the messages as they were stored.
func (h *Handler) Messages(w http.ResponseWriter, r *http.Request, id string) {
	list, err := h.messages(r, id)
	h.answer(w, r, list, err)
}

func (h *Handler) messages(r *http.Request, id string) ([]byte, error) {
	scope, err := h.scopeOf(r)
	if err != nil {
		return nil, err
	}
	t, err := h.cfg.Store.Transcript(r.Context(), scope, id)
	if err != nil {
		return nil, err
	}
	return transcript.AppendBodies(nil, t.Messages), nil
}

// PutMessages answers PUT /chat-history/{id} and PUT /chat-history/{id}/messages, which both add
// messages to a chat or change some. A title beside the messages, or in their place, renames the chat.
func (h *Handler) PutMessages(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	updated, err := h.putMessages(r, id, body)
	h.answer(w, r, updated, err)
}

func (h *Handler) putMessages(r *http.Request, id string, body []byte) ([]byte, error) {
	scope, err := h.scopeOf(r)
	if err != nil {
		return nil, err
	}
	put, err := changesOf(body)
	if err != nil {
		return nil, err
	}
	return h.save(r, scope, id, func(t *transcript.Transcript, found bool) error {
		if !found {
			return transcript.ErrNotFound
		}
		t.Messages = merge(t.Messages, put.messages)
		if put.title != "" {
			t.Title = put.title
		}
		t.UpdatedAt = h.cfg.Now()
		describe(t)
		return checkSize(t.Messages)
	})
}

func checkSize(messages []transcript.Message) error {
	size := 0
	for _, m := range messages {
		size += len(m.Body)
	}
	if len(messages) > maxStored || size > maxTranscript {
		return &chat.Error{Kind: chat.TooLarge, Msg: "The chat is too long to be stored."}
	}
	return nil
}

// describe derives what lists show of a chat: its last message, and its title as long as the
// client has given it none.
func describe(t *transcript.Transcript) {
	if n := len(t.Messages); n > 0 {
		t.LastMessage = shorten(readFields(t.Messages[n-1].Body).content)
	}
	if title := strings.TrimSpace(t.Title); title != "" && title != untitled {
		return
	}
	for _, m := range t.Messages {
		f := readFields(m.Body)
		if title := strings.Join(strings.Fields(chat.Seen(f.content)), " "); strings.EqualFold(f.role, "user") && title != "" {
			t.Title = shorten(title)
			return
		}
	}
}

// shorten cuts what is too long for a list, with three dots behind it, and what is not seen.
func shorten(s string) string {
	const dots = "..."
	s = chat.Seen(s)
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown-len(dots)]) + dots
}

// DeleteChat answers DELETE /chat-history/{id}.
func (h *Handler) DeleteChat(w http.ResponseWriter, r *http.Request, id string) {
	scope, err := h.scopeOf(r)
	if err == nil {
		err = h.cfg.Store.Delete(r.Context(), scope, id)
	}
	h.answer(w, r, []byte(`{"success":true}`), err)
}

func (h *Handler) scopeOf(r *http.Request) (transcript.Scope, error) {
	who, err := h.cfg.Principal(r)
	return transcript.Scope{Kind: transcript.ChatUI, Namespace: h.cfg.Namespace, Owner: who.Subject}, err
}

// answer answers with a body, or with why there is none.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, body []byte, err error) {
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if err := wire.WriteJSON(w, http.StatusOK, body); err != nil {
		h.logHistory(r, err)
	}
}

func appendChat(dst []byte, c *transcript.Chat) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), c.ID)
	dst = wire.AppendString(append(dst, `,"title":`...), c.Title)
	if c.Count > 0 {
		dst = wire.AppendString(append(dst, `,"lastMessage":`...), c.LastMessage)
	}
	dst = append(appendTime(append(dst, `,"lastUpdated":"`...), c.UpdatedAt), '"')
	dst = strconv.AppendInt(append(dst, `,"messageCount":`...), int64(c.Count), 10)
	return append(wire.AppendString(append(dst, `,"mode":`...), c.Mode), '}')
}

// refuse answers with an error of the store or of the request.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, transcript.ErrNotFound):
		err = errNoChat
	case chat.KindOf(err) == chat.Internal && !errors.Is(err, context.Canceled):
		err = &chat.Error{Kind: chat.Unavailable, Msg: "The chats cannot be reached. Please try again.", Err: err}
	}
	h.logHistory(r, err)
	h.writeError(w, &exchange{}, nil, err)
}

func (h *Handler) logHistory(r *http.Request, err error) {
	h.cfg.Logger.Log(r.Context(), wire.LevelOf(r.Context(), err), "history request ended with an error",
		"namespace", h.cfg.Namespace, "error", err)
}

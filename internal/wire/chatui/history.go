package chatui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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

// untitled is the title that clients give to a new chat until its first message provides one.
const untitled = "New Chat"

// Limits of stored chats.
const (
	maxTitle      = 1000     // characters
	maxFolder     = 64       // bytes of the id of a folder
	maxStored     = 10_000   // messages of one chat
	maxPage       = 500      // largest page that may be requested, in chats or messages
	maxTranscript = 16 << 20 // bytes of all messages of one chat
)

// maxShown is the maximum length in characters of titles and last messages in lists.
const maxShown = 50

var errNoChat = &chat.Error{Kind: chat.NotFound, Msg: "There is no such chat."}

// history returns the routes of the chat history below a path.
func (h *Handler) history(path string) []wire.Route {
	rt := wire.Route{Right: wire.Ask, Fail: h.fail}
	one := path + "/{id}"
	routes := []wire.Route{
		rt.At("GET "+path, paged(h.chats)),
		rt.At("GET "+path+"/search", answering(h.search)),
		rt.At("POST "+path, answering(h.createChat)),
		rt.At("GET "+one, answering(h.chatOf)),
		rt.At("PUT "+one, answering(h.putMessages)),
		rt.At("DELETE "+one, answering(h.deleteChat)),
		rt.At("GET "+one+"/messages", paged(h.messages)),
		rt.At("PUT "+one+"/messages", answering(h.putMessages)),
	}
	for i, rt := range routes {
		if strings.HasPrefix(rt.Pattern, "P") {
			routes[i].Body = wire.JSON
		}
	}
	return routes
}

// answering returns a handler that responds with the body that bodyOf returns.
func answering(bodyOf func(*wire.Request) ([]byte, error)) func(http.ResponseWriter, *wire.Request) error {
	return paged(func(r *wire.Request) (body []byte, next string, err error) {
		body, err = bodyOf(r)
		return body, "", err
	})
}

// paged returns a handler that responds with the body that bodyOf returns. next is the parameter "before" of the next
// page, to which the response links; "" means that there is none.
func paged(bodyOf func(*wire.Request) (body []byte, next string, err error)) func(http.ResponseWriter, *wire.Request) error {
	return func(w http.ResponseWriter, r *wire.Request) error {
		body, next, err := bodyOf(r)
		if next != "" {
			values := r.URL.Query()
			values.Set("before", next)
			w.Header().Set("Link", "<"+r.URL.EscapedPath()+"?"+values.Encode()+`>; rel="next"`)
		}
		switch {
		case err == nil && r.Method == http.MethodGet && (r.URL.RawQuery == "" || r.URL.Query().Has("limit")):
			return wire.WriteCompressed(w, r, body) // not for a search: its result depends on text from the request
		case err == nil:
			return wire.WriteJSON(w, http.StatusOK, body)
		case errors.Is(err, transcript.ErrNotFound):
			return errNoChat
		case chat.KindOf(err) == chat.Internal && !errors.Is(err, context.Canceled):
			return &chat.Error{Kind: chat.Unavailable, Msg: "The chats cannot be reached. Please try again.", Err: err}
		}
		return err
	}
}

// chats handles GET /chat-history. It lists the caller's chats, or with ?mode= those of one mode. With ?limit= it
// lists one page of those that are neither pinned nor in a folder. The first page begins with all others, in addition to limit.
func (h *Handler) chats(r *wire.Request) (body []byte, next string, err error) {
	query := r.URL.Query()
	list := transcript.List{Mode: query.Get("mode")}
	if list.Mode != "" && !isMode(list.Mode) {
		return nil, "", wire.Invalidf(`"mode" must be "standard" or "multiAgent"`)
	}
	limit, err := limitOf(query)
	if err != nil {
		return nil, "", err
	}
	var kept []transcript.Chat
	if limit > 0 {
		list.Part, list.Limit = transcript.Loose, limit+1 // one more than returned, to find out whether another page follows
		if token := query.Get("before"); token != "" {
			if list.Before, err = transcript.ParsePlace(token); err != nil {
				return nil, "", wire.Invalidf(`"before" was not issued by this server`)
			}
		} else if kept, err = h.cfg.Store.Chats(r.Context(), h.scopeOf(r), transcript.List{Mode: list.Mode, Part: transcript.Kept}); err != nil {
			return nil, "", err
		}
	}
	chats, err := h.cfg.Store.Chats(r.Context(), h.scopeOf(r), list)
	if err != nil {
		return nil, "", err
	}
	if limit > 0 && len(chats) > limit {
		chats = chats[:limit]
		next = chats[limit-1].Token()
	}
	return appendChats(append(kept, chats...)), next, nil
}

// limitOf reads the length of a page; 0 means no limit.
func limitOf(query url.Values) (int, error) {
	text := query.Get("limit")
	if text == "" {
		if query.Get("before") != "" {
			return 0, wire.Invalidf(`"before" needs "limit"`)
		}
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, wire.Invalidf(`"limit" must be a whole number from 1 to %d`, maxPage)
	}
	return n, nil
}

func appendChats(chats []transcript.Chat) []byte {
	const size = 300 // approximate size of one chat
	body := append(make([]byte, 0, 2+size*len(chats)), '[')
	for i := range chats {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendChat(body, &chats[i])
	}
	return append(body, ']')
}

// createChat handles POST /chat-history, which creates a chat.
func (h *Handler) createChat(r *wire.Request) ([]byte, error) {
	asked, err := newChat(r.Body)
	if err != nil {
		return nil, err
	}
	return h.save(r, h.cfg.NewID(), func(t *transcript.Transcript, _ bool) error {
		t.Mode, t.Title = asked.Mode, asked.Title
		t.CreatedAt = h.cfg.Now()
		t.UpdatedAt = t.CreatedAt
		return nil
	})
}

// save stores a chat after update has changed it, and returns it in the form for lists.
func (h *Handler) save(r *wire.Request, id string, update func(*transcript.Transcript, bool) error) ([]byte, error) {
	c, err := h.cfg.Store.Save(r.Context(), h.scopeOf(r), id, update)
	if err != nil {
		return nil, err
	}
	return appendChat(nil, &c), nil
}

// newChat reads the mode and the title of a new chat.
func newChat(body []byte) (c transcript.Chat, err error) {
	object, err := wire.ParseObject(body)
	if err != nil {
		return c, err
	}
	c.Mode, c.Title = standardMode, untitled
	if v, _ := object.Get("mode"); v.IsGiven() {
		if c.Mode, _ = v.Text(); !isMode(c.Mode) {
			return c, wire.Invalidf(`"mode" must be "standard" or "multiAgent"`)
		}
	}
	if v, _ := object.Get("title"); v.IsGiven() {
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

// chatOf handles GET /chat-history/{id}. It returns the chat as lists show it, without messages.
func (h *Handler) chatOf(r *wire.Request) ([]byte, error) {
	t, err := h.cfg.Store.Transcript(r.Context(), h.scopeOf(r), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return appendChat(nil, &t.Chat), nil
}

// messages handles GET /chat-history/{id}/messages. It returns the messages as they were stored. With ?limit= it
// returns only the last ones, or with ?before= the last ones before that message; see pageBefore.
func (h *Handler) messages(r *wire.Request) (body []byte, next string, err error) {
	query := r.URL.Query()
	limit, err := limitOf(query)
	if err != nil {
		return nil, "", err
	}
	t, err := h.cfg.Store.Transcript(r.Context(), h.scopeOf(r), r.PathValue("id"))
	if err != nil {
		return nil, "", err
	}
	if limit > 0 {
		var found bool
		if t.Messages, next, found = pageBefore(t.Messages, query.Get("before"), limit); !found {
			return nil, "", wire.Invalidf(`"before" must be the id of a message of this chat`)
		}
	}
	return transcript.AppendBodies(nil, t.Messages), next, nil
}

// putMessages handles PUT /chat-history/{id} and PUT /chat-history/{id}/messages, which both add or
// change messages of a chat. A title, with or without messages, renames the chat; pinned pins or
// unpins it; folder moves it to a folder, or out of its folder.
func (h *Handler) putMessages(r *wire.Request) ([]byte, error) {
	put, err := changesOf(r.Body)
	if err != nil {
		return nil, err
	}
	return h.save(r, r.PathValue("id"), func(t *transcript.Transcript, found bool) error {
		if !found {
			return transcript.ErrNotFound
		}
		t.Messages = merge(t.Messages, put.messages)
		if put.title != "" {
			t.Title = put.title
		}
		if put.pinned != nil {
			t.Pinned = *put.pinned
		}
		if put.folder != nil {
			t.Folder = *put.folder
		}
		if put.pinned == nil && put.folder == nil || len(put.messages) > 0 || put.title != "" {
			t.UpdatedAt = h.cfg.Now()
		}
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

// describe sets the values of a chat that lists show: its last message, and its title if it is still
// untitled.
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

// shorten returns a text for lists: without invisible characters, and truncated with three dots if it is too
// long.
func shorten(s string) string {
	const dots = "..."
	s = chat.Seen(s)
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown-len(dots)]) + dots
}

// deleteChat handles DELETE /chat-history/{id}.
func (h *Handler) deleteChat(r *wire.Request) ([]byte, error) {
	return []byte(`{"success":true}`), h.cfg.Store.Delete(r.Context(), h.scopeOf(r), r.PathValue("id"))
}

func (h *Handler) scopeOf(r *wire.Request) transcript.Scope {
	return transcript.Scope{Kind: transcript.ChatUI, Namespace: h.cfg.Namespace, Owner: r.Who.Subject}
}

func appendChat(dst []byte, c *transcript.Chat) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), c.ID)
	dst = wire.AppendString(append(dst, `,"title":`...), c.Title)
	if c.Count > 0 {
		dst = wire.AppendString(append(dst, `,"lastMessage":`...), c.LastMessage)
	}
	dst = append(appendTime(append(dst, `,"lastUpdated":"`...), c.UpdatedAt), '"')
	dst = strconv.AppendInt(append(dst, `,"messageCount":`...), int64(c.Count), 10)
	dst = wire.AppendString(append(dst, `,"mode":`...), c.Mode)
	if c.Pinned {
		dst = append(dst, `,"pinned":true`...)
	}
	if c.Folder != "" {
		dst = wire.AppendString(append(dst, `,"folder":`...), c.Folder)
	}
	if c.Link.ID != "" {
		dst = append(dst, `,"shared":true`...)
	}
	return append(dst, '}')
}

package yourdata

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// Limits of stored conversations and of lists of them.
const (
	maxTitle      = 1000     // characters
	shownTitle    = 50       // characters of a title that is made from a question
	maxFeedback   = 1000     // bytes
	maxStored     = 10_000   // messages in one conversation
	maxTranscript = 16 << 20 // bytes of all messages in one conversation
	maxOffset     = 100_000  // conversations
	pageOfList    = 25       // conversations
)

// timeFormat is the format of Python's datetime.isoformat, without a time zone.
const timeFormat = "2006-01-02T15:04:05.000000"

// feedbackMark separates the ids of the conversation and of the turn in the id of an answer. A request with feedback
// names only the message, so its id must contain that of the conversation.
const feedbackMark = "."

// stored is the JSON of a stored message.
type stored struct {
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"` // a string or a list of parts
	CreatedAt string          `json:"createdAt"`
	Feedback  string          `json:"feedback"`
}

// answering returns a handler that responds with the body that a function returns.
func (h *Handler) answering(bodyOf func(*wire.Request) ([]byte, error)) func(http.ResponseWriter, *wire.Request) error {
	return func(w http.ResponseWriter, r *wire.Request) error {
		body, err := bodyOf(r)
		if err != nil {
			return historyError(err)
		}
		return wire.WriteJSON(w, http.StatusOK, body)
	}
}

// historyError converts an error of the store to one for the client. It returns other errors unchanged.
func historyError(err error) error {
	if errors.Is(err, transcript.ErrNotFound) {
		return &chat.Error{Kind: chat.NotFound, Msg: "The conversation was not found. It does not exist, or belongs to somebody else."}
	}
	if chat.KindOf(err) == chat.Internal && !errors.Is(err, context.Canceled) {
		return &chat.Error{Kind: chat.Unavailable, Msg: "The chat history cannot be reached. Please try again.", Err: err}
	}
	return err
}

func (h *Handler) scopeOf(r *wire.Request) transcript.Scope {
	return transcript.Scope{Kind: transcript.YourData, Namespace: h.cfg.Namespace, Owner: r.Who.Subject}
}

// generate handles POST /history/generate. It stores the question, in a new conversation unless the request names one,
// and answers it. The front end sends the complete answer to POST /history/update to store it.
func (h *Handler) generate(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	x, err := h.exchangeOf(r, object)
	if err != nil {
		return err
	}
	messages, _ := object.Get("messages")
	question, err := h.questionOf(messages)
	if err != nil {
		return err
	}
	id, isNew, err := conversationOf(object)
	if err != nil {
		return err
	}
	if isNew {
		id = h.cfg.NewID()
	}
	now := h.cfg.Now()
	saved, err := h.save(r, id, now, []stored{question}, func(t *transcript.Transcript, found bool) error {
		if !found && !isNew {
			return transcript.ErrNotFound
		}
		if !found {
			t.CreatedAt, t.Title = now, titleOf(x.req.Messages)
		}
		return nil
	})
	if err != nil {
		return historyError(err)
	}
	x.id = id + feedbackMark + x.req.TurnID
	x.metadata = metadataOf(saved, isNew)
	return h.answer(w, r, x)
}

// metadataOf returns the history_metadata for the lines of an answer.
func metadataOf(c transcript.Chat, isNew bool) json.RawMessage {
	dst := []byte{'{'}
	if isNew {
		dst = wire.AppendString(append(dst, `"title":`...), c.Title)
		dst = append(wire.AppendString(append(dst, `,"date":`...), c.CreatedAt.UTC().Format(timeFormat)), ',')
	}
	return append(wire.AppendString(append(dst, `"conversation_id":`...), c.ID), '}')
}

// questionOf returns the last message. It must be a user message.
func (h *Handler) questionOf(messages wire.Value) (stored, error) {
	elements, _ := messages.Elements()
	var last wire.Value
	for v := range elements {
		last = v
	}
	m, ok := h.storedOf(last)
	if !ok || m.Role != "user" {
		return m, wire.Invalidf(`the last element of "messages" must be a user message`)
	}
	return m, nil
}

// storedOf returns a message in the form for storage; ok is false if v is not a message. It adds a missing id.
func (h *Handler) storedOf(v wire.Value) (m stored, ok bool) {
	object, ok := v.Object()
	if !ok {
		return m, false
	}
	id, _ := object.Get("id")
	role, _ := object.Get("role")
	content, _ := object.Get("content")
	if m.ID, ok = id.Text(); !ok || m.ID == "" {
		m.ID = h.cfg.NewID()
	}
	m.Role, _ = role.Text()
	if _, err := textOfContent(content, "content"); err != nil {
		return m, false
	}
	m.Content, m.CreatedAt = content.Compact(), h.cfg.Now().UTC().Format(timeFormat)
	return m, m.Role != ""
}

// titleOf makes a title from the question, which is the last message.
func titleOf(messages []chat.Message) string {
	question := messages[len(messages)-1].Text()
	title := []rune(strings.Join(strings.Fields(chat.Seen(question)), " "))
	if len(title) > shownTitle {
		return string(title[:shownTitle-3]) + "..."
	}
	return string(title)
}

// save calls change, and then adds messages to a conversation. A message replaces a stored one with the same id and role.
func (h *Handler) save(r *wire.Request, id string, now time.Time, messages []stored, change func(*transcript.Transcript, bool) error) (transcript.Chat, error) {
	return h.cfg.Store.Save(r.Context(), h.scopeOf(r), id, func(t *transcript.Transcript, found bool) error {
		if err := change(t, found); err != nil {
			return err
		}
		t.UpdatedAt = now
		for _, m := range messages {
			body, err := wire.AppendJSON(nil, m)
			if err != nil {
				return err
			}
			put(t, transcript.Message{ID: m.Role + ":" + m.ID, Body: body})
		}
		return checkSize(t.Messages)
	})
}

func put(t *transcript.Transcript, m transcript.Message) {
	for i := range t.Messages {
		if t.Messages[i].ID == m.ID {
			t.Messages[i] = m
			return
		}
	}
	t.Messages = append(t.Messages, m)
}

func checkSize(messages []transcript.Message) error {
	size := 0
	for _, m := range messages {
		size += len(m.Body)
	}
	if len(messages) > maxStored || size > maxTranscript {
		return &chat.Error{Kind: chat.TooLarge, Msg: "The conversation is too long to be stored."}
	}
	return nil
}

func mustExist(_ *transcript.Transcript, found bool) error {
	if !found {
		return transcript.ErrNotFound
	}
	return nil
}

// update handles POST /history/update, which stores an answer: the last message, and the tool message before it. If the
// user stopped the answer, the last message is the question, which is already stored.
func (h *Handler) update(r *wire.Request) ([]byte, error) {
	object, id, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	v, _ := object.Get("messages")
	elements, ok := v.Elements()
	if !ok {
		return nil, wire.Invalidf(`"messages" must be a list of messages`)
	}
	var before, last wire.Value
	for v := range elements {
		before, last = last, v
	}
	var messages []stored
	if answer, ok := h.storedOf(last); ok && answer.Role == "assistant" {
		if tool, ok := h.storedOf(before); ok && tool.Role == "tool" {
			tool.ID = answer.ID + ":tool" // the front end uses the same id for both
			messages = append(messages, tool)
		}
		messages = append(messages, answer)
	}
	if _, err = h.save(r, id, h.cfg.Now(), messages, mustExist); err != nil {
		return nil, err
	}
	return []byte(`{"success":true}`), nil
}

// requestOf reads a request about one conversation.
func requestOf(r *wire.Request) (object wire.Object, id string, err error) {
	if object, err = r.Object(); err != nil {
		return object, "", err
	}
	id, missing, err := conversationOf(object)
	if err == nil && missing {
		err = wire.Invalidf("conversation_id is required")
	}
	return object, id, err
}

// conversationOf returns the id of the conversation that a request names; missing means that it names none.
func conversationOf(object wire.Object) (id string, missing bool, err error) {
	v, _ := object.Get("conversation_id")
	if !v.IsGiven() {
		return "", true, nil
	}
	id, ok := v.Text()
	if !ok {
		return "", false, wire.Invalidf(`"conversation_id" must be a string`)
	}
	return id, id == "", nil
}

// read handles POST /history/read.
func (h *Handler) read(r *wire.Request) ([]byte, error) {
	_, id, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	t, err := h.cfg.Store.Transcript(r.Context(), h.scopeOf(r), id)
	if err != nil {
		return nil, err
	}
	body := wire.AppendString([]byte(`{"conversation_id":`), id)
	return append(transcript.AppendBodies(append(body, `,"messages":`...), t.Messages), '}'), nil
}

// rename handles POST /history/rename. It responds with the conversation.
func (h *Handler) rename(r *wire.Request) ([]byte, error) {
	object, id, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	v, _ := object.Get("title")
	title, ok := v.Text()
	title = strings.TrimSpace(chat.Seen(title))
	if !ok || title == "" || len([]rune(title)) > maxTitle {
		return nil, wire.Invalidf("title is required: 1 to %d characters", maxTitle)
	}
	c, err := h.save(r, id, h.cfg.Now(), nil, func(t *transcript.Transcript, found bool) error {
		t.Title = title
		return mustExist(t, found)
	})
	if err != nil {
		return nil, err
	}
	return appendConversation(nil, &c, r.Who.Subject), nil
}

// clear handles POST /history/clear. It deletes the messages but keeps the conversation.
func (h *Handler) clear(r *wire.Request) ([]byte, error) {
	_, id, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	if _, err = h.save(r, id, h.cfg.Now(), nil, func(t *transcript.Transcript, found bool) error {
		t.Messages = nil
		return mustExist(t, found)
	}); err != nil {
		return nil, err
	}
	return said("Successfully deleted messages in conversation", "conversation_id", id), nil
}

// delete handles DELETE /history/delete.
func (h *Handler) delete(r *wire.Request) ([]byte, error) {
	_, id, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	if err := h.cfg.Store.Delete(r.Context(), h.scopeOf(r), id); err != nil {
		return nil, err
	}
	return said("Successfully deleted conversation and messages", "conversation_id", id), nil
}

// deleteAll handles DELETE /history/delete_all.
func (h *Handler) deleteAll(r *wire.Request) ([]byte, error) {
	scope := h.scopeOf(r)
	chats, err := h.cfg.Store.Chats(r.Context(), scope, transcript.List{})
	if err != nil {
		return nil, err
	}
	for i := range chats {
		if err := h.cfg.Store.Delete(r.Context(), scope, chats[i].ID); err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return nil, err
		}
	}
	return said("Successfully deleted conversation and messages for user "+r.Who.Subject, "user_id", r.Who.Subject), nil
}

func said(message, key, value string) []byte {
	dst := wire.AppendString([]byte(`{"message":`), message)
	dst = append(wire.AppendString(append(dst, ','), key), ':')
	return append(wire.AppendString(dst, value), '}')
}

// feedback handles POST /history/message_feedback. The id of an answer begins with the id of its conversation; see
// feedbackMark.
func (h *Handler) feedback(r *wire.Request) ([]byte, error) {
	object, err := r.Object()
	if err != nil {
		return nil, err
	}
	v, _ := object.Get("message_id")
	message, ok := v.Text()
	if !ok || message == "" {
		return nil, wire.Invalidf("message_id is required")
	}
	v, _ = object.Get("message_feedback")
	text, ok := v.Text()
	if !ok || text == "" || len(text) > maxFeedback {
		return nil, wire.Invalidf("message_feedback is required: 1 to %d bytes", maxFeedback)
	}
	id, _, _ := strings.Cut(message, feedbackMark)
	if _, err = h.cfg.Store.Save(r.Context(), h.scopeOf(r), id, func(t *transcript.Transcript, found bool) error {
		for i := range t.Messages {
			if m := &t.Messages[i]; m.ID == "assistant:"+message {
				return setFeedback(m, text)
			}
		}
		return &chat.Error{Kind: chat.NotFound, Msg: "Unable to update message " + message + ". It either does not exist or the user does not have access to it."}
	}); err != nil {
		return nil, err
	}
	return said("Successfully updated message with feedback "+text, "message_id", message), nil
}

func setFeedback(m *transcript.Message, text string) error {
	var s stored
	if err := json.Unmarshal(m.Body, &s); err != nil {
		return err
	}
	s.Feedback = text
	body, err := wire.AppendJSON(nil, s)
	m.Body = body
	return err
}

// list handles GET /history/list?offset=. It returns up to 25 conversations, the most recently changed first.
func (h *Handler) list(r *wire.Request) ([]byte, error) {
	offset := 0
	if text := r.URL.Query().Get("offset"); text != "" {
		var err error
		if offset, err = strconv.Atoi(text); err != nil || offset < 0 || offset > maxOffset {
			return nil, wire.Invalidf(`"offset" must be a whole number from 0 to %d`, maxOffset)
		}
	}
	chats, err := h.cfg.Store.Chats(r.Context(), h.scopeOf(r), transcript.List{Limit: offset + pageOfList})
	if err != nil {
		return nil, err
	}
	body := []byte{'['}
	for i := min(offset, len(chats)); i < len(chats); i++ {
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = appendConversation(body, &chats[i], r.Who.Subject)
	}
	return append(body, ']'), nil
}

func appendConversation(dst []byte, c *transcript.Chat, owner string) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), c.ID)
	dst = wire.AppendString(append(dst, `,"type":"conversation","createdAt":`...), c.CreatedAt.UTC().Format(timeFormat))
	dst = wire.AppendString(append(dst, `,"updatedAt":`...), c.UpdatedAt.UTC().Format(timeFormat))
	dst = wire.AppendString(append(dst, `,"userId":`...), owner)
	return append(wire.AppendString(append(dst, `,"title":`...), c.Title), '}')
}

// ensure handles GET /history/ensure. The response makes front ends store chats on the server.
func ensure(*wire.Request) ([]byte, error) {
	return []byte(`{"message":"CosmosDB is configured and working"}`), nil
}

package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// conversationBody is the id of the first message of a stored conversation, which holds its metadata. Its
// items follow.
const conversationBody = "metadata"

// The limits of a conversation.
const (
	maxStored       = 10_000   // items
	maxConversation = 16 << 20 // bytes of all items together
)

var errConversationFull = &chat.Error{Kind: chat.TooLarge, Msg: "The conversation is too long to be stored."}

// createConversation handles POST /v1/conversations.
func (h *Handler) createConversation(w http.ResponseWriter, r *wire.Request) error {
	if len(bytes.TrimSpace(r.Body)) == 0 {
		r.SetBody([]byte("{}"))
	}
	object, err := r.Object()
	if err != nil {
		return err
	}
	metadata := json.RawMessage(`{}`)
	if v, _ := object.Get("metadata"); v.IsGiven() {
		if metadata, err = metadataOf(v); err != nil {
			return err
		}
	}
	id := h.cfg.NewID()
	var items []transcript.Message
	if v, _ := object.Get("items"); v.IsGiven() {
		if items, err = h.itemsOf(r, v, id); err != nil {
			return err
		}
	}
	return h.change(w, r, conversationPrefix+id, func(t *transcript.Transcript, _ bool) error {
		t.CreatedAt = h.cfg.Now()
		t.Messages = append([]transcript.Message{{ID: conversationBody, Body: metadata}}, items...)
		return nil
	})
}

// change changes a conversation and responds with it.
func (h *Handler) change(w http.ResponseWriter, r *wire.Request, id string, change func(*transcript.Transcript, bool) error) error {
	var metadata json.RawMessage
	c, err := h.cfg.Store.Save(r.Context(), h.scope(transcript.Conversations, r.Who), id, func(t *transcript.Transcript, found bool) error {
		if err := change(t, found); err != nil {
			return err
		}
		t.UpdatedAt, metadata = h.cfg.Now(), t.Messages[0].Body
		return checkSize(t.Messages)
	})
	if err != nil {
		return h.notFound(r, err, "conversation")
	}
	return writeConversation(w, c, metadata)
}

func writeConversation(w http.ResponseWriter, c transcript.Chat, metadata json.RawMessage) error {
	return wire.Reply(w, http.StatusOK, struct {
		ID        string          `json:"id"`
		Object    string          `json:"object"`
		CreatedAt int64           `json:"created_at"`
		Metadata  json.RawMessage `json:"metadata"`
	}{c.ID, "conversation", c.CreatedAt.Unix(), metadata})
}

func checkSize(messages []transcript.Message) error {
	size := 0
	for _, m := range messages {
		size += len(m.Body)
	}
	if len(messages) > maxStored || size > maxConversation {
		return errConversationFull
	}
	return nil
}

// itemsOf reads items to store. They must be valid as the input of a response. Missing ids are derived
// from owner.
func (h *Handler) itemsOf(r *wire.Request, v wire.Value, owner string) ([]transcript.Message, error) {
	if _, ok := v.Elements(); !ok {
		return nil, openai.Refusef("items", openai.Invalid, `"items" must be a list of items.`)
	}
	items, err := h.inputOf(r.Context(), r.Who, v, "items")
	if err != nil {
		return nil, err
	}
	if _, err := messagesOf(items, "items", h.readable()); err != nil {
		return nil, err
	}
	return store(items, owner), nil
}

// conversation handles GET /v1/conversations/{id}.
func (h *Handler) conversation(w http.ResponseWriter, r *wire.Request) error {
	t, err := h.conversed(r)
	if err != nil {
		return err
	}
	return writeConversation(w, t.Chat, t.Messages[0].Body)
}

// conversed returns the conversation that the path of a request names.
func (h *Handler) conversed(r *wire.Request) (transcript.Transcript, error) {
	t, err := h.cfg.Store.Transcript(r.Context(), h.scope(transcript.Conversations, r.Who), r.PathValue("id"))
	return t, h.notFound(r, err, "conversation")
}

// updateConversation handles POST /v1/conversations/{id}, which replaces the metadata.
func (h *Handler) updateConversation(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	v, _ := object.Get("metadata")
	if !v.IsGiven() {
		return openai.Refusef("metadata", openai.Missing, `"metadata" must be an object of strings.`)
	}
	metadata, err := metadataOf(v)
	if err != nil {
		return err
	}
	return h.change(w, r, r.PathValue("id"), func(t *transcript.Transcript, found bool) error {
		if !found {
			return transcript.ErrNotFound
		}
		t.Messages[0].Body = metadata
		return nil
	})
}

// deleteConversation handles DELETE /v1/conversations/{id}.
func (h *Handler) deleteConversation(w http.ResponseWriter, r *wire.Request) error {
	id := r.PathValue("id")
	if err := h.cfg.Store.Delete(r.Context(), h.scope(transcript.Conversations, r.Who), id); err != nil {
		return h.notFound(r, err, "conversation")
	}
	return deleted(w, id, "conversation.deleted")
}

// addItems handles POST /v1/conversations/{id}/items.
func (h *Handler) addItems(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	v, _ := object.Get("items")
	items, err := h.itemsOf(r, v, h.cfg.NewID())
	if err != nil {
		return err
	}
	if err := h.extend(r.Context(), r.Who, r.PathValue("id"), items); err != nil {
		return h.notFound(r, err, "conversation")
	}
	return wire.WriteJSON(w, http.StatusOK, appendList(nil, items, false))
}

// extend adds those items whose ids the conversation does not contain yet. Hence a request for a response
// adds nothing when it is repeated with the same Idempotency-Key, which yields the same ids.
func (h *Handler) extend(ctx context.Context, who access.Principal, id string, items []transcript.Message) error {
	_, err := h.cfg.Store.Save(ctx, h.scope(transcript.Conversations, who), id, func(t *transcript.Transcript, found bool) error {
		if !found {
			return transcript.ErrNotFound
		}
		for _, m := range items {
			if indexOf(t.Messages, m.ID) < 0 {
				t.Messages = append(t.Messages, m)
			}
		}
		t.UpdatedAt = h.cfg.Now()
		return checkSize(t.Messages)
	})
	return err
}

// items handles GET /v1/conversations/{id}/items.
func (h *Handler) items(w http.ResponseWriter, r *wire.Request) error {
	t, err := h.conversed(r)
	if err != nil {
		return err
	}
	return list(w, r, t.Messages[1:])
}

// item handles GET /v1/conversations/{id}/items/{item}.
func (h *Handler) item(w http.ResponseWriter, r *wire.Request) error {
	t, err := h.conversed(r)
	if err != nil {
		return err
	}
	i := indexOf(t.Messages, r.PathValue("item"))
	if i < 0 {
		return errNoItem
	}
	return wire.WriteJSON(w, http.StatusOK, slices.Clone(t.Messages[i].Body))
}

// deleteItem handles DELETE /v1/conversations/{id}/items/{item}. It responds with the conversation.
func (h *Handler) deleteItem(w http.ResponseWriter, r *wire.Request) error {
	return h.change(w, r, r.PathValue("id"), func(t *transcript.Transcript, found bool) error {
		if !found {
			return transcript.ErrNotFound
		}
		i := indexOf(t.Messages, r.PathValue("item"))
		if i < 0 {
			return errNoItem
		}
		t.Messages = slices.Delete(t.Messages, i, i+1)
		return nil
	})
}

var errNoItem = openai.Refuse(chat.NotFound, "item_id", "not_found", "There is no item with this id in the conversation.")

// indexOf returns the index of the item with an id, or -1. It skips the metadata.
func indexOf(messages []transcript.Message, id string) int {
	for i, m := range messages {
		if i > 0 && m.ID == id {
			return i
		}
	}
	return -1
}

// said returns the latest messages of a stored conversation.
func (h *Handler) said(ctx context.Context, who access.Principal, id string) ([]chat.Message, error) {
	t, err := h.cfg.Store.Transcript(ctx, h.scope(transcript.Conversations, who), id)
	switch {
	case errors.Is(err, transcript.ErrNotFound):
		return nil, openai.Refuse(chat.NotFound, "conversation", "not_found", "There is no conversation with the id "+strconv.Quote(wire.Clip(id))+".")
	case err != nil:
		return nil, unreachable(err)
	}
	items := make([]wire.Value, 0, len(t.Messages))
	for _, m := range t.Messages[1:] {
		items = append(items, wire.Value(m.Body))
	}
	return h.recent(items, "conversation")
}

// join adds the input and the output of a response to its conversation.
func (h *Handler) join(ctx context.Context, x *exchange) error {
	items := store(x.input, x.req.TurnID)
	for _, item := range x.res.Output {
		raw := mustJSON(item)
		items = append(items, transcript.Message{ID: idOf(wire.Value(raw)), Body: raw})
	}
	err := h.extend(ctx, x.who, x.conversation, items)
	if errors.Is(err, transcript.ErrNotFound) {
		return openai.Refuse(chat.NotFound, "conversation", "not_found", "The conversation was deleted.")
	}
	return unreachable(err)
}

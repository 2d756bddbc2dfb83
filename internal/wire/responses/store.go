package responses

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// responseBody is the id of the first message of a stored response, which holds the response object. The
// items of its input follow.
const responseBody = "response"

// The limits of the conversation that a request continues, and the time limit of save. Older turns are
// left out, just as the engine leaves out messages that do not fit the model.
const (
	maxChain        = 500       // responses
	maxHistoryBytes = 256 << 10 // of items
	saveTimeout     = 30 * time.Second
)

// kept is a stored response: the response object, its input items and its output items.
type kept struct {
	response wire.Object
	input    []wire.Value
	output   []wire.Value
}

func (h *Handler) scope(kind transcript.Kind, who access.Principal) transcript.Scope {
	return transcript.Scope{Kind: kind, Namespace: h.cfg.Namespace, Owner: who.Subject}
}

// unreachable returns the error for a client whose request the store has failed: an unexpected error becomes
// chat.Unavailable, others are returned unchanged. It returns nil for nil.
func unreachable(err error) error {
	if err == nil || chat.KindOf(err) != chat.Internal || errors.Is(err, context.Canceled) {
		return err
	}
	return &chat.Error{Kind: chat.Unavailable, Msg: "The storage is unavailable. Please try again.", Err: err}
}

// save stores the response of an exchange if the request says so, and adds a successful one to its conversation. It does
// so even if the client has left.
func (h *Handler) save(ctx context.Context, x *exchange) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if x.res.Store {
		body := transcript.Message{ID: responseBody, Body: mustJSON(&x.res)}
		messages := append([]transcript.Message{body}, store(x.input, x.req.TurnID)...)
		_, err := h.cfg.Store.Save(ctx, h.scope(transcript.Responses, x.who), x.res.ID, func(t *transcript.Transcript, found bool) error {
			if x.placed && !found {
				return transcript.ErrNotFound // it has been deleted in the meantime
			}
			t.Messages, t.UpdatedAt = messages, h.cfg.Now()
			if !found {
				t.CreatedAt = t.UpdatedAt
			}
			return nil
		})
		if err != nil {
			return unreachable(err)
		}
	}
	if x.conversation != "" && x.res.Status != failed && x.res.Status != cancelled && !pending(x.res.Status) {
		return h.join(ctx, x)
	}
	return nil
}

// expireBatch is the maximum number of responses that one transaction deletes.
const expireBatch = 500

// Expire deletes the responses that were stored before a time, and returns their number.
func Expire(ctx context.Context, s transcript.Store, before time.Time) (total int, err error) {
	for n := expireBatch; n == expireBatch; total += n {
		if n, err = s.Expire(ctx, transcript.Responses, before, expireBatch); err != nil {
			return total, fmt.Errorf("expire responses: %w", err)
		}
	}
	return total, nil
}

// keptOf decodes a stored response.
func keptOf(t transcript.Transcript) (k kept, err error) {
	for _, m := range t.Messages {
		object, err := wire.ParseObject(m.Body)
		if err != nil {
			return k, &chat.Error{Kind: chat.Internal, Err: err}
		}
		if m.ID != responseBody {
			k.input = append(k.input, wire.Value(m.Body))
			continue
		}
		k.response = object
		output, _ := object.Get("output")
		elements, _ := output.Elements()
		k.output = slices.Collect(elements)
	}
	return k, nil
}

// history returns the conversation up to the end of a response, oldest message first. m may be nil.
func (h *Handler) history(ctx context.Context, who access.Principal, id string, m *memory) ([]chat.Message, error) {
	if messages, ok := m.recall(id); ok {
		return messages, nil
	}
	var chain [][]wire.Value
	size := 0
	for from := id; from != "" && len(chain) < maxChain && size <= maxHistoryBytes; {
		t, err := h.cfg.Store.Transcript(ctx, h.scope(transcript.Responses, who), from)
		if errors.Is(err, transcript.ErrNotFound) {
			if from == id {
				return nil, errNoPrevious(id)
			}
			break // an earlier response was deleted; the chain ends there
		}
		if err != nil {
			return nil, unreachable(err)
		}
		k, err := keptOf(t)
		if err != nil {
			return nil, err
		}
		items := append(k.input, k.output...)
		for _, v := range items {
			size += sizeOf(v)
		}
		chain = append(chain, items)
		previous, _ := k.response.Get("previous_response_id")
		from, _ = previous.Text()
	}
	slices.Reverse(chain)
	return h.recent(slices.Concat(chain...), "previous_response_id")
}

// recent returns the messages of the last items, within the limits of a conversation that a request
// continues. Items may take up half of the messages of a request, which leaves room for its input. param
// names the source of the items in errors.
func (h *Handler) recent(items []wire.Value, param string) ([]chat.Message, error) {
	from, size := len(items), 0
	for from > 0 && len(items)-from < h.cfg.MaxMessages/2 {
		if size += sizeOf(items[from-1]); size > maxHistoryBytes && from < len(items) {
			break
		}
		from--
	}
	messages, err := messagesOf(items[from:], param, h.readable())
	return withoutOrphans(messages), err
}

// fileShare is the number of bytes of a file that count as one byte of a conversation. Without it, a large file would exceed
// the limit and be dropped at the next question.
const fileShare = 16

func sizeOf(item wire.Value) int {
	if bytes.Contains(item, []byte(`"input_file"`)) {
		return len(item) / fileShare
	}
	return len(item)
}

func errNoPrevious(id string) error {
	return openai.Refuse(chat.Invalid, "previous_response_id", "previous_response_not_found",
		"Previous response with id "+strconv.Quote(wire.Clip(id))+" not found.")
}

// find returns the stored response that the path of a request names.
func (h *Handler) find(r *wire.Request) (transcript.Transcript, error) {
	t, err := h.cfg.Store.Transcript(r.Context(), h.scope(transcript.Responses, r.Who), r.PathValue("id"))
	return t, h.notFound(r, err, "response")
}

// notFound converts an error of the store to one for the client. what names the kind of object in the path.
func (h *Handler) notFound(r *wire.Request, err error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transcript.ErrNotFound):
		return openai.Refuse(chat.NotFound, "id", "not_found", "There is no "+what+" with the id "+strconv.Quote(wire.Clip(r.PathValue("id")))+".")
	}
	return unreachable(err)
}

// stored handles GET /v1/responses/{id}.
func (h *Handler) stored(w http.ResponseWriter, r *wire.Request) error {
	key := flight{r.Who.Subject, r.PathValue("id")}
	if stream := r.URL.Query().Get("stream"); stream != "" && stream != "false" {
		return h.resume(w, r, key)
	}
	return h.reread(w, r, key)
}

// reread responds with a stored response.
func (h *Handler) reread(w http.ResponseWriter, r *wire.Request, key flight) error {
	if err := h.settle(r, key); err != nil {
		return err
	}
	t, err := h.find(r)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, http.StatusOK, slices.Clone(t.Messages[0].Body))
}

// deleteResponse handles DELETE /v1/responses/{id}.
func (h *Handler) deleteResponse(w http.ResponseWriter, r *wire.Request) error {
	id := r.PathValue("id")
	if err := h.land(r, flight{r.Who.Subject, id}); err != nil {
		return err
	}
	if err := h.cfg.Store.Delete(r.Context(), h.scope(transcript.Responses, r.Who), id); err != nil {
		return h.notFound(r, err, "response")
	}
	return deleted(w, id, "response.deleted")
}

func deleted(w http.ResponseWriter, id, object string) error {
	return wire.Reply(w, http.StatusOK, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{id, object, true})
}

// inputItems handles GET /v1/responses/{id}/input_items.
func (h *Handler) inputItems(w http.ResponseWriter, r *wire.Request) error {
	t, err := h.find(r)
	if err != nil {
		return err
	}
	return list(w, r, t.Messages[1:])
}

// list responds with a page of items, the last item first unless the request has order=asc.
func list(w http.ResponseWriter, r *wire.Request, items []transcript.Message) error {
	asked, err := openai.ListOf(r, 20)
	if err != nil {
		return err
	}
	items = slices.Clone(items)
	if !asked.Oldest {
		slices.Reverse(items)
	}
	if after := asked.After; after != "" {
		i := slices.IndexFunc(items, func(m transcript.Message) bool { return m.ID == after })
		if i < 0 {
			return openai.Refusef("after", openai.Invalid, `"after" must be the id of an item in this list.`)
		}
		items = items[i+1:]
	}
	page := items[:min(asked.Limit, len(items))]
	return wire.WriteJSON(w, http.StatusOK, appendList(nil, page, len(items) > len(page)))
}

func appendList(dst []byte, page []transcript.Message, more bool) []byte {
	dst = append(dst, `{"object":"list","data":`...)
	dst = transcript.AppendBodies(dst, page)
	if len(page) == 0 {
		return append(dst, `,"first_id":null,"last_id":null,"has_more":false}`...)
	}
	dst = wire.AppendString(append(dst, `,"first_id":`...), page[0].ID)
	dst = wire.AppendString(append(dst, `,"last_id":`...), page[len(page)-1].ID)
	return append(strconv.AppendBool(append(dst, `,"has_more":`...), more), '}')
}

package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// Prefixes of the server's ids, by type. The id of an item of a response also contains the turn id of the
// response, which is used to find the item.
const (
	responsePrefix     = "resp_"
	conversationPrefix = "conv_"
	messagePrefix      = "msg_"
	callPrefix         = "fc_"
	reasoningPrefix    = "rs_"
	searchPrefix       = "fs_"
	compactionPrefix   = "cmp_"
	otherPrefix        = "item_"
)

// prefixes maps the types of input items to the prefixes of their ids.
var prefixes = map[string]string{
	messageType: messagePrefix, "function_call": callPrefix, "function_call_output": "fco_",
	"reasoning": reasoningPrefix, fileSearchItem: searchPrefix, "compaction": compactionPrefix,
}

const referenceType = "item_reference"

// inputOf returns the items of an input, with each reference replaced by the item that it refers to. A
// string becomes a user message. param names the input in errors.
func (h *Handler) inputOf(ctx context.Context, who access.Principal, v wire.Value, param string) ([]wire.Value, error) {
	if !v.IsGiven() {
		return nil, nil
	}
	if text, ok := v.Text(); ok {
		return []wire.Value{userMessage(text)}, nil
	}
	elements, ok := v.Elements()
	if !ok {
		return nil, openai.Refusef(param, openai.Invalid, "%q must be a string or a list of items.", param)
	}
	count, ok := wire.AtMost(h.cfg.MaxMessages, elements)
	if !ok {
		return nil, openai.Refusef(param, openai.Invalid, "%q may have at most %d items.", param, h.cfg.MaxMessages)
	}
	items, found := make([]wire.Value, 0, count), references{items: map[string]map[string]wire.Value{}}
	for v := range elements {
		at := wire.At(param, len(items))
		if id, ok := referenceOf(v); ok {
			var err error
			if v, err = h.referred(ctx, who, id, at, &found); err != nil {
				return nil, err
			}
		}
		items = append(items, v)
	}
	return items, nil
}

func userMessage(text string) wire.Value {
	part := []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{{"input_text", text}}
	content := append([]byte(`{"type":"message","role":"user","content":`), mustJSON(part)...)
	return append(content, '}')
}

// referenceOf returns the id that a reference refers to; ok is false for any other item. An item without
// a type is a reference unless it has a role.
func referenceOf(v wire.Value) (id string, ok bool) {
	item, ok := v.Object()
	if !ok {
		return "", false
	}
	kind, err := kindOf(item, wire.Element{})
	value, _ := item.Get("id")
	id, ok = value.Text()
	return id, ok && err == nil && kind == referenceType
}

// references caches the items of the responses that one input refers to.
type references struct {
	items map[string]map[string]wire.Value // by turn id and item id
	size  int                              // bytes read from the store, plus bytes of the expanded references
}

// maxReferred limits references.size: an input of small references must not expand to a huge one.
const maxReferred = 4 << 20

// referred returns the item with an id from a stored response of the caller. at is the reference.
func (h *Handler) referred(ctx context.Context, who access.Principal, id string, at wire.Element, found *references) (wire.Value, error) {
	_, rest, _ := strings.Cut(id, "_")
	turn, _, _ := strings.Cut(rest, "_")
	items, known := found.items[turn]
	if !known {
		t, err := h.cfg.Store.Transcript(ctx, h.scope(transcript.Responses, who), responsePrefix+turn)
		if err != nil && !errors.Is(err, transcript.ErrNotFound) {
			return nil, unreachable(err)
		}
		kept, err := keptOf(t)
		if err != nil {
			return nil, err
		}
		items = map[string]wire.Value{}
		for _, v := range append(kept.input, kept.output...) {
			items[idOf(v)] = v
			found.size += len(v)
		}
		found.items[turn] = items
	}
	v, ok := items[id]
	if !ok {
		return nil, openai.Refuse(chat.NotFound, at.String()+".id", "not_found", fmt.Sprintf(`"%v" refers to an item that is not stored.`, at))
	}
	if found.size += len(v); found.size > maxReferred {
		return nil, &chat.Error{Kind: chat.TooLarge, Msg: "The items that the request refers to are too long."}
	}
	return v, nil
}

// idOf returns the id of an item, or "".
func idOf(v wire.Value) string {
	item, _ := v.Object()
	value, _ := item.Get("id")
	id, _ := value.Text()
	return id
}

const maxItemID = 128

// store returns items in the form in which they are stored and listed: each has a type, an id and a
// status, and the content of a message is a list. Missing ids are derived from owner, a turn id or another
// unique id.
func store(items []wire.Value, owner string) []transcript.Message {
	stored := make([]transcript.Message, 0, len(items))
	for i, v := range items {
		item, _ := v.Object()
		kind, _ := kindOf(item, wire.Element{})
		id := idOf(v)
		if id == "" || len(id) > maxItemID || kind == referenceType {
			prefix, ok := prefixes[kind]
			if !ok {
				prefix = otherPrefix
			}
			id = prefix + owner + "_i" + strconv.Itoa(i)
		}
		stored = append(stored, transcript.Message{ID: id, Body: storedItem(item, kind, id)})
	}
	return stored
}

func storedItem(item wire.Object, kind, id string) json.RawMessage {
	dst := wire.AppendString([]byte(`{"id":`), id)
	dst = wire.AppendString(append(dst, `,"type":`...), kind)
	status := completed
	if v, _ := item.Get("status"); v.IsGiven() {
		if text, ok := v.Text(); ok {
			status = text
		}
	}
	dst = wire.AppendString(append(dst, `,"status":`...), status)
	role, _ := item.Get("role")
	for key, v := range item.Members() {
		switch key {
		case "id", "type", "status":
			continue
		}
		dst = append(wire.AppendString(append(dst, ','), key), ':')
		if text, ok := v.Text(); ok && key == "content" && kind == messageType {
			dst = appendContent(dst, role, text)
			continue
		}
		dst = append(dst, v.Compact()...)
	}
	return append(dst, '}')
}

// appendContent appends a text as a list with one content part.
func appendContent(dst []byte, role wire.Value, text string) []byte {
	name, _ := role.Text()
	if name == "assistant" {
		dst = wire.AppendString(append(dst, `[{"type":"output_text","text":`...), text)
		return append(dst, `,"annotations":[],"logprobs":[]}]`...)
	}
	dst = wire.AppendString(append(dst, `[{"type":"input_text","text":`...), text)
	return append(dst, `}]`...)
}

// mustJSON encodes a value as JSON. It panics if that fails.
func mustJSON(v any) json.RawMessage {
	raw, err := wire.AppendJSON(nil, v)
	if err != nil {
		panic("responses: " + err.Error())
	}
	return raw
}

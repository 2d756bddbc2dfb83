package azurechat

import (
	"context"
	"encoding/json"

	"parley/internal/ident"
	"parley/internal/wire"
)

// state is the session state of a reply: the raw JSON value of each of the two keys, or nil
// if the reply must not have that key.
type state struct {
	snake json.RawMessage // "session_state", the documents' key
	camel json.RawMessage // "sessionState", the Microsoft SDK's
}

var null = json.RawMessage("null")

// stateOf returns the state as the client sent it. If it sent neither key, the state is null, under the key that form determines.
func stateOf(form Form, b body) state {
	var s state
	if b.SessionState != nil {
		s.snake = b.SessionState.Compact()
	}
	if b.SDKState != nil && form.Version == V0529 {
		s.camel = b.SDKState.Compact()
	}
	if s.snake == nil && s.camel == nil {
		if form.SDK {
			return state{camel: null}
		}
		return state{snake: null}
	}
	return s
}

// nameChat replaces a session state that was sent as null with a new id. Front ends keep a chat in the browser
// only if its state is a string. They send the whole chat with every question, so the server
// stores no conversation under this id.
func (h *Handler) nameChat(x *exchange, b body) {
	var id json.RawMessage
	for _, key := range []struct {
		sent wire.Value
		back *json.RawMessage
	}{{b.SessionState, &x.state.snake}, {b.SDKState, &x.state.camel}} {
		if key.sent == nil || !key.sent.IsNull() || *key.back == nil {
			continue
		}
		if id == nil {
			id = wire.AppendString(nil, h.cfg.NewID())
		}
		*key.back = id
	}
}

// continueConversation sets the conversation to the one that the session state names. A null state
// starts a conversation and is replaced by its id. Any other value is the client's own and is returned as it is.
func (h *Handler) continueConversation(ctx context.Context, x *exchange) error {
	value := &x.state.camel
	if *value == nil {
		value = &x.state.snake
	}
	if wire.Value(*value).IsNull() {
		x.req.ConversationID = h.cfg.NewID()
		*value = wire.AppendString(nil, x.req.ConversationID)
		return nil
	}
	id, ok := wire.Value(*value).Text()
	if !ok || !ident.Valid(id) {
		return nil
	}
	if h.cfg.Known != nil {
		known, err := h.cfg.Known(ctx, x.req.Principal, id)
		if err != nil || !known {
			return err
		}
	}
	x.req.ConversationID = id
	return nil
}

// append appends the members of the state, each preceded by a comma.
func (s state) append(dst []byte) []byte {
	if s.snake != nil {
		dst = append(append(dst, `,"session_state":`...), s.snake...)
	}
	if s.camel != nil {
		dst = append(append(dst, `,"sessionState":`...), s.camel...)
	}
	return dst
}

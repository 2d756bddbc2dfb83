// Package aisdk implements the UI message stream protocol of Vercel's AI SDK, version 5 and later, so that a
// page made with useChat or assistant-ui gets cited answers from POST /api/chat.
//
// The body of a request becomes a chat.Request, and the Runner's events become chunks, one server-sent event
// each. A client that reconnects gets all chunks again, from the turn's log.
// README.md in this directory describes the protocol as implemented.
package aisdk

import (
	"context"
	"encoding/json"
	"net/http"

	"parley/internal/chat"
	"parley/internal/lru"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// Turns returns the log of a turn; *turn.Runner implements it. The error is turn.ErrNotFound for a turn that
// the owner does not have.
type Turns interface {
	Log(ctx context.Context, owner, id string) (*turn.Log, error)
}

// Board shares values with all servers that use the same store.
type Board interface {
	// Notice publishes a value under a name, for an hour. It replaces an earlier one.
	Notice(ctx context.Context, name, value string) error
	// Noticed returns the value published under a name, or "" if there is none.
	Noticed(ctx context.Context, name string) (value string, err error)
}

// Config configures a Handler. Runner and Turns are required.
type Config struct {
	wire.Base

	Turns Turns

	Board Board // tells other servers which turn answers a chat; nil if there is only one server

	Give openai.Give // reads documents attached to messages; nil refuses them
}

const (
	maxChatID = 256    // bytes
	maxChats  = 10_000 // whose last turn is remembered, for clients that reconnect
)

// Handler handles the requests of the protocol. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	catalog openai.Catalog
	chats   *lru.Cache[chatKey, answering]
}

// chatKey identifies a chat: its owner, and the id that the client has given it.
type chatKey struct{ owner, id string }

// answering is the last turn of a chat, and the id of the message that answers in it.
type answering struct{ Turn, Message string }

// notice returns the name of a chat on the Board.
func (k chatKey) notice() string { return "aisdk\x00" + k.owner + "\x00" + k.id }

// answers records the turn that answers a chat, for clients that reconnect.
func (h *Handler) answers(ctx context.Context, k chatKey, a answering) error {
	h.chats.Put(k, a)
	if h.cfg.Board == nil {
		return nil
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return h.cfg.Board.Notice(ctx, k.notice(), string(raw))
}

// answered returns the last turn of a chat, whichever server runs it; ok is false if none is recorded.
func (h *Handler) answered(ctx context.Context, k chatKey) (a answering, ok bool, err error) {
	if h.cfg.Board != nil {
		raw, err := h.cfg.Board.Noticed(ctx, k.notice())
		if err != nil || raw == "" {
			return a, false, err
		}
		err = json.Unmarshal([]byte(raw), &a)
		return a, err == nil, err
	}
	a, ok = h.chats.Get(k)
	return a, ok, nil
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	cfg.Defaults.FollowUps = false // unless a request asks for them
	return &Handler{
		cfg: cfg, catalog: openai.Catalog{Namespaces: cfg.Namespaces, Own: cfg.Namespace},
		chats: lru.New[chatKey, answering](maxChats, nil),
	}
}

// Speaks is the name of the protocol in the header X-Chat-Protocol.
const Speaks = "ai-sdk"

// Protocol returns the routes of the protocol. It shares POST /api/chat with the Chat UI API, which must be
// mounted before it.
func (h *Handler) Protocol() wire.Protocol {
	const api, own = "/api/chat", "/p/ai-sdk/api/chat"
	turn := wire.Route{Right: wire.Ask, Fail: wire.PlainError, Turn: true, Body: wire.JSON, Handle: h.chat}
	shared, fixed := turn, turn
	shared.Pattern, shared.Speaks, shared.Claims = "POST "+api, Speaks, claims
	fixed.Pattern = "POST " + own
	follow := wire.Route{Right: wire.Ask, Fail: wire.PlainError, Events: true}
	stop := wire.Route{Right: wire.Ask, Fail: wire.PlainError}
	slashed := wire.Slashed(fixed,
		follow.At("GET "+api+"/{id}/stream", h.resume), stop.At("DELETE "+api+"/{id}/stream", h.stop),
		follow.At("GET "+own+"/{id}/stream", h.resume), stop.At("DELETE "+own+"/{id}/stream", h.stop))
	return wire.Protocol{OpenAPI: openAPI, Routes: append(slashed, shared), Options: wire.PageOptions, Schema: "UIChatRequest"}
}

// claims reports whether a request to the shared path is one of this protocol: it says so in the header
// X-Chat-Protocol, its body has a trigger, as every request of the AI SDK has, or its first message has parts
// and no content. Version 4 sends both, and cannot read these streams.
func claims(r *wire.Request) bool {
	if r.Header.Get(wire.ProtocolHeader) == Speaks {
		return true
	}
	object, err := r.Object()
	if err != nil {
		return false
	}
	var b body
	object.Read(&b)
	if _, ok := b.Trigger.Text(); ok {
		return true
	}
	elements, _ := b.Messages.Elements()
	for v := range elements {
		var m uiMessage
		_ = v.Read(&m)
		if _, ok := m.Parts.Elements(); !ok || m.Content != nil {
			return false
		}
		return true
	}
	return false
}

// chat handles POST /api/chat. It responds with the chunks of one message.
func (h *Handler) chat(w http.ResponseWriter, r *wire.Request) error {
	x, err := h.decode(r)
	if err != nil {
		return err
	}
	if x.chat != "" {
		if err := h.answers(r.Context(), chatKey{r.Who.Subject, x.chat}, answering{x.req.TurnID, x.message}); err != nil {
			return err
		}
	}
	s := h.session(w, x.message, x.base, x.req.Namespace)
	return s.run(r.Context(), func(yield func(chat.Event, error) bool) {
		h.cfg.Runner.Run(r.Context(), &x.req)(yield)
	})
}

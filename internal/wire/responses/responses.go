// Package responses implements OpenAI's Responses API, which the Open Responses specification of
// 2026-04-24 describes for any server. OpenAI's own clients use this API by default.
//
// A request for a response becomes a chat.Request, and the Runner's events become the items of the
// response and the events of its stream (builder). The same builder makes a response that is not
// streamed, but sends no events. Responses and conversations that a client may refer to later are stored
// as raw JSON (package transcript). README.md in this directory describes the protocol as implemented.
package responses

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"parley/internal/access"
	"parley/internal/lru"
	"parley/internal/transcript"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/openai"
)

// Config configures a Handler. Runner and Store are required.
type Config struct {
	wire.Base

	Store transcript.Store

	// Open opens a caller's vector store for the tool file_search. If there is no such store, the error
	// is library.ErrNotFound. Optional; if nil, the tool searches only namespaces.
	Open func(ctx context.Context, owner, id string) (filesapi.Searched, error)

	// Give reads the files in messages. Optional; if nil, messages may not contain files.
	Give openai.Give

	// Turns finds turns that run on other servers, so that their responses can be cancelled here. Optional.
	Turns interface {
		Log(ctx context.Context, owner, id string) (*turn.Log, error)
	}

	MaxMessage int64 // maximum bytes of a WebSocket message; 0 means wire.DefaultBodyLimit

	Log *slog.Logger // receives the errors of background responses; nil discards them
}

// Handler handles the requests of the API. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	catalog openai.Catalog
	flights flights
	sockets *crowd // open WebSockets

	background *crowd                         // responses in progress that need no connected client
	recordings *lru.Cache[flight, *recording] // of background responses that have ended
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	cfg.MaxMessage = cmp.Or(cfg.MaxMessage, wire.DefaultBodyLimit)
	cfg.Defaults.FollowUps = false // the API has no field for them
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Handler{
		cfg: cfg, catalog: openai.Catalog{Namespaces: cfg.Namespaces, Own: cfg.Namespace},
		sockets:    newCrowd(maxSockets, maxSockets, errSockets),
		background: newCrowd(maxBackground, maxOwn, errBackground),
		recordings: lru.New(maxRecordings, func(_ flight, r *recording) int { return r.bytes() }),
	}
}

// Protocol returns the routes of the API.
func (h *Handler) Protocol() wire.Protocol {
	get := wire.Route{Right: wire.Ask, Fail: fail}
	post := wire.Route{Right: wire.Ask, Fail: fail, Body: wire.JSON}
	turn := wire.Route{Right: wire.Ask, Fail: fail, Body: wire.JSON, Turn: true}
	emptyPost := wire.Route{Right: wire.Ask, Fail: fail, Body: wire.Ignored}
	const response, conversation = "/v1/responses/{id}", "/v1/conversations/{id}"
	socket := get
	socket.Events = true
	routes := []wire.Route{
		socket.At("GET /v1/responses", h.connect),
		turn.At("POST /v1/responses", h.create),
		post.At("POST /v1/responses/compact", h.compact),
		post.At("POST /v1/responses/input_tokens", h.countInput),
		get.At("GET "+response, h.stored),
		get.At("DELETE "+response, h.deleteResponse),
		get.At("GET "+response+"/input_items", h.inputItems),
		emptyPost.At("POST "+response+"/cancel", h.cancel),
		post.At("POST /v1/conversations", h.createConversation),
		get.At("GET "+conversation, h.conversation),
		post.At("POST "+conversation, h.updateConversation),
		get.At("DELETE "+conversation, h.deleteConversation),
		post.At("POST "+conversation+"/items", h.addItems),
		get.At("GET "+conversation+"/items", h.items),
		get.At("GET "+conversation+"/items/{item}", h.item),
		get.At("DELETE "+conversation+"/items/{item}", h.deleteItem),
	}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: wire.Slashed(routes...), Drain: h.sockets.drain, Wait: h.wait}
}

// wait waits until all WebSockets and background responses have ended. When ctx ends, it cancels them with cause.
func (h *Handler) wait(ctx context.Context, cause error) {
	h.sockets.wait(ctx, cause)
	h.background.wait(ctx, cause)
}

// create handles POST /v1/responses.
func (h *Handler) create(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	x, err := h.decode(r.Context(), object, asker{who: r.Who, base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)}, nil)
	if err != nil {
		return err
	}
	if x.res.Background {
		turn.Named(r.Context(), x.req.TurnID) // the turn begins later, or has ended
		return h.launch(w, r, x)
	}
	if x.streamed {
		return h.stream(w, r, x)
	}
	return h.reply(w, r, x)
}

// asker is the caller of a request, and the URL at which the caller reaches the server.
type asker struct {
	who  access.Principal
	base string // URL of the server, for links
}

// Package openai speaks OpenAI's Chat Completions API, so that any client of that API can ask Parley: POST
// /v1/chat/completions and POST /v1/completions, as JSON or as server-sent events, GET /v1/models and POST /v1/embeddings.
// Each namespace is a model: "parley" is the server's own, "parley/NAMESPACE" any other.
//
// The body of a request becomes a chat.Request, and the Runner's events become chunks. A reply that is not streamed is the
// fold of the same events. README.md in this directory describes the protocol as implemented.
package openai

import (
	"net/http"

	"parley/internal/chat"
	"parley/internal/wire"
)

// Config configures a Handler. Runner and Embedding are required.
type Config struct {
	wire.Base

	Give Give // nil means that messages cannot bring files

	Embedding Embedding
}

// Handler answers the requests of the API. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	catalog Catalog
	since   int64 // when the models were created, in Unix seconds: when the server started

	embedding wire.Slots // for requests for embeddings
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	cfg.Defaults.FollowUps = false // the API has no place for them
	return &Handler{cfg: cfg, catalog: Catalog{cfg.Namespaces, cfg.Namespace}, since: cfg.Now().Unix(),
		embedding: make(wire.Slots, maxEmbedding)}
}

// exchange is one request for a completion, with everything that its answer depends on.
type exchange struct {
	model    string // as the client names it
	streamed bool
	usage    bool   // the stream ends with a chunk of usage
	base     string // URL of the server, for links
	created  int64  // Unix seconds
	req      chat.Request
	runner   chat.Runner
	links    bool     // citations are links in the text
	prompted bool     // the request was sent to POST /v1/completions
	allowed  []string // names of the tools that may be called; nil means all

	id    string // of the reply: the id of its first turn
	index int    // of its choice in the reply
}

// Protocol returns the routes of the API.
func (h *Handler) Protocol() wire.Protocol {
	rt := wire.Route{Right: wire.Ask, Fail: fail}
	post := wire.Route{Right: wire.Ask, Fail: fail, Body: wire.JSON}
	turn := wire.Route{Right: wire.Ask, Fail: fail, Turn: true, Body: wire.JSON}
	return wire.Protocol{
		OpenAPI: openAPI,
		Routes: append(wire.Slashed(rt.At("GET /v1/chat/completions", stored), turn.At("POST /v1/chat/completions", h.complete), turn.At("POST /v1/completions", h.completePrompt),
			post.At("POST /v1/embeddings", h.embed), post.At("POST /openai/deployments/{name}/embeddings", h.embed)),
			rt.At("GET /v1/models", h.models),
			rt.At("GET /v1/models/{id...}", h.model)),
		// Azure OpenAI's paths: those of its v1 API, and the older ones, which have a parameter api-version.
		Aliases: []wire.Alias{{From: "/openai/v1/", To: "/v1/"}, {From: "/openai/", To: "/v1/"}},
		Root:    "/v1/", Unknown: unknown,
	}
}

// complete answers POST /v1/chat/completions.
func (h *Handler) complete(w http.ResponseWriter, r *wire.Request) error {
	x, err := h.decode(r)
	if err != nil {
		return err
	}
	return h.answer(w, r, x)
}

// stored answers GET /v1/chat/completions, which lists stored completions. Parley stores none.
func stored(w http.ResponseWriter, r *wire.Request) error {
	list, err := ListOf(r, 20)
	if err != nil {
		return err
	}
	if list.After != "" {
		return Refuse(chat.Invalid, "after", Invalid, `"after" names nothing in this list.`)
	}
	return wire.WriteJSON(w, http.StatusOK, []byte(`{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`))
}

// answer answers exchanges one after another, each as a choice of one reply.
func (h *Handler) answer(w http.ResponseWriter, r *wire.Request, all ...*exchange) error {
	for _, x := range all {
		if err := h.prepare(r, x); err != nil {
			return err
		}
	}
	if all[0].streamed {
		return h.stream(w, r, all)
	}
	return h.reply(w, r, all)
}

// prepare decides what answers an exchange, and reads the files that come with it.
func (h *Handler) prepare(r *wire.Request, x *exchange) error {
	if c, err := choreOf(x.req.Messages, &x.req.Options, r.Header.Get(choreHeader)); err != nil {
		return err
	} else if c != nil {
		x.runner = c
		return nil
	}
	brought, err := h.cfg.Give.Bring(r.Context(), r.Who, &x.req)
	x.links = x.links && !brought // the linker can only link to documents in namespaces
	return err
}

// Package yourdata implements both APIs of "Azure OpenAI On Your Data": the API of the back end of Microsoft's sample
// (sample-app-aoai-chatGPT), which the sample's front end calls, and the API of the service, chat completions with data
// sources, which that back end calls. Parley can replace either.
//
// A citation [docN] in the text refers to the Nth element of a list that is sent before the text. So the list contains
// every page that the answer may cite: one for each of chat.PromptBuilt.Labels, in the same order.
// README.md in this directory describes the protocol as implemented.
package yourdata

import (
	"net/http"
	"slices"

	"parley/internal/transcript"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// Config configures a Handler. Runner, Store and Complete are required.
type Config struct {
	wire.Base

	Store transcript.Store // for the conversations of front ends

	// Complete handles POST /v1/chat/completions. It also handles requests to the service without data sources.
	Complete func(http.ResponseWriter, *wire.Request) error
}

const (
	defaultTop = 5 // passages, as in the service
)

// Handler handles the requests of both APIs. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	catalog openai.Catalog
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	cfg.Defaults.FollowUps = false // the APIs have no field for them
	cfg.Defaults.Top = defaultTop
	return &Handler{cfg: cfg, catalog: openai.Catalog{Namespaces: cfg.Namespaces, Own: cfg.Namespace}}
}

// Protocol returns the routes. Those of the sample exist a second time under /api, where front ends derived from it
// expect them.
func (h *Handler) Protocol() wire.Protocol {
	service := wire.Route{Right: wire.Ask, Fail: openai.Fail, Body: wire.JSON, Turn: true}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: slices.Concat(h.sample(""), h.sample("/api"), []wire.Route{
		service.At("POST /openai/deployments/{name}/chat/completions", h.serve(serviceNow)),
		service.At("POST /openai/deployments/{name}/extensions/chat/completions", h.serve(serviceThen)),
	})}
}

// sample returns the routes of the sample's back end under a path.
func (h *Handler) sample(at string) []wire.Route {
	get := wire.Route{Right: wire.Ask, Fail: fail}
	post, turn, ignoring := get, get, get
	post.Body, turn.Body, ignoring.Body = wire.JSON, wire.JSON, wire.Ignored
	turn.Turn = true
	return []wire.Route{
		turn.At("POST "+at+"/conversation", h.converse),
		turn.At("POST "+at+"/history/generate", h.generate),
		post.At("POST "+at+"/history/update", h.answering(h.update)),
		post.At("POST "+at+"/history/read", h.answering(h.read)),
		post.At("POST "+at+"/history/rename", h.answering(h.rename)),
		post.At("POST "+at+"/history/clear", h.answering(h.clear)),
		post.At("POST "+at+"/history/message_feedback", h.answering(h.feedback)),
		post.At("DELETE "+at+"/history/delete", h.answering(h.delete)),
		ignoring.At("DELETE "+at+"/history/delete_all", h.answering(h.deleteAll)),
		get.At("GET "+at+"/history/list", h.answering(h.list)),
		get.At("GET "+at+"/history/ensure", h.answering(ensure)),
		get.At("GET "+at+"/frontend_settings", h.answering(frontendSettings)),
	}
}

// fail responds with {"error": a sentence}. The front end shows the sentence.
func fail(w http.ResponseWriter, _ *wire.Request, err error) {
	f := wire.FailureOf(err)
	f.Write(w, appendFailure(nil, f))
}

func appendFailure(dst []byte, f wire.Failure) []byte {
	return append(wire.AppendString(append(dst, `{"error":`...), f.Text), '}')
}

package server

import (
	"fmt"
	"net/http"
	"strings"

	"parley/internal/wire"
)

// own returns the routes that belong to no protocol: the page, originals, the OpenAPI description and probes.
func (s *Server) own() wire.Protocol {
	rt := wire.Route{Right: wire.Anybody, Fail: wire.PlainError}
	asking, probe := rt, rt
	asking.Right, probe.Quiet = wire.Ask, true
	return wire.Protocol{OpenAPI: ownOpenAPI, Routes: []wire.Route{
		rt.At("GET /{$}", s.index),
		rt.At("GET /assets/{path...}", s.asset),
		rt.At("GET /openapi.json", s.openAPI),
		asking.At("GET /content/{path...}", s.content),
		asking.At("GET "+embedPath, s.embed),
		rt.At("GET /embed.js", s.loader),
		probe.At("GET /healthz", s.healthz),
		probe.At("GET /readyz", s.readyz),
		probe.At("GET /metrics", s.metricsPage),
	}}
}

// index handles GET /: browsers get the page, other clients a short text.
func (s *Server) index(w http.ResponseWriter, r *wire.Request) error {
	w.Header().Add("Vary", "Accept")
	if wantsHTML(r.Header.Get("Accept")) && s.site.Index(w, r.Request) {
		return nil
	}
	return s.indexText(w, r)
}

// wantsHTML reports whether a client names HTML in Accept, as browsers do and programs do not.
func wantsHTML(accept string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(media), "text/html") {
			return strings.TrimSpace(parameters) != "q=0"
		}
	}
	return false
}

// asset serves a file of the page.
func (s *Server) asset(w http.ResponseWriter, r *wire.Request) error {
	if !s.site.Asset(w, r.Request, strings.TrimPrefix(r.URL.Path, "/assets/")) {
		return errUnknownPath
	}
	return nil
}

// embedPath is the path of the chat that other sites show in a frame.
const embedPath = "/embed"

// embed serves the chat at embedPath. Browsers frame it only on pages of the configured origins. The script on such a page
// requests it first, to find out whether the page may show it and the visitor may use it.
func (s *Server) embed(w http.ResponseWriter, r *wire.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" && !s.embedding.origin(origin) {
		return errNotEmbedded
	}
	if !s.site.Embed(w, r.Request, s.embedding.frameAncestors()) {
		return errUnknownPath
	}
	return nil
}

// loader serves the script that puts the chat on a page.
func (s *Server) loader(w http.ResponseWriter, r *wire.Request) error {
	if !s.site.Loader(w, r.Request) {
		return errUnknownPath
	}
	return nil
}

// indexText writes a description of this server.
func (s *Server) indexText(w http.ResponseWriter, r *wire.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// Writing fails only if the client has left.
	_, _ = fmt.Fprintf(w, indexPage, s.cfg.Version, wire.BaseURL(r.Request, s.cfg.PublicURL, false))
	return nil
}

const indexPage = `Parley %[1]s answers questions about your documents.

This address speaks the AI Chat Protocol, versions 2024-05-29 and 2024-01-28, the Chat UI API, the
Chat-with-RAG API, and OpenAI's Chat Completions API:

  POST /chat           one answer as JSON
  POST /chat/stream    the answer as it is written, one JSON object a line
  POST /api/chat and POST /api/multi-agent-chat, for the Chat UI, and its /chat-history
  POST /chat/session and /chat/SESSION, for the Chat-with-RAG API
  POST /v1/chat/completions and GET /v1/models, for clients of OpenAI's API
  GET  / in a browser  a page to ask and to read the sources
  GET  /embed.js       a script that puts a chat on other web sites
  GET  /content/NAME   the original of a document that an answer cites
  GET  /openapi.json   every route, with examples
  GET  /readyz         whether questions can be answered, and how ingestion is going
  GET  /metrics        figures for Prometheus

Try:

  curl %[2]s/chat -H 'Content-Type: application/json' \
    -d '{"messages":[{"role":"user","content":"What is this about?"}]}'
`

// Package agui implements AG-UI, the Agent-User Interaction Protocol, version 1.0: a turn is a run, its stages
// are steps, and its citations are state. README.md in this directory describes the protocol as implemented.
package agui

import (
	"net/http"

	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// Config configures a Handler. Runner is required.
type Config struct {
	wire.Base
}

// Handler handles the requests of the protocol. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	catalog openai.Catalog
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	cfg.Defaults.FollowUps = false // unless a request asks for them
	return &Handler{cfg: cfg, catalog: openai.Catalog{Namespaces: cfg.Namespaces, Own: cfg.Namespace}}
}

// Protocol returns the routes of the protocol.
func (h *Handler) Protocol() wire.Protocol {
	run := wire.Route{Right: wire.Ask, Fail: wire.PlainError, Turn: true, Body: wire.JSON}
	return wire.Protocol{
		OpenAPI: openAPI, Routes: wire.Slashed(run.At("POST /ag-ui", h.run)), Options: wire.PageOptions, Schema: "AGUIOptions",
	}
}

// run handles POST /ag-ui. It responds with the events of one run.
func (h *Handler) run(w http.ResponseWriter, r *wire.Request) error {
	x, err := h.decode(r)
	if err != nil {
		return err
	}
	s := &session{h: h, x: x, stream: wire.SSE(w)}
	return s.run(r.Context())
}

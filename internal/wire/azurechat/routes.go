package azurechat

import (
	"slices"

	"parley/internal/wire"
)

// The names of the versions (wire.Route.Speaks) on paths that several protocols share.
const (
	name0529 = "azure-0529"
	name0128 = "azure-0128"
)

// Protocol returns the routes of all versions, of their front ends' history, and of the configuration that
// front ends request first.
func (h *Handler) Protocol() wire.Protocol {
	plain := wire.Route{Right: wire.Ask, Fail: Form{}.fail}
	open := wire.Route{Right: wire.Anybody, Fail: Form{}.fail}
	withBody := plain
	withBody.Body = wire.JSON
	routes := wire.Slashed(
		h.turn("POST /chat/stream", Form{Stream: StreamAlways, Sniffs: true}),
		h.turn("POST /p/azure-0529/chat", Form{Stream: StreamNever}),
		h.turn("POST /p/azure-0529/chat/stream", Form{Stream: StreamAlways}),
		h.turn("POST /p/azure-0128/chat", Form{Version: V0128}),
		h.turn("POST /p/responses/chat", Form{Version: VLate, Stream: StreamNever}),
		h.turn("POST /p/responses/chat/stream", Form{Version: VLate, Stream: StreamAlways}),
		h.turn("POST /api/chat/{$}", Form{SDK: true, Stream: StreamNever}),
		h.turn("POST /api/chat/stream", Form{SDK: true, Stream: StreamAlways}),
		withBody.At("POST /chat_history", h.save),
		plain.At("GET /chat_history/sessions", h.sessions),
		plain.At("GET /chat_history/sessions/{id}", h.session),
		plain.At("DELETE /chat_history/sessions/{id}", h.delete),
		withBody.At("POST /speech", speech),
	)
	shared := wire.Slashed(
		h.turn("POST /chat", Form{Sniffs: true}),
		h.turn("POST /ask", Form{Stream: StreamNever, Both: true, Sniffs: true}),
		h.turn("POST /chat", Form{Version: V0128}),
		// Clients of 2024-01-28 omit "stream" if they do not want a stream.
		h.turn("POST /ask", Form{Version: V0128, Stream: StreamNever}),
	)
	for i := range shared {
		shared[i].Speaks = name0529
		if shared[i].Body == wire.JSON {
			shared[i].Speaks = name0128
		}
	}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Options: named, Schema: "Overrides", Routes: slices.Concat(routes, shared, []wire.Route{
		open.At("GET /auth_setup", h.authSetup),
		open.At("GET /config", h.config),
	})}
}

// turn returns a route that runs turns. Only 2024-05-29 has multipart bodies, with files.
func (h *Handler) turn(pattern string, form Form) wire.Route {
	rt := wire.Route{Pattern: pattern, Right: wire.Ask, Turn: true, Body: wire.JSON, Fail: form.fail, Handle: h.chat(form)}
	if form.Version == V0529 {
		rt.Body, rt.FormSize = wire.JSONOrForm, h.cfg.MultipartLimit
	}
	return rt
}

package ragchat

import "parley/internal/wire"

// Protocol returns the routes of the API. Those of sessions, steps and evaluations also exist below /p/ragchat, and
// so does POST /chat, because other APIs share that path.
func (h *Handler) Protocol() wire.Protocol {
	const mount = "/p/ragchat"
	plain := wire.Route{Right: wire.Ask, Fail: Fail}
	withBody, ignoring, steps := plain, plain, plain
	withBody.Body, ignoring.Body, steps.Events = wire.JSON, wire.Ignored, true
	turn := wire.Route{Right: wire.Ask, Fail: h.failTurn, Turn: true, Body: wire.JSON}
	shared := turn.At("POST /chat", h.answer)
	shared.Speaks = "ragchat"
	asked := turn.At("POST /ask", h.answer)
	asked.Speaks = "ragchat"
	routes := []wire.Route{
		shared, asked,
		turn.At("POST "+mount+"/chat", h.answer),
		withBody.At("POST /search", h.search),
		plain.At("GET /api/models", h.models),
		plain.At("GET /api/config", h.config),
	}
	for _, at := range []string{"", mount} {
		session := at + "/chat/{session_id}"
		routes = append(routes,
			ignoring.At("POST "+at+"/chat/session", h.begin),
			plain.At("GET "+at+"/chat/sessions", h.list),
			steps.At("GET "+at+"/chat/stream/stages", h.steps),
			withBody.At("POST "+at+"/chat/reset", h.clear),
			withBody.At("POST "+at+"/chat/clear", h.clear),
			withBody.At("POST "+at+"/retrieval-evals/run", h.evaluate),
			turn.At("POST "+session, h.answer),
			plain.At("DELETE "+session, h.delete),
			plain.At("GET "+session+"/history", h.history),
			ignoring.At("POST "+session+"/reset", h.reset),
		)
	}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Options: named, Schema: "RAGParams", Routes: wire.Slashed(routes...), Drain: h.hub.drain}
}

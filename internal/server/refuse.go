package server

import (
	"errors"
	"net/http"
	"time"

	"parley/internal/wire"
)

// Refusals without a kind in package chat, because no pipeline can cause them.
var (
	errUnknownPath = wire.Refuse(http.StatusNotFound, "not_found",
		"There is nothing at this path. GET /openapi.json lists all paths.")
	errUnknownHost = wire.Refuse(http.StatusMisdirectedRequest, "misdirected",
		"This server does not serve the requested host. "+
			"If it should, set --public-url to the URL that clients use.")
	errUnknownOrigin = wire.Refuse(http.StatusForbidden, "forbidden_origin",
		"Web pages of this origin may not call this server. "+
			"If they should, list the origin in --cors-origins.")
	errNotEmbedded = wire.Refuse(http.StatusForbidden, "forbidden_origin",
		"Web pages of this origin may not show the chat. If they should, list the origin in --embed-origins.")
	errWrongMethod = wire.Refuse(http.StatusMethodNotAllowed, "method_not_allowed",
		"This path does not support this method; the header Allow lists the supported ones.")
	errCrowded = &wire.RefusalError{Failure: wire.Failure{
		Status: http.StatusServiceUnavailable, Code: "unavailable", RetryAfter: time.Second,
		Text: "The server has no connection left for this request. Please try again in a moment.",
	}}
)

// refuse responds with an error and does not log it.
func (x *exchange) refuse(err error) { x.req.Fail(x, x.req, err) }

// failed logs the error that ended a request, and responds with it unless the response has begun.
func (s *Server) failed(x *exchange, err error) {
	err = wire.CauseOf(x.req.Context(), err)
	if r, ok := errors.AsType[*wire.RefusalError](err); !ok || r.Status >= http.StatusInternalServerError { // the status says enough about others
		s.log.Log(x.req.Context(), wire.LevelOf(x.req.Context(), err), "request ended with an error",
			"request_id", x.id, "route", x.route, "turn_id", x.turnID(), "error", err)
	}
	if !x.started() {
		x.refuse(err)
	}
}

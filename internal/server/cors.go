package server

import "net/http"

// The rules for requests from other origins.
const (
	corsMethods = "GET, POST, PUT, DELETE"
	corsHeaders = "content-type, authorization, x-api-key, api-key, x-ms-useragent, x-chat-protocol, idempotency-key, last-event-id, x-on-disconnect, " +
		"mcp-protocol-version, " +
		openAIHeaders
	corsExposed = "X-Turn-Id, Retry-After, X-Request-Id, X-Uploads-Used, X-Uploads-Limit, ETag, Accept-Ranges, Content-Range, Content-Disposition, WWW-Authenticate"
	corsMaxAge  = "600" // seconds for which a browser need not ask again

	// Headers that OpenAI's JavaScript client also sends from a browser.
	openAIHeaders = "openai-organization, openai-project, x-stainless-arch, x-stainless-helper-method, " +
		"x-stainless-lang, x-stainless-os, x-stainless-package-version, x-stainless-retry-count, " +
		"x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout"
)

// cors sets the headers that allow a page of a trusted origin to read the response, whatever its status, and
// reports whether the request comes from such a page. Credentials are never allowed: the session cookie is
// for the server's own pages only, and a bearer token needs no permission.
func (t *trust) cors(h http.Header, r *http.Request) (trusted bool) {
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !t.origin(origin) {
		return false
	}
	if t.everyone {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	return true
}

// answerOptions responds to a preflight (Fetch standard, section 4.8), or to a plain OPTIONS with the
// methods of the route.
func answerOptions(w *exchange, r *http.Request, e *endpoint, trusted bool) {
	h := w.Header()
	h.Set("Allow", e.allow)
	if r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	h.Add("Vary", "Access-Control-Request-Method")
	h.Add("Vary", "Access-Control-Request-Headers")
	if !trusted {
		w.refuse(errUnknownOrigin)
		return
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
}

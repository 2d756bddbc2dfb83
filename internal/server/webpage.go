package server

import (
	"net/http"
	"strings"

	"parley/internal/wire/webapi"
)

// WebAPI answers what the web page asks; webapi.Handler does. Its methods return an error before they
// have sent anything.
type WebAPI interface {
	Documents(w http.ResponseWriter, r *http.Request) error
	Document(w http.ResponseWriter, r *http.Request) error
	Delete(w http.ResponseWriter, r *http.Request) error
	Reindex(w http.ResponseWriter, r *http.Request) error
	Chunks(w http.ResponseWriter, r *http.Request) error
	Page(w http.ResponseWriter, r *http.Request) error
	Image(w http.ResponseWriter, r *http.Request) error
	Boxes(w http.ResponseWriter, r *http.Request) error
	Turn(w http.ResponseWriter, r *http.Request) error
	Namespaces(w http.ResponseWriter, r *http.Request) error
	ConfigJSON(w http.ResponseWriter, r *http.Request) error
}

var _ WebAPI = (*webapi.Handler)(nil)

// webRoutes are the routes of the web page's own.
func (s *Server) webRoutes() []*route {
	turn := &route{path: "/api/turns/{id}", errors: plainErrors, methods: map[string]handler{http.MethodDelete: s.stopTurn}}
	routes := []*route{turn, get("/assets/{path...}", s.asset)}
	h := s.deps.Web
	if h == nil {
		return routes
	}
	turn.methods[http.MethodGet], turn.methods[http.MethodHead] = h.Turn, h.Turn
	one := get("/api/documents/{id}", h.Document)
	one.methods[http.MethodDelete] = h.Delete
	return append(routes,
		get("/api/documents", h.Documents),
		one,
		post("/api/documents/{id}/reindex", h.Reindex),
		get("/api/documents/{id}/chunks", h.Chunks),
		get("/api/documents/{id}/pages/{n}", h.Page),
		get("/api/documents/{id}/pages/{n}/image", h.Image),
		get("/api/documents/{id}/pages/{n}/boxes", h.Boxes),
		get("/api/namespaces", h.Namespaces),
		get("/api/ui/config", h.ConfigJSON),
	)
}

// index answers GET /: browsers get the page, others are told what they found.
func (s *Server) index(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	if wantsHTML(r.Header.Get("Accept")) && s.site.Index(w, r) {
		return nil
	}
	return s.indexText(w, r)
}

// wantsHTML reports whether a client asks for HTML by name, as browsers do and programs do not.
func wantsHTML(accept string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(media), "text/html") {
			return strings.TrimSpace(parameters) != "q=0"
		}
	}
	return false
}

// asset answers with a file of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) error {
	if !s.site.Asset(w, r, strings.TrimPrefix(r.URL.Path, "/assets/")) {
		return &refusalError{unknownPath}
	}
	return nil
}

package server

import (
	"net/http"
	"strings"

	"parley/internal/wire"
	"parley/internal/wire/ingestapi"
	"parley/internal/wire/ragchat"
)

// Intake takes in documents, and tells what becomes of them; ingestapi.Handler does. Errors come
// before anything was sent.
type Intake interface {
	// Upload, Uploaded and DeleteUploaded are for the front ends of the AI Chat Protocol.
	Upload(w http.ResponseWriter, r *http.Request) error
	Uploaded(w http.ResponseWriter, r *http.Request) error
	DeleteUploaded(w http.ResponseWriter, r *http.Request) error
	// Index, PDF, MediaWiki and Delete belong to the Chat-with-RAG API.
	Index(w http.ResponseWriter, r *http.Request) error
	PDF(w http.ResponseWriter, r *http.Request) error
	MediaWiki(w http.ResponseWriter, r *http.Request) error
	Delete(w http.ResponseWriter, r *http.Request) error
	// Jobs lists jobs; the others are about the one whose id stands in the path.
	Jobs(w http.ResponseWriter, r *http.Request) error
	Job(w http.ResponseWriter, r *http.Request) error
	Cancel(w http.ResponseWriter, r *http.Request) error
	Retry(w http.ResponseWriter, r *http.Request) error
	Events(w http.ResponseWriter, r *http.Request) error
	// Drain ends the streams of events, so that they do not hold up a stop.
	Drain()
}

var _ Intake = (*ingestapi.Handler)(nil)

// deletePath is what stands before the address of a document that is to be deleted.
const deletePath = "/delete/"

// intakeRoutes are the routes by which documents come in.
func (s *Server) intakeRoutes() []*route {
	in := s.deps.Intake
	if in == nil {
		return nil
	}
	deletion := &route{path: deletePath + "{url...}", methods: map[string]handler{http.MethodDelete: in.Delete}, errors: ragchat.WriteFailure}
	s.deletion = deletion
	ofRAGChat := []*route{post("/index", inJSON(in.Index)), post("/pdf", inJSON(in.PDF)), post("/mediawiki/url", inJSON(in.MediaWiki))}
	for _, rt := range ofRAGChat {
		rt.errors = ragchat.WriteFailure
	}
	one := get("/api/jobs/{id}", in.Job)
	one.methods[http.MethodDelete] = in.Cancel
	routes := append(ofRAGChat,
		post("/upload", in.Upload),
		get("/list_uploaded", in.Uploaded),
		post("/delete_uploaded", inJSON(in.DeleteUploaded)),
	)
	return append(withSlashes(routes), deletion,
		get("/api/jobs", in.Jobs),
		one,
		post("/api/jobs/{id}/cancel", s.noBody(in.Cancel)),
		post("/api/jobs/{id}/retry", s.noBody(in.Retry)),
		&route{path: "/api/jobs/{id}/events", methods: map[string]handler{http.MethodGet: in.Events}, errors: plainErrors},
	)
}

// inJSON refuses bodies of another type.
func inJSON(answer handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		multipart, err := isMultipart(r.Header)
		if err == nil && multipart {
			err = &refusalError{unsupportedType}
		}
		if err != nil {
			return err
		}
		return answer(w, r)
	}
}

// noBody reads a body that says nothing, whatever its type.
func (s *Server) noBody(answer handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := wire.ReadBody(w, r, s.cfg.MaxBody); err != nil {
			return err
		}
		return answer(w, r)
	}
}

// routeOf returns the route of a request. In the address behind deletePath a mux would see a path to
// be cleaned.
func (s *Server) routeOf(r *http.Request) (*route, bool) {
	if s.deletion != nil && strings.HasPrefix(r.URL.Path, deletePath) {
		return s.deletion, true
	}
	h, _ := s.mux.Handler(r)
	rt, found := h.(*route)
	return rt, found
}

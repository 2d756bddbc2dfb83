package server

import (
	"mime"
	"net/http"
	"strings"

	"parley/internal/wire"
	"parley/internal/wire/ragchat"
)

// ragChatRoutes are the routes of the Chat-with-RAG API, but for the shared POST /chat. Those of
// sessions and evaluations are there twice: the mount below /p/ has the shared path too.
func (s *Server) ragChatRoutes() []*route {
	const mount = "/p/ragchat"
	h := s.deps.RAGChat
	if h == nil {
		return nil
	}
	routes := []*route{
		post(mount+"/chat", s.ragTurn(h.Chat)),
		post("/search", s.withBody(h.Search)),
		get("/api/models", answering(h.ModelsJSON)),
		get("/api/config", answering(h.ConfigJSON)),
	}
	for _, at := range []string{"", mount} {
		session := post(at+"/chat/{session_id}", s.ragTurn(func(w http.ResponseWriter, r *http.Request, body []byte) {
			h.Post(w, r, sessionIn(r.URL.Path), body)
		}))
		session.methods[http.MethodDelete] = ofSession(h.Delete)
		routes = append(routes,
			post(at+"/chat/session", discarding(s, h.Begin)),
			get(at+"/chat/sessions", answering(h.List)),
			&route{path: at + "/chat/stream/stages", methods: map[string]handler{http.MethodGet: answering(h.Steps)}},
			post(at+"/chat/reset", s.withBody(h.Clear)),
			post(at+"/chat/clear", s.withBody(h.Clear)),
			post(at+"/retrieval-evals/run", s.withBody(h.Evaluate)),
			session,
			get(at+"/chat/{session_id}/history", ofSession(h.History)),
			post(at+"/chat/{session_id}/reset", discarding(s, func(w http.ResponseWriter, r *http.Request) {
				h.Reset(w, r, sessionIn(r.URL.Path))
			})),
		)
	}
	for _, rt := range routes {
		rt.errors = ragchat.WriteFailure
	}
	return routes
}

// sessionIn returns the id in a path of a session. The router that Server.handle asks does not fill
// in the values of a path.
func sessionIn(path string) string {
	_, id, _ := strings.Cut(path, "/chat/")
	id, _, _ = strings.Cut(id, "/")
	return id
}

// answering makes a handler of a function that cannot fail before it answers.
func answering(answer func(http.ResponseWriter, *http.Request)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		answer(w, r)
		return nil
	}
}

func ofSession(answer func(http.ResponseWriter, *http.Request, string)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		answer(w, r, sessionIn(r.URL.Path))
		return nil
	}
}

// withBody reads the JSON body that answer takes.
func (s *Server) withBody(answer func(http.ResponseWriter, *http.Request, []byte)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := s.jsonBody(w, r)
		if err == nil {
			answer(w, r, body)
		}
		return err
	}
}

// ragTurn reads the JSON body of a request for a turn, whose steps end however it is refused.
func (s *Server) ragTurn(answer func(http.ResponseWriter, *http.Request, []byte)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := s.jsonBody(w, r)
		if err != nil {
			return err
		}
		speaks(w, s.deps.RAGChat.Refusal(r, body))
		return s.turnOf(w, r, body, func(w http.ResponseWriter, r *http.Request) { answer(w, r, body) })
	}
}

func (s *Server) jsonBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return s.jsonBodyTo(w, r, s.cfg.MaxBody)
}

// jsonBodyTo is jsonBody with a limit in bytes of its own.
func (s *Server) jsonBodyTo(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	multipart, err := isMultipart(r.Header)
	if err == nil && multipart {
		err = &refusalError{unsupportedType}
	}
	if err != nil {
		return nil, err
	}
	return wire.ReadBody(w, r, limit)
}

// discarding reads a body that says nothing, whatever its type.
func discarding(s *Server, answer func(http.ResponseWriter, *http.Request)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := wire.ReadBody(w, r, s.cfg.MaxBody); err != nil {
			return err
		}
		answer(w, r)
		return nil
	}
}

// isForm reports whether a body is a multipart form, which may be larger than others.
func isForm(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "multipart/form-data"
}

package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/internal/access"
	"parley/internal/wire"
)

// endpoint handles all methods of one path pattern.
type endpoint struct {
	server  *Server
	path    string                  // pattern of http.ServeMux without a method; also the label in logs and metrics
	methods map[string][]wire.Route // by method; several if protocols share the path
	allow   string                  // the methods, for the header Allow
	fail    wire.Fail
	quiet   bool
}

// unknownPath is the label of all unknown paths, so that they cannot flood the metrics.
const unknownPath = "unknown"

// mount adds the routes of protocols. It panics if a route is incomplete or exists twice, which any test
// would show.
func (s *Server) mount(protocols []wire.Protocol) {
	s.protocols, s.mux = protocols, http.NewServeMux()
	for _, p := range protocols {
		for _, rt := range p.Routes {
			s.add(rt)
		}
	}
	for _, e := range s.endpoints {
		e.allow = strings.Join(append(slices.Sorted(maps.Keys(e.methods)), http.MethodOptions), ", ")
	}
}

func (s *Server) add(rt wire.Route) {
	method, path, _ := strings.Cut(rt.Pattern, " ")
	if rt.Right == 0 || rt.Fail == nil || rt.Handle == nil || path == "" {
		panic(fmt.Sprintf("server: the route %q lacks its right, shape of errors, handler or path", rt.Pattern))
	}
	e := s.endpoints[path]
	if e == nil {
		e = &endpoint{server: s, path: path, methods: map[string][]wire.Route{}, fail: rt.Fail, quiet: rt.Quiet}
		s.endpoints[path] = e
		s.mux.Handle(path, e)
		if rt.Verbatim {
			s.verbatim = append(s.verbatim, e)
		}
	}
	switch {
	case rt.Claims != nil && len(e.methods[method]) == 0:
		panic(fmt.Sprintf("server: nothing answers the requests to %q that are not claimed", rt.Pattern))
	case rt.Claims == nil && rt.Speaks != "":
		e.fail = wire.PlainError // until the protocol is known
	}
	for _, other := range e.methods[method] {
		if other.Right != rt.Right {
			panic(fmt.Sprintf("server: protocols share the route %q with different rights", rt.Pattern))
		}
		if other.Speaks == rt.Speaks {
			panic(fmt.Sprintf("server: the route %q is registered twice", rt.Pattern))
		}
	}
	e.methods[method] = append(e.methods[method], rt)
	if method == http.MethodGet && !rt.Events {
		e.methods[http.MethodHead] = e.methods[method]
	}
}

// Routes returns all mounted routes, including the server's own.
func (s *Server) Routes() []wire.Route {
	var all []wire.Route
	for _, p := range s.protocols {
		all = append(all, p.Routes...)
	}
	return all
}

// aliased returns the endpoint and the handler of a request, and the request with the path of its route, which differs from
// its own if the request uses an alias.
func (s *Server) aliased(r *http.Request) (*http.Request, *endpoint, http.Handler) {
	e, h := s.find(r)
	if e != nil {
		return r, e, h
	}
	for _, p := range s.protocols {
		for _, a := range p.Aliases {
			path := a.Path(r.URL.Path)
			if path == "" {
				continue
			}
			again := r.Clone(r.Context())
			again.URL.Path, again.URL.RawPath = path, a.Path(r.URL.RawPath)
			if e, h := s.find(again); e != nil {
				return again, e, h
			}
		}
	}
	return r, nil, h
}

// find returns the endpoint of a request and the handler that serves it. The handler is the mux, which sets
// the path's values, unless the path ends with a URL, which the mux would clean. The endpoint is nil for an
// unknown path and for one that the mux would redirect to a cleaner path, since a redirect loses a POST.
func (s *Server) find(r *http.Request) (*endpoint, http.Handler) {
	for _, e := range s.verbatim {
		if prefix, _, _ := strings.Cut(e.path, "{"); strings.HasPrefix(r.URL.Path, prefix) {
			return e, e
		}
	}
	h, _ := s.mux.Handler(r)
	e, _ := h.(*endpoint)
	return e, s.mux
}

// ServeHTTP responds to a request that has passed the guards of Server.handle.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange) //nolint:forcetypeassert // Server.handle is the only caller
	x.req.Request = r
	among, ok := e.methods[r.Method]
	if !ok {
		x.Header().Set("Allow", e.allow)
		x.refuse(errWrongMethod)
		return
	}
	if err := e.server.answer(x, x.req, among); err != nil {
		e.server.failed(x, err)
	}
	writes := among[0].Right != wire.Ask && r.Method != http.MethodGet && r.Method != http.MethodHead
	if e.server.deps.Changed != nil && x.admitted && (writes || x.req.Changed != "") {
		e.server.deps.Changed(x.req, x.status)
	}
}

// answer finds the route of a request, does what the route requires, and runs its handler.
func (s *Server) answer(w http.ResponseWriter, r *wire.Request, among []wire.Route) error {
	rt, err := s.read(w, r, among)
	if err != nil {
		return err
	}
	if rt.Turn {
		return s.turn(w, r, rt)
	}
	return rt.Handle(w, r)
}

// read admits the caller, reads the body and returns the route. On a path that several protocols share,
// it reads the body first, because the protocol determines the form of a refusal.
func (s *Server) read(w http.ResponseWriter, r *wire.Request, among []wire.Route) (*wire.Route, error) {
	rt := &among[0]
	if rt.Speaks != "" {
		spoken, err := s.dispatch(w, r, among)
		if refused := s.admit(w, r, rt.Right); refused != nil {
			return nil, refused
		}
		return spoken, err
	}
	r.Fail = rt.Fail
	if err := s.admit(w, r, rt.Right); err != nil {
		return nil, err
	}
	if err := rt.ReadBody(w, r, s.cfg.MaxBody); err != nil {
		return nil, err
	}
	for i := range among {
		if among[i].Claims != nil && among[i].Claims(r) {
			rt = &among[i]
		}
	}
	r.Fail = rt.Fail
	return rt, nil
}

// admit identifies the caller, and refuses one without the required right.
func (s *Server) admit(w http.ResponseWriter, r *wire.Request, right wire.Right) (err error) {
	if right == wire.Anybody {
		return nil
	}
	request := r.Request
	r.Again = func() (access.Principal, error) { return s.deps.Admit(request, right) }
	r.Who, err = r.Again()
	if err == nil {
		if x, ok := w.(*exchange); ok {
			x.admitted = true
		}
		return nil
	}
	if f := wire.FailureOf(err); f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", cmp.Or(f.Challenge, "Bearer"))
	}
	return err
}

package server

import (
	"net/http"
	"slices"
	"strings"

	"parley/internal/wire"
)

// Descriptions of valid requests to a shared path, for error messages.
const (
	expectedBody = `a JSON object with a string "message" (Chat-with-RAG), ` +
		`with "messages" or "input" (AI Chat Protocol 2024-05-29), ` +
		`or with "messages" and "stream" (AI Chat Protocol 2024-01-28)`
	expectedName = azure0529 + ", " + azure0128 + " or " + ragChat
)

// The protocols that share paths.
const (
	azure0529 = "azure-0529"
	azure0128 = "azure-0128"
	ragChat   = "ragchat"
)

// dispatch reads the body of a request to a path that several protocols share, and returns the route of
// its protocol, which the header X-Chat-Protocol or the shape of the body determines. An HTML form is always
// azure-0529, the only one of these protocols with forms.
func (s *Server) dispatch(w http.ResponseWriter, r *wire.Request, among []wire.Route) (*wire.Route, error) {
	route := func(name string) *wire.Route {
		i := slices.IndexFunc(among, func(rt wire.Route) bool { return rt.Speaks == name })
		if i < 0 {
			return nil
		}
		return &among[i]
	}
	if values := r.Header.Values(wire.ProtocolHeader); len(values) > 0 {
		rt := route(strings.Join(values, ", "))
		if rt == nil {
			return nil, wire.Invalidf("%s names no protocol; expected %s", wire.ProtocolHeader, expectedName)
		}
		r.Fail = rt.Fail
		return rt, rt.ReadBody(w, r, s.cfg.MaxBody)
	}
	rt := route(azure0529)
	err := rt.ReadBody(w, r, s.cfg.MaxBody)
	if r.IsForm {
		r.Fail = rt.Fail
		return rt, err
	}
	if err != nil {
		return nil, err
	}
	name, err := byBody(r)
	if err != nil {
		return nil, err
	}
	if rt = route(name); rt == nil {
		return nil, wire.Invalidf("expected %s", expectedBody)
	}
	r.Fail = rt.Fail
	return rt, nil
}

// byBody returns the protocol of a request, according to its body.
func byBody(r *wire.Request) (string, error) {
	p, err := r.Probe()
	switch {
	case err != nil:
		return "", err
	case p.HasMessage && p.HasMessages:
		return "", wire.Invalidf(`the request has both "message" and "messages"; expected %s`, expectedBody)
	case p.MessageIsString:
		return ragChat, nil
	case p.HasMessages && p.HasStream:
		return azure0128, nil
	case p.HasMessages, p.HasInput && !p.HasMessage:
		return azure0529, nil
	}
	return "", wire.Invalidf("expected %s", expectedBody)
}

package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/internal/wire/azurechat"
	"parley/internal/wire/openai"
)

// handler answers a request, or returns an error before it has sent anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one path, or one family of paths, and what it does for each method.
type route struct {
	path    string // pattern of http.ServeMux without a method; also the label in logs and metrics
	methods map[string]handler
	allow   string // the methods, for the header Allow
	errors  shape
	quiet   bool // a probe, called all day: logged at Debug, and answered when connections are scarce
}

// ServeHTTP is never called: Server.handle looks the route up and goes through its guards.
func (rt *route) ServeHTTP(http.ResponseWriter, *http.Request) {
	panic("server: a route was served without its guards")
}

// setPathValues sets what the request has for each {name} of the path, which a mux would do only if
// it served the request itself.
func (rt *route) setPathValues(r *http.Request) {
	if !strings.Contains(rt.path, "{") {
		return
	}
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for i, part := range strings.Split(rt.path, "/") {
		name, ok := strings.CutPrefix(part, "{")
		if !ok || i >= len(segments) || name == "$}" || strings.HasSuffix(name, "...}") {
			continue
		}
		if value, err := url.PathUnescape(segments[i]); err == nil {
			r.SetPathValue(strings.TrimSuffix(name, "}"), value)
		}
	}
}

// Where the routes of OpenAI's API are.
const (
	openAIPath = "/v1/"
	modelsPath = openAIPath + "models/"
)

// unknownRoute stands for every path that is none, so that paths cannot flood the metrics.
var unknownRoute = &route{path: "unknown", errors: plainErrors}

// table lists every route; specs/README.md section 1 says which path speaks which protocol.
// Routes of protocols that are not here yet are 404. POST /api/chat is the Chat UI's: only the path
// with the slash is the AI Chat Protocol's.
func (s *Server) table() []*route {
	const always, never = azurechat.StreamAlways, azurechat.StreamNever
	turns := []*route{
		post("/chat", s.dispatched(azurechat.StreamByBody)),
		post("/ask", s.dispatched(never)),
		post("/chat/stream", s.fixed(azurechat.Form{Stream: always})),
		post("/p/azure-0529/chat", s.fixed(azurechat.Form{Stream: never})),
		post("/p/azure-0529/chat/stream", s.fixed(azurechat.Form{Stream: always})),
		post("/p/azure-0128/chat", s.fixed(azurechat.Form{Version: azurechat.V0128})),
	}
	sdk := []*route{
		post("/api/chat/{$}", s.fixed(azurechat.Form{SDK: true, Stream: never})),
		post("/api/chat/stream", s.fixed(azurechat.Form{SDK: true, Stream: always})),
	}
	for _, rt := range sdk {
		rt.errors = sdkErrors
	}
	ofOpenAI := []*route{
		post("/v1/chat/completions", s.turn(s.withBody(s.deps.OpenAI.Complete))),
		get("/v1/models", s.models),
		get(modelsPath+"{id...}", s.model),
	}
	for _, rt := range ofOpenAI {
		rt.errors = openai.WriteFailure
	}
	completions, models := withSlashes(ofOpenAI[:1]), ofOpenAI[1:] // below /v1/models/ is every id
	routes := append(withSlashes(slices.Concat(turns, sdk, s.azureHistory(), s.ragChatRoutes())), s.chatUIRoutes()...)
	routes = slices.Concat(routes, completions, models, withSlashes([]*route{post("/speech", s.speech)}))
	routes = append(routes, s.intakeRoutes()...)
	if s.deps.MCP != nil {
		mcp := post("/mcp", s.mcp)
		mcp.errors = mcpErrors
		routes = append(routes, withSlashes([]*route{mcp})...)
	}
	routes = append(routes,
		get("/{$}", s.index),
		get("/auth_setup", s.authSetup),
		get("/config", s.frontEndConfig),
		get("/content/{path...}", s.content),
		get("/openapi.json", s.openAPI),
		get("/api/usage", s.usage),
		&route{path: "/api/turns/{id}/events", methods: map[string]handler{http.MethodGet: s.turnEvents}, errors: plainErrors},
		quiet(get("/healthz", s.healthz)),
		quiet(get("/readyz", s.readyz)),
		quiet(get("/metrics", s.metricsPage)),
	)
	routes = append(routes, s.webRoutes()...)
	for _, rt := range routes {
		rt.allow = strings.Join(append(slices.Sorted(maps.Keys(rt.methods)), http.MethodOptions), ", ")
	}
	return routes
}

func post(path string, h handler) *route {
	return &route{path: path, errors: plainErrors, methods: map[string]handler{http.MethodPost: h}}
}

func get(path string, h handler) *route {
	return &route{path: path, errors: plainErrors, methods: map[string]handler{
		http.MethodGet: h, http.MethodHead: h,
	}}
}

func quiet(rt *route) *route {
	rt.quiet = true
	return rt
}

// withSlashes adds each route again with a slash at the end, because a redirect to the other
// form would lose the body of a POST.
func withSlashes(routes []*route) []*route {
	all := slices.Clone(routes)
	for _, rt := range routes {
		if !strings.HasSuffix(rt.path, "/{$}") {
			slashed := *rt
			slashed.path += "/{$}"
			all = append(all, &slashed)
		}
	}
	return all
}

func newMux(routes []*route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range routes {
		mux.Handle(rt.path, rt)
	}
	return mux
}

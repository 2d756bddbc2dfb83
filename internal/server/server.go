// Package server is Parley's HTTP side: it routes requests to the protocol adapters, decides on
// POST /chat which protocol a body speaks, and does for every route what belongs to none of
// them: request ids, the access log, metrics, limits, CORS, the checks that keep other web
// sites out, health, and an orderly end.
//
// Protocols mount themselves: each brings its routes (wire.Protocol). Every request passes the same
// guards (Server.handle): Host, path, preflight, origin, method. Then the server does what the route
// asks for (Server.answer): it reads the body, once, finds out who asks, and runs the handler. An
// error that the handler returns is logged and answered in the shape of the route; so is every refusal.
// A body that nobody reads has a deadline. How many turns may run at one time is decided by the
// runner (turn.Options.MaxTurns).
//
//	srv := server.New(server.Config{Namespace: "default"}, server.Deps{Protocols: []wire.Protocol{azure.Protocol(), …}})
//	err := srv.Serve(ctx, listener) // returns when ctx is done and the streams have ended
package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/access"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/webui"
	"parley/internal/wire"
)

// Config is what the server needs to know. A zero field means the default, which the field's
// comment names.
type Config struct {
	Namespace      string        // whose documents /content/ serves; default "default"
	PublicURL      string        // where clients reach the server; its host and origin are trusted
	Origins        []string      // browsers' origins that may call, "*" for all; default: loopback, any port
	Version        string        // shown in /metrics and on /; default "devel"
	MaxBody        int64         // bytes of a request body; default 1 MiB
	MaxConnections int           // open connections, of which the idle ones make room for more; default 4096
	WriteTimeout   time.Duration // for a client to take what one write sends; default 30 s
	Drain          time.Duration // for streams to end by themselves; default 30 s, negative: none
}

func (c Config) withDefaults() Config {
	setDefault(&c.Namespace, "default")
	setDefault(&c.Version, "devel")
	setDefault(&c.MaxBody, 1<<20)
	setDefault(&c.MaxConnections, 4096)
	setDefault(&c.WriteTimeout, 30*time.Second)
	setDefault(&c.Drain, 30*time.Second)
	c.Drain = max(c.Drain, 0)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Documents finds originals by their citation names. No file-system path is ever made from a
// URL: a name is looked up, and what is found names its blob by hash.
type Documents interface {
	// Document returns the document of that name that the filter lets through, or an error for
	// which errors.Is(err, retrieval.ErrNotFound).
	Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)
	// OpenBlob opens the original with that hash. The caller closes it.
	OpenBlob(sha256 string) (io.ReadSeekCloser, error)
}

// Status says how the rest of the program is doing. Both methods must be quick: probes wait.
type Status interface {
	// Ready returns nil when a question can be answered, otherwise why not, for logs.
	Ready(ctx context.Context) error
	// Ingestion returns the state of ingestion.
	Ingestion() Ingestion
}

// Ingestion is the state of ingestion, as /readyz and /metrics show it.
type Ingestion struct {
	Running   bool `json:"running"`
	Files     int  `json:"files"`     // found so far in this run
	Done      int  `json:"done"`      // of Files, looked at
	Indexed   int  `json:"indexed"`   // of Done, written to the index
	Unchanged int  `json:"unchanged"` // of Done, as they were
	Skipped   int  `json:"skipped"`   // of Done, not documents
	Failed    int  `json:"failed"`    // of Done, could not be read
	Documents int  `json:"documents"` // in the corpus now
	Pages     int  `json:"pages"`     // in the corpus now
	Chunks    int  `json:"chunks"`    // in the corpus now
	Partly    int  `json:"partly"`    // of Documents, those of which a part could not be read

	Embedding  bool `json:"embedding"`  // vectors are being made
	Unembedded int  `json:"unembedded"` // chunks that wait for theirs, as far as is known; 0 without an embedder
}

// Keys makes requests with the same Idempotency-Key one; turn.Keys does.
type Keys interface {
	Claim(ctx context.Context, k turn.Key, body []byte) (*turn.Claim, error)
}

// Deps is what the server works with. Protocols, Documents and Status are required.
type Deps struct {
	Protocols []wire.Protocol
	Documents Documents
	Status    Status

	// Admit returns who sends a request, if they have the right; a *chat.Error refuses it. It is the one
	// place where callers get their identity. Nil: everybody is anonymous and may do everything.
	Admit func(*http.Request, wire.Right) (access.Principal, error)

	// Namespaces returns the namespaces whose documents a caller may ask for by ?namespace=, beside
	// Config.Namespace. Nil means that there are no others.
	Namespaces func(context.Context, access.Principal) ([]string, error)

	Keys  Keys                                   // nil: no request may carry a key
	Drain func(ctx context.Context, cause error) // ends the turns that go on without clients, by ctx's end; nil: there are none

	Log     *slog.Logger // nil discards
	Metrics *Metrics     // nil makes one of its own; see NewMetrics
}

// Server serves Parley over HTTP. It is made by New and safe for concurrent use.
type Server struct {
	cfg       Config
	deps      Deps
	log       *slog.Logger
	metrics   *Metrics
	protocols []wire.Protocol // the server's own included
	mux       *http.ServeMux
	endpoints map[string]*endpoint // by path
	verbatim  []*endpoint
	trust     trust
	site      *webui.Site

	description func() ([]byte, error) // of all routes, made when it is first asked for

	draining atomic.Bool
	loopback atomic.Bool // bound to a loopback address only, so that other Hosts are attacks
}

// New returns a server. It panics when routes collide or lack what they need, which a test would have shown.
func New(cfg Config, deps Deps) *Server {
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, deps: deps, log: deps.Log, metrics: deps.Metrics, endpoints: map[string]*endpoint{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	if s.deps.Admit == nil {
		s.deps.Admit = func(*http.Request, wire.Right) (access.Principal, error) { return access.Anonymous, nil }
	}
	s.metrics.describe(cfg.Version, deps.Status)
	s.trust = newTrust(cfg.Origins, cfg.PublicURL)
	s.site = webui.New()
	s.mount(append(slices.Clone(deps.Protocols), s.own()))
	s.description = sync.OnceValues(func() ([]byte, error) { return wire.OpenAPI(s.protocols...) })
	return s
}

// Handler returns the handler of all routes. Serve adds what needs the listener: deadlines for
// headers, the limit on connections (gate), the check of Host on loopback addresses, and draining.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

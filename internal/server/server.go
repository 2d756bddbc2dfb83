// Package server is Parley's HTTP server. It routes requests to the protocol adapters, determines the
// protocol of a body on POST /chat, and does what every route needs: request ids, the access log,
// metrics, limits, CORS, protection against other web sites, health, and an orderly stop.
//
// Protocols mount themselves: each brings its routes (wire.Protocol). Every request passes the same
// guards (Server.handle): Host, path, preflight, origin, method. Then the server does what the route
// requires (Server.answer): it identifies the caller, reads the body once, and runs the handler. It logs
// an error that the handler returns, and responds with it in the route's form, as with every refusal. A
// body that no handler reads has a deadline. The runner limits concurrent turns (turn.Options.MaxTurns).
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

// Config configures a Server. A zero field means the default in its comment.
type Config struct {
	Namespace      string        // the namespace whose documents /content/ serves; default "default"
	PublicURL      string        // the URL of the server for clients; its host and origin are trusted
	Origins        []string      // origins of web pages that may call the server, "*" for all; default: loopback, any port
	EmbedOrigins   []string      // origins of web pages that may show the chat in a frame; like Origins
	Version        string        // shown in /metrics and on /; default "devel"
	MaxBody        int64         // bytes of a request body; default 1 MiB
	MaxConnections int           // maximum number of open connections; idle ones make room for new ones; default 4096
	WriteTimeout   time.Duration // for a client to accept one write; default 30 s
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

// Documents finds originals by their citation names. No file path is ever made from a URL: a name is
// looked up, and the document found has the hash of its blob.
type Documents interface {
	// Document returns the document of that name that passes the filter, or an error that wraps
	// retrieval.ErrNotFound.
	Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)
	// OpenBlob opens the original with that hash. The caller must close it.
	OpenBlob(sha256 string) (io.ReadSeekCloser, error)
}

// Status reports the state of the rest of the program. Both methods must return quickly, because probes wait
// for them.
type Status interface {
	// Ready returns nil if a question can be answered, and otherwise the reason, for logs.
	Ready(ctx context.Context) error
	// Ingestion returns the state of ingestion.
	Ingestion() Ingestion
}

// Ingestion is the state of ingestion in /readyz and /metrics.
type Ingestion struct {
	Running   bool `json:"running"`
	Files     int  `json:"files"`     // found so far in this run
	Done      int  `json:"done"`      // of Files, processed
	Indexed   int  `json:"indexed"`   // of Done, written to the index
	Unchanged int  `json:"unchanged"` // of Done, unchanged since they were indexed
	Skipped   int  `json:"skipped"`   // of Done, not documents
	Failed    int  `json:"failed"`    // of Done, not readable
	Documents int  `json:"documents"` // in the corpus now
	Pages     int  `json:"pages"`     // in the corpus now
	Chunks    int  `json:"chunks"`    // in the corpus now
	Partly    int  `json:"partly"`    // of Documents, those that could be read only in part

	Embedding  bool `json:"embedding"`  // vectors are being computed
	Unembedded int  `json:"unembedded"` // number of chunks waiting for vectors, as far as known; 0 without an embedder
}

// Keys runs requests with the same Idempotency-Key as one turn. turn.Keys implements it.
type Keys interface {
	Claim(ctx context.Context, k turn.Key, body []byte) (*turn.Claim, error)
}

// Deps are the components that the server uses. Protocols, Documents and Status are required.
type Deps struct {
	Protocols []wire.Protocol
	Documents Documents
	Status    Status

	// Admit returns the caller of a request if they have the right; its error is meant for wire.FailureOf. Nothing
	// else identifies callers. Nil means that everybody is anonymous and may do everything.
	Admit func(*http.Request, wire.Right) (access.Principal, error)

	// Namespaces returns the namespaces, in addition to Config.Namespace, whose documents a caller may
	// request with ?namespace=. Optional.
	Namespaces func(context.Context, access.Principal) ([]string, error)

	// Changed is called after each admitted request that may have changed something. Optional.
	Changed func(r *wire.Request, status int)

	Keys  Keys                                   // nil refuses requests with a key
	Drain func(ctx context.Context, cause error) // ends the turns that continue without clients, at the latest when ctx ends; optional

	Log     *slog.Logger // nil discards
	Metrics *Metrics     // nil means new ones; see NewMetrics
}

// Server serves Parley over HTTP. Use New to make one. It is safe for concurrent use.
type Server struct {
	cfg       Config
	deps      Deps
	log       *slog.Logger
	metrics   *Metrics
	protocols []wire.Protocol // including the server's own
	mux       *http.ServeMux
	endpoints map[string]*endpoint // by path
	verbatim  []*endpoint
	trust     trust
	embedding trust // which pages may show the chat in a frame
	site      *webui.Site

	description func() ([]byte, error) // of all routes, made on first use

	draining atomic.Bool
	loopback atomic.Bool // bound to a loopback address only; requests for other hosts are then DNS rebinding
}

// New returns a server. It panics if routes collide or are incomplete, which any test shows.
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
	s.embedding = newTrust(cfg.EmbedOrigins, cfg.PublicURL)
	s.site = webui.New()
	s.mount(append(slices.Clone(deps.Protocols), s.own()))
	s.description = sync.OnceValues(func() ([]byte, error) { return wire.OpenAPI(s.protocols...) })
	return s
}

// Handler returns the handler of all routes. Serve adds what needs the listener: deadlines for headers,
// the limit on connections (gate), the check of Host on loopback addresses, and draining.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

// Package server is Parley's HTTP side: it routes requests to the protocol adapters, decides on
// POST /chat which protocol a body speaks, and does for every route what belongs to none of
// them: request ids, the access log, metrics, limits, CORS, the checks that keep other web
// sites out, health, and an orderly end.
//
// Every request takes the same way (Server.handle), one guard after the other: Host, route,
// preflight, origin, method. What comes through reaches the route's handler; a body that no
// handler reads has a deadline. Every refusal has the error shape of its route. How many turns
// may run at one time is not decided here but around the runner (LimitTurns), so that each
// protocol refuses in its own shape.
//
//	srv := server.New(server.Config{Namespace: "default"}, server.Deps{Chat: adapter, …})
//	err := srv.Serve(ctx, listener) // returns when ctx is done and the streams have ended
package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"parley/internal/access"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/webui"
	"parley/internal/wire"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/openai"
	"parley/internal/wire/ragchat"
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
	Capabilities   Capabilities
}

// Capabilities is what the server can really do beyond text search, for GET /config.
type Capabilities struct {
	Vectors bool // an embedder is configured
	Rerank  bool // a reranker is configured
	Vision  bool // a model that reads images is configured
	Effort  bool // the model that answers can be told how long to reason
	Uploads bool // anybody who can reach the server may upload documents
	History bool // chats have ids, under which front ends of the AI Chat Protocol list them in the browser
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

// AzureChat answers turns of the AI Chat Protocol; azurechat.Handler does.
type AzureChat interface {
	// Serve answers a request whose body was read.
	Serve(w http.ResponseWriter, r *http.Request, form azurechat.Form, body []byte)
	// ServeMultipart reads a multipart body and answers it.
	ServeMultipart(w http.ResponseWriter, r *http.Request, form azurechat.Form)
}

var _ AzureChat = (*azurechat.Handler)(nil)

// OpenAI answers requests of OpenAI's API; openai.Handler does.
type OpenAI interface {
	// Complete answers a request for a completion whose body was read.
	Complete(w http.ResponseWriter, r *http.Request, body []byte)
	// Models lists the models.
	Models(w http.ResponseWriter, r *http.Request)
	// Model describes one model.
	Model(w http.ResponseWriter, r *http.Request, id string)
}

var _ OpenAI = (*openai.Handler)(nil)

// RAGChat answers requests of the Chat-with-RAG API; ragchat.Handler does.
type RAGChat interface {
	// Chat and Post answer a stateless request and one of a session, whose body was read.
	Chat(w http.ResponseWriter, r *http.Request, body []byte)
	Post(w http.ResponseWriter, r *http.Request, session string, body []byte)
	// Refusal returns what refuses such a request before it reaches them.
	Refusal(r *http.Request, body []byte) func(http.ResponseWriter, wire.Failure)
	// Begin, List, History, Reset and Delete answer the routes of sessions.
	Begin(w http.ResponseWriter, r *http.Request)
	List(w http.ResponseWriter, r *http.Request)
	History(w http.ResponseWriter, r *http.Request, session string)
	Reset(w http.ResponseWriter, r *http.Request, session string)
	Delete(w http.ResponseWriter, r *http.Request, session string)
	// Clear answers the routes that clear what a stateless chat has left.
	Clear(w http.ResponseWriter, r *http.Request, body []byte)
	// Steps streams the processing steps of a turn.
	Steps(w http.ResponseWriter, r *http.Request)
	// Search answers with passages.
	Search(w http.ResponseWriter, r *http.Request, body []byte)
	// Evaluate measures what is found for questions.
	Evaluate(w http.ResponseWriter, r *http.Request, body []byte)
	// ModelsJSON and ConfigJSON say what requests can choose, and what they get otherwise.
	ModelsJSON(w http.ResponseWriter, r *http.Request)
	ConfigJSON(w http.ResponseWriter, r *http.Request)
	// Drain ends the streams that nothing is sent to, so that they do not hold up a stop.
	Drain()
}

var _ RAGChat = (*ragchat.Handler)(nil)

// Keys makes requests with the same Idempotency-Key one; turn.Keys does.
type Keys interface {
	Claim(ctx context.Context, k turn.Key, body []byte) (claimed context.Context, release func(), err error)
}

// Turns finds what turns have said; turn.Runner does.
type Turns interface {
	// Log returns what a turn of the owner has said, or an error for which errors.Is(err,
	// turn.ErrNotFound).
	Log(ctx context.Context, owner, id string) (*turn.Log, error)
}

// Deps is what the server works with. What is above Intake is required.
type Deps struct {
	Chat         AzureChat
	AzureHistory AzureHistory
	ChatUI       ChatUI
	OpenAI       OpenAI
	RAGChat      RAGChat
	Documents    Documents
	Status       Status
	Web          WebAPI                                        // answers the web page; nil: there are no such routes
	Intake       Intake                                        // nil: documents come in otherwise only
	MCP          http.Handler                                  // answers /mcp; nil: there is no such route
	Principal    func(*http.Request) (access.Principal, error) // nil: every caller is anonymous

	// Namespaces returns the namespaces whose documents a caller may ask for by ?namespace=, beside
	// Config.Namespace. Nil means that there are no others.
	Namespaces func(context.Context, access.Principal) ([]string, error)

	Keys  Keys                                                                  // nil: no request may carry a key
	Usage func(ctx context.Context, q turn.UsageQuery) ([]turn.UsageRow, error) // nil: there is no usage to report

	Turns Turns                                  // nil: no turn can be followed or stopped
	Drain func(ctx context.Context, cause error) // ends the turns that go on without clients, by ctx's end; nil: there are none

	Log     *slog.Logger // nil discards
	Metrics *Metrics     // nil makes one of its own; see NewMetrics
}

// Server serves Parley over HTTP. It is made by New and safe for concurrent use.
type Server struct {
	cfg      Config
	deps     Deps
	log      *slog.Logger
	metrics  *Metrics
	mux      *http.ServeMux
	routes   []*route
	deletion *route // of deletePath; nil: there is none
	trust    trust
	site     *webui.Site

	draining atomic.Bool
	loopback atomic.Bool // bound to a loopback address only, so that other Hosts are attacks
}

// New returns a server. It panics when two routes collide, which a test would have shown.
func New(cfg Config, deps Deps) *Server {
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, deps: deps, log: deps.Log, metrics: deps.Metrics}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	if s.deps.Principal == nil {
		s.deps.Principal = func(*http.Request) (access.Principal, error) { return access.Anonymous, nil }
	}
	s.metrics.describe(cfg.Version, deps.Status)
	s.trust = newTrust(cfg.Origins, cfg.PublicURL)
	s.site = webui.New()
	s.routes = s.table()
	s.mux = newMux(s.routes)
	return s
}

// Handler returns the handler of all routes. Serve adds what needs the listener: deadlines for
// headers, the limit on connections (gate), the check of Host on loopback addresses, and draining.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

// Package openai speaks OpenAI's Chat Completions API, so that any client of that API can ask
// Parley: POST /v1/chat/completions, as JSON or as server-sent events, and GET /v1/models. Each
// namespace is a model: "parley" is the server's own, "parley/NAMESPACE" names one.
//
// A turn goes one way only: the body becomes a chat.Request, the Runner's events become chunks,
// and a reply that is not streamed is the fold of the same events. README.md beside this file
// describes the protocol as implemented.
package openai

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/wire"
)

// Runner runs one turn. Leaving the range, or cancelling ctx, ends the turn.
type Runner interface {
	Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error]
}

// Config is what a Handler needs. Runner and Principal are required.
type Config struct {
	Runner    Runner
	Principal func(*http.Request) (access.Principal, error) // a *chat.Error refuses the request

	// Namespaces returns the namespaces that a caller may ask, beside Namespace, which is always
	// one. Nil means that there are no others.
	Namespaces func(context.Context, access.Principal) ([]string, error)

	Defaults    chat.Options // what a request gets that says nothing else
	Namespace   string       // of the model "parley"; "" means "default"
	PublicURL   string       // where clients reach the server; "" means as each request says
	Vision      bool         // the model can see: images are accepted
	MaxMessages int          // 0 means 1,000
	Logger      *slog.Logger // nil means slog.Default()

	Now   func() time.Time // nil means time.Now
	NewID func() string    // makes ids; nil means ident.New
}

const defaultMaxMessages = 1000

// Handler answers the requests of the API. It is safe for concurrent use.
type Handler struct {
	cfg   Config
	since int64 // when the models came to be, in Unix seconds: the start of the server
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.MaxMessages = cmp.Or(cfg.MaxMessages, defaultMaxMessages)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = ident.New
	}
	cfg.Defaults.FollowUps = false // the API has no place for them
	return &Handler{cfg: cfg, since: cfg.Now().Unix()}
}

// exchange is one request for a completion with what its answer depends on.
type exchange struct {
	model    string // as the client names it
	streamed bool
	usage    bool   // the stream ends with a chunk of usage
	base     string // URL of the server, for links
	created  int64  // Unix seconds
	req      chat.Request
}

// Complete answers POST /v1/chat/completions, whose body was read with wire.ReadBody.
func (h *Handler) Complete(w http.ResponseWriter, r *http.Request, body []byte) {
	x, err := h.decode(r, body)
	if err != nil {
		h.fail(w, r, x, err)
		return
	}
	w.Header().Set("X-Turn-Id", x.req.TurnID)
	if x.streamed {
		h.stream(w, r, x)
		return
	}
	h.reply(w, r, x)
}

// fail answers with an error before anything else was sent.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, x *exchange, err error) {
	h.log(r, x, err)
	writeError(w, err)
}

func (h *Handler) log(r *http.Request, x *exchange, err error) {
	h.cfg.Logger.Log(r.Context(), wire.LevelOf(r.Context(), err), "chat request ended with an error",
		"turn_id", x.req.TurnID, "namespace", x.req.Namespace, "error", err)
}

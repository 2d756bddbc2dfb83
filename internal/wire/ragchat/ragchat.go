// Package ragchat speaks the Chat-with-RAG API: stateless and session chat with the parameters of
// a pipeline, processing steps as server-sent events, and tokens and costs with every answer.
//
// A turn goes one way only: the body becomes a chat.Request, the Runner's events become the steps
// and are folded into the response, whose figures are those of the ledger. A session is a stored
// conversation of the kind Kind: the same pipeline answers it, from what is stored instead of from
// the request's history. README.md beside this file describes the protocol as implemented.
package ragchat

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
)

// Kind is the kind of conversation that a session is.
const Kind = "ragchat"

// Sessions keeps conversations; store.State does.
type Sessions interface {
	// Begin commits a conversation without turns; its ID, Scope, Kind and CreatedAt count.
	Begin(ctx context.Context, c turn.Conversation) error
	// Conversation is that of turn.Store.
	Conversation(ctx context.Context, scope turn.Scope, id string, turns int) (turn.Conversation, error)
	// Conversations returns up to limit conversations of a scope and kind, last updated first,
	// without their History: those after the given one in that order, or from the first on when
	// after is zero.
	Conversations(ctx context.Context, scope turn.Scope, kind string, after turn.Position, limit int) ([]turn.Conversation, error)
	// Reset deletes the turns of a conversation and the totals of its account. The error is that
	// of Conversation.
	Reset(ctx context.Context, scope turn.Scope, id string, at time.Time) error
	// Delete deletes a conversation with its turns and the totals of its account. The error is
	// that of Conversation.
	Delete(ctx context.Context, scope turn.Scope, id string) error
}

// Ledger says what turns took; store.State does.
type Ledger interface {
	// Entries returns the entries of a turn, oldest first.
	Entries(ctx context.Context, turnID string) ([]ledger.Entry, error)
	// Totals returns the totals of an account, zero for one that nothing was added to.
	Totals(ctx context.Context, k ledger.AccountKey) (ledger.Totals, error)
	// ClearTotals makes the totals of an account zero, and reports whether there were any. The
	// ledger stays as it is.
	ClearTotals(ctx context.Context, k ledger.AccountKey) (bool, error)
}

// Config is what a Handler needs. Runner, Sessions, Ledger, Search, NewBill and Log are required.
type Config struct {
	Runner   chat.Runner
	Sessions Sessions
	Ledger   Ledger
	Search   func(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
	Models   func(ctx context.Context) []Model // for GET /api/models; nil: there are none
	NewBill  func() Bill                       // of an evaluation
	// Document returns a document by its name, or retrieval.ErrNotFound. Nil: evaluations do not say
	// which documents are not there.
	Document func(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)

	// Log returns what a turn of an owner has said, for the steps of one that has ended.
	Log func(ctx context.Context, owner, turnID string) (*turn.Log, error)

	// WebSearch reports whether models may call the tool web_search in a namespace
	// when a request asks for that. Nil: nowhere.
	WebSearch func(namespace string) bool
	Embedding string // key of the model that embeds; "" for none

	Engine      chat.Options // what the engine does when nothing else is said; the models count here
	Defaults    Defaults
	Namespace   string       // of requests that name none, and of sessions; "" means "default"
	PublicURL   string       // where clients reach the server; "" means as each request says
	MaxMessages int          // of a history; 0 means 1,000
	Logger      *slog.Logger // nil means slog.Default()

	Now       func() time.Time // nil means time.Now
	NewID     func() string    // makes ids of turns; nil means ident.New
	SessionID func() string    // makes ids of sessions; nil means random UUIDs
}

const defaultMaxMessages = 1000

// Handler answers the requests of the API. It is safe for concurrent use.
type Handler struct {
	cfg Config
	hub *hub

	evaluations chan struct{} // places
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	if cfg.Defaults == (Defaults{}) {
		cfg.Defaults = DefaultDefaults()
	}
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.MaxMessages = cmp.Or(cfg.MaxMessages, defaultMaxMessages)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = ident.New
	}
	if cfg.SessionID == nil {
		cfg.SessionID = uuid.NewString
	}
	return &Handler{cfg: cfg, hub: newHub(cfg.Now, cfg.Log), evaluations: make(chan struct{}, maxEvaluations)}
}

// exchange is one request for an answer with what its response depends on.
type exchange struct {
	session string // id; "" for a stateless request
	req     chat.Request
	params
	view
	started chat.Stage // that began last
	log     *turn.Log  // of its turn
	steps   *stepRun   // by which the log is found; nil when the request has no query id
	notes   []string   // what the client should know
}

// answer answers POST /chat and POST /chat/{session_id}: it runs a turn and says what became of it.
func (h *Handler) answer(w http.ResponseWriter, r *wire.Request) error {
	x := &exchange{session: r.PathValue("session_id")}
	err := h.decode(r, x)
	if err == nil {
		x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	}
	h.follow(x)
	// On every path, a panic included, those who watch the steps see the end; once only.
	defer x.steps.end(false, "")
	r.Fail = x.fail
	if err == nil {
		w.Header().Set("X-Turn-Id", x.req.TurnID)
		if x.stream {
			err = h.stream(w, r, x)
		} else {
			err = h.reply(w, r, x)
		}
	}
	if err != nil {
		err = wire.CauseOf(r.Context(), x.missing(err))
		f, _ := failureOf(x, err)
		x.steps.end(false, f.Text)
	}
	return err
}

// follow begins the run of the request's processing steps.
func (h *Handler) follow(x *exchange) {
	x.log = turn.NewLog(x.req.TurnID)
	x.rewrites, x.namespace = !x.req.Options.Rewrite.Off, x.req.Namespace
	x.steps = h.hub.begin(topic{owner: x.req.Principal.Subject, queryID: x.queryID}, x.view, x.req.TurnID, x.log)
}

// reply answers with one JSON object.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	res, err := h.run(r.Context(), x, nil)
	if err != nil {
		return err
	}
	raw, err := wire.AppendJSON(nil, res)
	if err != nil {
		return err
	}
	x.steps.end(true, "")
	return wire.WriteJSON(w, http.StatusOK, raw)
}

// missing returns the error of a turn, in the words of this API where the session is not there.
func (x *exchange) missing(err error) error {
	if x.session != "" && x.started == "" && chat.KindOf(err) == chat.NotFound {
		return errNoSession
	}
	return err
}

// run ranges over the turn and folds it into the response. Each event goes to each when that is not nil,
// whose error ends the turn.
func (h *Handler) run(ctx context.Context, x *exchange, each func(chat.Event) error) (*response, error) {
	var t chat.Turn
	ended := false
	x.req.Whole = each == nil
	for e, err := range turn.Logged(ctx, h.cfg.Runner, &x.req, x.log, h.cfg.Now) {
		if err != nil {
			return nil, err
		}
		if s, ok := e.(chat.StageStarted); ok {
			x.started = s.Stage
		}
		t.Add(e)
		if each != nil {
			if err := each(e); err != nil {
				return nil, err
			}
		}
		_, ended = e.(chat.TurnFinished)
	}
	if !ended {
		return nil, wire.ErrEndedEarly
	}
	if _, err := wire.AnswerOf(&t); err != nil {
		return nil, err
	}
	return h.respond(ctx, x, &t), nil
}

// clip returns the first n characters of s.
func clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

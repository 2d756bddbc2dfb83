// Package ragchat speaks the Chat-with-RAG API: stateless and session chat with the parameters of a
// pipeline, processing steps as server-sent events, and tokens and costs with every answer. In this package,
// "the original" is the program whose API this is.
//
// The body of a request becomes a chat.Request. The Runner's events become the steps and are folded into
// the response, whose figures come from the ledger. A session is a stored conversation of the kind Kind:
// the same pipeline answers it, from the stored messages instead of the request's history. README.md in
// this directory describes the protocol as implemented.
package ragchat

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
)

// Kind is the kind of conversation that a session is.
const Kind = "ragchat"

// Sessions stores conversations. store.State implements it.
type Sessions interface {
	// Begin commits a conversation without turns. It uses only ID, Scope, Kind and CreatedAt.
	Begin(ctx context.Context, c turn.Conversation) error
	// Conversation is like turn.Store.Conversation.
	Conversation(ctx context.Context, scope turn.Scope, id string, turns int) (turn.Conversation, error)
	// Conversations returns up to limit conversations of a scope and kind without their History, last
	// updated first. It begins after the given position, or with the first one if after is zero.
	Conversations(ctx context.Context, scope turn.Scope, kind string, after turn.Position, limit int) ([]turn.Conversation, error)
	// Reset deletes the turns of a conversation and the totals of its account. It returns the errors of
	// Conversation.
	Reset(ctx context.Context, scope turn.Scope, id string, at time.Time) error
	// Delete deletes a conversation with its turns and the totals of its account. It returns the errors of
	// Conversation.
	Delete(ctx context.Context, scope turn.Scope, id string) error
}

// Ledger reports the usage of turns. store.State implements it.
type Ledger interface {
	// Entries returns the entries of a turn, oldest first.
	Entries(ctx context.Context, turnID string) ([]ledger.Entry, error)
	// Totals returns the totals of an account, which are zero for an unused one.
	Totals(ctx context.Context, k ledger.AccountKey) (ledger.Totals, error)
	// ClearTotals sets the totals of an account to zero, and reports whether there were any. It does not
	// change the ledger.
	ClearTotals(ctx context.Context, k ledger.AccountKey) (bool, error)
}

// Board makes values known to all servers that use the same store.
type Board interface {
	// Notice makes a value known under a name, for an hour.
	Notice(ctx context.Context, name, value string) error
	// Noticed returns the value last made known under a name, or "".
	Noticed(ctx context.Context, name string) (value string, err error)
}

// Config configures a Handler. Runner, Sessions, Ledger, Search, NewBill and Log are required.
type Config struct {
	wire.Base

	Sessions Sessions
	Ledger   Ledger
	Search   func(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
	Models   func(ctx context.Context) []Model // for GET /api/models; nil means none
	NewBill  func() Bill                       // for an evaluation
	// Document returns a document by its name, or retrieval.ErrNotFound. Without it, evaluations do not
	// report missing documents. Optional.
	Document func(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)

	// DocumentByID returns a document by its id, or retrieval.ErrNotFound. If it is nil, requests with the
	// parameter documents find nothing. Optional.
	DocumentByID func(ctx context.Context, f retrieval.Filter, id string) (retrieval.Document, error)

	// Log returns the log of an owner's turn, for the steps of a turn that has ended or runs on another server.
	Log func(ctx context.Context, owner, turnID string) (*turn.Log, error)

	Board Board // shares the turns of query ids with other servers; nil if there are none

	// WebSearch reports whether models may call the tool web_search in a namespace on request. Nil means
	// that they may not.
	WebSearch func(namespace string) bool
	Embedding string // key of the embedding model; "" for none

	Parameters Defaults     // of requests; they override Base.Defaults
	Logger     *slog.Logger // nil means slog.Default()

	SessionID func() string // returns a new session id; nil means random UUIDs
}

// Handler answers the requests of the API. It is safe for concurrent use.
type Handler struct {
	cfg Config
	hub *hub

	evaluations wire.Slots // limits concurrent evaluations
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	if cfg.Parameters == (Defaults{}) {
		cfg.Parameters = DefaultDefaults()
	}
	cfg.Fill()
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.SessionID == nil {
		cfg.SessionID = uuid.NewString
	}
	return &Handler{cfg: cfg, hub: newHub(cfg.Now, cfg.Log, cfg.Board), evaluations: make(wire.Slots, maxEvaluations)}
}

// exchange is a request for an answer, with everything that its response depends on.
type exchange struct {
	session string // id; "" for a stateless request
	req     chat.Request
	params
	view
	started chat.Stage // the last stage that began
	log     *turn.Log  // log of its turn
	steps   *stepRun   // leads watchers to the log; nil if the request has no query id
	notes   []string   // remarks for the client
}

// answer handles POST /chat and POST /chat/{session_id}. It runs a turn and responds with the result.
func (h *Handler) answer(w http.ResponseWriter, r *wire.Request) error {
	x := &exchange{session: r.PathValue("session_id")}
	err := h.decode(r, x)
	if err == nil {
		x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	}
	h.follow(r.Context(), x)
	// However the handler ends, even by a panic, watchers of the steps see the end. Only the first call of end
	// has an effect.
	defer x.steps.end(false, "")
	r.Fail = x.fail
	if err == nil {
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

// follow starts the run of the request's processing steps, and announces it to other servers.
func (h *Handler) follow(ctx context.Context, x *exchange) {
	x.log = turn.NewLog(x.req.TurnID)
	x.rewrites, x.namespace = !x.req.Options.Rewrite.Off, x.req.Namespace
	t := topic{owner: x.req.Principal.Subject, queryID: x.queryID}
	x.steps = h.hub.begin(t, x.view, x.req.TurnID, x.log)
	if err := h.hub.tellOthers(ctx, t, x.view, x.req.TurnID); err != nil {
		h.cfg.Logger.WarnContext(ctx, "tell other servers of a turn; its steps are shown only here", "turn_id", x.req.TurnID, "error", err)
	}
}

// reply responds with one JSON object.
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

// missing returns the error of a turn, or errNoSession if the turn failed because its session does not exist.
func (x *exchange) missing(err error) error {
	if x.session != "" && x.started == "" && chat.KindOf(err) == chat.NotFound {
		return errNoSession
	}
	return err
}

// run runs the turn and folds its events into the response. If each is not nil, run calls it for every event; an
// error of each ends the turn.
func (h *Handler) run(ctx context.Context, x *exchange, each func(chat.Event) error) (*response, error) {
	var t chat.Turn
	x.req.Whole = each == nil
	err := wire.SendTurn(turn.Logged(ctx, h.cfg.Runner, &x.req, x.log, h.cfg.Now), func(e chat.Event) error {
		if s, ok := e.(chat.StageStarted); ok {
			x.started = s.Stage
		}
		t.Add(e)
		if each == nil {
			return nil
		}
		return each(e)
	})
	if err != nil {
		return nil, err
	}
	if _, err := wire.AnswerOf(&t); err != nil {
		return nil, err
	}
	return h.respond(ctx, x, &t), nil
}

// clip returns the first n characters of s, followed by an ellipsis if there are more.
func clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

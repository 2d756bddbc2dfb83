package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/trace"
)

// Options configures a Runner. The zero value is valid.
type Options struct {
	Log          *slog.Logger          // nil discards
	Count        func(text string) int // tokens of a text; nil means llm.EstimateTokens
	Namespace    string                // for requests that name none; "" means "default"
	HistoryTurns int                   // maximum number of completed turns given to the engine; 0 means 100
	HistoryBytes int                   // maximum size of their text; 0 means 256 KiB
	SaveTimeout  time.Duration         // 0 means 30 s
	Budgets      *ledger.Budgets       // nil means no budgets
	Price        ledger.Price          // prices of calls, to reserve from budgets of money; nil means that no price is known
	Now          func() time.Time      // nil means time.Now

	Allow    chat.Allowlist  // the models that requests may name
	MaxTurns int             // maximum number of turns in progress; one origin and one user may have 3/4 of them. Further turns are refused. 0 means no limit
	Keep     bool            // turns continue when their clients leave, depending on their Policy; Drain waits for them
	Observe  func() Observer // called for each requested turn, including refused ones. Optional.
	Peers    Peers           // other servers that use the same store; nil for none. With peers, Relay must be running
	Saved    func(Record)    // called after each saved turn. It must not retain Record.Said. Optional.
}

// Runner runs turns and saves them. It is safe for concurrent use.
type Runner struct {
	engine chat.Runner
	store  Store
	opts   Options
	places *places // nil means no limit
	keeper *keeper
	locks  locks
	live   live
	relay  *relay
}

// NewRunner returns a runner that runs turns on engine and saves them in store.
func NewRunner(engine chat.Runner, store Store, opts Options) *Runner {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Count == nil {
		opts.Count = llm.EstimateTokens
	}
	opts.Namespace = cmp.Or(opts.Namespace, "default")
	opts.HistoryTurns = cmp.Or(opts.HistoryTurns, 100)
	opts.HistoryBytes = cmp.Or(opts.HistoryBytes, 256<<10)
	opts.SaveTimeout = cmp.Or(opts.SaveTimeout, 30*time.Second)
	if opts.Budgets == nil {
		opts.Budgets = ledger.NewBudgets(nil, ledger.BudgetOptions{})
	}
	if opts.Price == nil {
		opts.Price = func(string, string, llm.Usage) ledger.Cost { return ledger.Cost{} }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	r := &Runner{engine: engine, store: store, opts: opts, keeper: newKeeper(), relay: newRelay(opts.Peers)}
	if opts.MaxTurns > 0 {
		r.places = newPlaces(opts.MaxTurns)
	}
	return r
}

// Run runs one turn according to the Steering of ctx. Breaking out of the range, cancelling ctx, and Log.Stop
// all cancel the turn. When the sequence ends, the turn has ended and has been saved. With Options.Keep, a turn
// may instead continue when the caller leaves.
func (r *Runner) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return r.runInto(ctx, req, nil)
}

// runInto is like Run, with the log to write to, or nil for a new one.
func (r *Runner) runInto(ctx context.Context, req *chat.Request, log *Log) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		own := *req
		if own.TurnID == "" {
			own.TurnID = ident.At(r.opts.Now())
		}
		Named(ctx, own.TurnID)
		own.Namespace = cmp.Or(own.Namespace, r.opts.Namespace)
		if log == nil {
			log = NewLog(own.TurnID)
		}
		if !own.Principal.MayUse(own.Namespace) || own.Home != "" && !own.Principal.MayUse(own.Home) {
			log.End(errNoNamespace)
			yield(nil, errNoNamespace)
			return
		}
		log.begin()
		steering := steeringOf(ctx)
		claim := steering.Claim.take()
		if r.opts.Keep && steering.finishes(&own) && !claim.repeats() {
			r.follow(ctx, &own, claim, log, yield)
			return
		}
		defer log.End(errUnfinished) // no effect on a turn that has run: its log has ended by now
		r.admit(ctx, &own, claim, log, yield)
	}
}

// errNoNamespace is the same for all namespaces that the caller may not use, whether they exist or not.
var errNoNamespace = &chat.Error{Kind: chat.NotFound, Msg: "There is no such namespace."}

var errBusy = &chat.Error{
	Kind: chat.RateLimited,
	Msg:  "Too many answers are in progress. Please try again in a moment.",
}

// admit runs a turn if there is a place for it, or repeats the turn that answered its key.
func (r *Runner) admit(ctx context.Context, req *chat.Request, claim *Claim, log *Log, yield func(chat.Event, error) bool) {
	ctx, span := trace.Turn(ctx, req.TurnID, req.ConversationID, req.Namespace)
	w := &watched{ctx: ctx, yield: yield, status: chat.StatusCancelled}
	defer func() { span.EndAs(string(w.status)) }()
	if r.opts.Observe != nil {
		w.observer = r.opts.Observe()
		defer func() { w.observer.End(w.status) }()
	}
	if r.places != nil {
		leave, ok := r.places.take(access.Origin(ctx), req.Principal.Subject)
		if !ok {
			log.End(errBusy)
			w.fail(errBusy)
			return
		}
		defer leave()
	}
	if claim.repeats() {
		for n, err := range unpack(claim.answered.Events) {
			if err != nil {
				log.End(err)
				w.fail(err)
				return
			}
			log.add(n.Event, r.opts.Now())
			if !w.pass(n.Event) {
				return
			}
		}
		log.End(nil)
		return
	}
	r.run(ctx, req, claim, log, w)
}

// run runs a turn that does not repeat an earlier one.
func (r *Runner) run(ctx context.Context, req *chat.Request, claim *Claim, log *Log, w *watched) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := r.begin(Scope{Namespace: req.Namespace, Owner: req.Principal.Subject}, req)
	if claim != nil {
		t.claim, t.packed = claim, &packer{}
	}
	t.log = log
	defer r.live.enter(log, t.record.Scope, cancel)()
	if err := r.prepared(ctx, req, t, w); err != nil {
		log.End(why(ctx, err))
		w.fail(reason(ctx, err))
	}
}

// prepared runs a turn once its conversation is free and its budgets admit it. It returns the error that
// ended the turn.
func (r *Runner) prepared(ctx context.Context, req *chat.Request, t *running, w *watched) error {
	leave, err := r.enter(ctx, t.record.home(), req.ConversationID)
	if err != nil {
		return err
	}
	defer leave()
	if err := r.resume(ctx, req, t); err != nil {
		return err
	}
	settle, err := r.reserve(ctx, t, req, r.estimate(req))
	if err != nil {
		return err
	}
	defer func() { settle(t.took()) }()
	if err := r.opts.Allow.Check(req.Options.Models); err != nil {
		return err
	}
	defer t.tab.Close(ctx)
	// This saves a turn that was not saved below, because its consumer left or panicked.
	defer r.abandon(ctx, t)
	return r.pump(ledger.WithTab(ctx, t.tab), req, t, w)
}

// pump ranges over the engine's events until the turn ends or the consumer leaves.
func (r *Runner) pump(ctx context.Context, req *chat.Request, t *running, w *watched) error {
	for e, err := range r.engine.Run(ctx, req) {
		if err != nil {
			return r.fail(ctx, t, err)
		}
		now := r.opts.Now()
		t.add(e, now)
		if last, ok := e.(chat.TurnFinished); ok {
			if err := r.complete(ctx, t, last); err != nil {
				return err
			}
			t.log.add(e, now)
			t.log.End(nil)
			w.pass(e)
			return nil
		}
		if !t.log.add(e, now) {
			return r.fail(ctx, t, errTooLong)
		}
		if !w.pass(e) {
			return nil
		}
	}
	return r.fail(ctx, t, errUnfinished)
}

var errUnfinished = errors.New("the engine's stream ended without TurnFinished")

// maxConversationID is the maximum length of a conversation id, in bytes.
const maxConversationID = 256

// enter waits until no other turn of the conversation runs. The caller must call leave when its turn
// ends.
func (r *Runner) enter(ctx context.Context, scope Scope, id string) (leave func(), err error) {
	if id == "" {
		return func() {}, nil
	}
	if len(id) > maxConversationID || !utf8.ValidString(id) {
		return nil, &chat.Error{Kind: chat.Invalid, Msg: "The conversation id is too long or not UTF-8."}
	}
	const busy = "Another turn of this conversation is still running."
	unlock, err := r.locks.lock(ctx, conversationKey{scope, id})
	if err != nil {
		return nil, &chat.Error{Kind: chat.Unavailable, Msg: busy, Err: err}
	}
	free, err := lockShared(ctx, r.opts.Peers, "conversation", scope.Namespace, scope.Owner, id)
	if err != nil {
		unlock()
		if known, ok := errors.AsType[*chat.Error](err); ok {
			return nil, known
		}
		return nil, &chat.Error{Kind: chat.Unavailable, Msg: busy, Err: err}
	}
	return func() { free(); unlock() }, nil
}

// resume puts the stored history of the conversation before the messages of the request.
func (r *Runner) resume(ctx context.Context, req *chat.Request, t *running) error {
	if req.ConversationID == "" {
		return nil
	}
	isQuestion := func(m chat.Message) bool { return m.Role == llm.User }
	if len(t.record.Results) == 0 && !slices.ContainsFunc(req.Messages, isQuestion) {
		// Otherwise the engine would answer the last stored question again.
		return &chat.Error{Kind: chat.Invalid, Msg: "There is no user message to answer."}
	}
	c, err := r.store.Conversation(ctx, t.record.home(), req.ConversationID, r.opts.HistoryTurns)
	switch {
	case errors.Is(err, ErrNotFound) && req.Kind == "":
		return nil
	case errors.Is(err, ErrForeign), errors.Is(err, ErrNotFound), err == nil && c.Kind != req.Kind:
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no such conversation.", Err: err}
	case err != nil:
		return &chat.Error{Kind: chat.Unavailable,
			Msg: "The conversation could not be read. Please try again.", Err: err}
	}
	t.record.Seen = c.Completed
	if len(t.record.Results) > 0 {
		req.Messages = t.record.Results // everything else that the client has sent is stored already
	}
	req.Messages = slices.Concat(suffix(alternate(c.History), r.opts.HistoryBytes), req.Messages)
	return nil
}

// fail saves a turn that ended with an error, and returns the error to pass on.
func (r *Runner) fail(ctx context.Context, t *running, err error) error {
	if !t.started {
		t.saved = true // a rejection is not a turn, so it is not saved
		return err
	}
	err = reason(ctx, err)
	if errors.Is(ctx.Err(), context.Canceled) {
		t.end(chat.StatusCancelled, chat.Internal)
	} else {
		t.end(chat.StatusFailed, chat.KindOf(err))
	}
	_ = r.save(ctx, t, nil, why(ctx, err)) // save logs its own error; the caller needs the turn's
	return err
}

// complete saves a turn that the engine has completed, with its last event.
func (r *Runner) complete(ctx context.Context, t *running, last chat.TurnFinished) error {
	t.end(chat.StatusCompleted, chat.Internal)
	err := t.answer(r.opts.Now())
	if err == nil {
		err = r.save(ctx, t, last, nil)
	}
	if err == nil {
		return nil
	}
	refused := &chat.Error{Kind: chat.Conflict, Msg: "The conversation was continued elsewhere. Please try again."}
	switch {
	case errors.Is(err, ErrConflict):
	case errors.Is(err, ErrForeign), errors.Is(err, ErrNotFound):
		if t.record.Kind != "" {
			refused = &chat.Error{Kind: chat.NotFound, Msg: "The conversation was deleted while the answer was being written."}
		}
		t.record.ConversationID, t.record.Account = "", chat.Account{}
	default:
		return &chat.Error{Kind: chat.Unavailable,
			Msg: "The answer could not be saved. Please try again.", Err: err}
	}
	// The answer was paid for, so it is saved, but not in the history of the conversation.
	t.record.Answered = nil
	t.end(chat.StatusFailed, refused.Kind)
	refused.Err = errors.Join(err, r.save(ctx, t, nil, refused))
	return refused
}

// abandon saves a turn whose consumer has left.
func (r *Runner) abandon(ctx context.Context, t *running) {
	if t.saved || !t.started {
		return
	}
	t.end(chat.StatusCancelled, chat.Internal)
	err := why(ctx, errLeft)
	_ = r.save(ctx, t, nil, err) // save logs its error, and the client is gone
	t.log.End(err)
}

// save commits the turn with its last event, or with the error that ended it. Its context is detached from the
// client's, which may have ended: an answer that was paid for must be saved nevertheless. It logs its error,
// because not every caller can report one.
func (r *Runner) save(ctx context.Context, t *running, last chat.Event, ended error) error {
	t.saved = true
	t.finish(r.opts.Now(), r.opts.Count)
	rec := &t.record
	packed := packers.Get().(*packer)
	defer packed.putBack()
	said, err := t.said(packed, last, ended)
	if err != nil {
		r.opts.Log.ErrorContext(ctx, "keep what a turn said", "turn_id", rec.ID, "error", err)
	}
	rec.Said = said
	defer func() { rec.Said = nil }() // its events are valid only until the packer is reused
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.SaveTimeout)
	defer cancel()
	about := []any{"turn_id", rec.ID, "conversation_id", rec.ConversationID,
		"namespace", rec.Scope.Namespace, "status", rec.Status}
	if err := r.store.Save(ctx, *rec); err != nil {
		r.opts.Log.ErrorContext(ctx, "save turn", append(about, "error", err)...)
		return fmt.Errorf("save turn %s: %w", rec.ID, err)
	}
	t.tab.Committed()
	if r.opts.Saved != nil {
		r.opts.Saved(*rec)
	}
	r.opts.Log.InfoContext(ctx, "turn", append(about, "model", rec.Model, "tokens", rec.Usage.Input+rec.Usage.Output,
		"first_token", rec.FirstToken, "duration", rec.FinishedAt.Sub(rec.StartedAt))...)
	return nil
}

// purgeBatch is the maximum number of rows that one transaction deletes, so that it does not block others for long.
const purgeBatch = 500

// Purge deletes stateless turns that finished longer ago than retention, and returns how many. It does
// not touch conversations or the ledger.
func (r *Runner) Purge(ctx context.Context, retention time.Duration) (int, error) {
	before := r.opts.Now().Add(-retention)
	return inBatches("purge turns", func() (int, error) { return r.store.Purge(ctx, before, purgeBatch) })
}

// Expire deletes conversations of a kind whose last turn finished longer ago than idle, and returns how
// many.
func (r *Runner) Expire(ctx context.Context, kind string, idle time.Duration) (int, error) {
	before := r.opts.Now().Add(-idle)
	return inBatches("expire conversations", func() (int, error) { return r.store.Expire(ctx, kind, before, purgeBatch) })
}

// inBatches calls remove, which removes up to purgeBatch rows, until none are left, and returns the total number.
func inBatches(what string, remove func() (int, error)) (total int, err error) {
	for {
		n, err := remove()
		total += n
		if err != nil {
			return total, fmt.Errorf("%s: %w", what, err)
		}
		if n < purgeBatch {
			return total, nil
		}
	}
}

// results returns the tool results at the end of messages.
func results(messages []chat.Message) []chat.Message {
	from := len(messages)
	for from > 0 && messages[from-1].Role == llm.ToolRole {
		from--
	}
	return slices.Clone(messages[from:])
}

// question returns the last user message.
func question(messages []chat.Message) chat.Message {
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.User {
			return m
		}
	}
	return chat.Message{Role: llm.User}
}

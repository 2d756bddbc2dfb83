package turn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/llm"
)

// Engine runs one turn; *chat.Engine does.
type Engine interface {
	Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error]
}

// Options tunes a Runner. The zero value is good.
type Options struct {
	Log          *slog.Logger          // nil discards
	Count        func(text string) int // tokens of a text; nil means llm.EstimateTokens
	Namespace    string                // of requests that name none; "" means "default"
	HistoryTurns int                   // completed turns given to the engine; 0 means 100
	HistoryBytes int                   // of text in them; 0 means 256 KiB
	SaveTimeout  time.Duration         // 0 means 10 s
	Saved        func(Record)          // is told of each turn that was saved, but keeps nothing of its Said; nil tells nobody
	Budgets      *Budgets              // nil refuses nothing
	Price        Price                 // of a call, to reserve from budgets of money; nil knows no price
	Now          func() time.Time      // nil means time.Now
}

// Runner runs turns and saves them. Its methods may be called concurrently.
type Runner struct {
	engine Engine
	store  Store
	opts   Options
	locks  locks
	live   live
}

// NewRunner returns a runner of the engine's turns that saves them in store.
func NewRunner(engine Engine, store Store, opts Options) *Runner {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Count == nil {
		opts.Count = llm.EstimateTokens
	}
	if opts.Namespace == "" {
		opts.Namespace = "default"
	}
	if opts.HistoryTurns == 0 {
		opts.HistoryTurns = 100
	}
	if opts.HistoryBytes == 0 {
		opts.HistoryBytes = 256 << 10
	}
	if opts.SaveTimeout == 0 {
		opts.SaveTimeout = 10 * time.Second
	}
	if opts.Budgets == nil {
		opts.Budgets = NewBudgets(nil, BudgetOptions{})
	}
	if opts.Price == nil {
		opts.Price = func(string, string, llm.Usage) Cost { return Cost{} }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Runner{engine: engine, store: store, opts: opts}
}

// Run runs one turn in the caller's goroutine and passes its events on as package chat has
// it. The turn ends with the sequence; breaking out of the range, cancelling ctx, or Log.Stop
// cancels it. However it ends, it has been saved by then. The sequence can be ranged once.
//
// In a context of Keys.Claim, the first turn is that of the key: one that was answered before
// says again what it said, and costs nothing.
func (r *Runner) Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if req.TurnID == "" {
			req.TurnID = ident.At(r.opts.Now())
		}
		if req.Namespace == "" {
			req.Namespace = r.opts.Namespace
		}
		claim := takeClaim(ctx)
		if claim != nil && claim.again {
			repeat(claim.answered.Events)(yield)
			return
		}
		r.run(ctx, &req, claim, yield)
	}
}

// run runs a turn that was not answered before.
func (r *Runner) run(ctx context.Context, req *chat.Request, claim *claim, yield func(chat.Event, error) bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := r.begin(Scope{Namespace: req.Namespace, Owner: req.Principal.Subject}, req)
	if claim != nil {
		t.claim, t.packed = claim, &packer{}
	}
	t.log = logOf(ctx, req.TurnID)
	defer r.live.enter(t.log, t.record.Scope, cancel)()
	consumer := yield
	yield = func(e chat.Event, err error) bool {
		if err != nil {
			t.log.end(why(ctx, err))
			err = reason(ctx, err)
		}
		return consumer(e, err)
	}
	leave, err := r.enter(ctx, t.record.home(), req.ConversationID)
	if err != nil {
		yield(nil, err)
		return
	}
	defer leave()
	if err := r.resume(ctx, req, t); err != nil {
		yield(nil, err)
		return
	}
	settle, err := r.reserve(ctx, t, req, r.estimate(req))
	if err != nil {
		yield(nil, err)
		return
	}
	defer func() { settle(t.took()) }()
	defer t.meta.finish(ctx)
	// Whatever is not saved further down ends here: a consumer that has left or panicked.
	defer r.abandon(ctx, t)
	r.pump(withMeta(ctx, t.meta), req, t, yield)
}

// pump ranges over the engine until the turn ends or the consumer leaves.
func (r *Runner) pump(ctx context.Context, req *chat.Request, t *running, yield func(chat.Event, error) bool) {
	for e, err := range chat.Start(ctx, r.engine, req) {
		if err != nil {
			yield(nil, r.fail(ctx, t, err))
			return
		}
		t.add(e, r.opts.Now())
		if last, ok := e.(chat.TurnFinished); ok {
			if err := r.complete(ctx, t, last); err != nil {
				yield(nil, err)
				return
			}
			t.log.add(e)
			t.log.end(nil)
			yield(e, nil)
			return
		}
		if !t.log.add(e) {
			yield(nil, r.fail(ctx, t, errTooLong))
			return
		}
		if !yield(e, nil) {
			return
		}
	}
	yield(nil, r.fail(ctx, t, errUnfinished))
}

var errUnfinished = errors.New("the engine's stream ended without TurnFinished")

// maxConversationID is the longest conversation id in bytes.
const maxConversationID = 256

// enter waits until no other turn of the conversation runs. The caller calls leave at the end.
func (r *Runner) enter(ctx context.Context, scope Scope, id string) (leave func(), err error) {
	if id == "" {
		return func() {}, nil
	}
	if len(id) > maxConversationID || !utf8.ValidString(id) {
		return nil, &chat.Error{Kind: chat.Invalid, Msg: "The conversation id is too long or not UTF-8."}
	}
	leave, err = r.locks.lock(ctx, conversationKey{scope, id})
	if err != nil {
		return nil, &chat.Error{Kind: chat.Unavailable,
			Msg: "Another turn of this conversation is still running.", Err: err}
	}
	return leave, nil
}

// resume puts the stored history of the conversation before the messages of the request.
func (r *Runner) resume(ctx context.Context, req *chat.Request, t *running) error {
	if req.ConversationID == "" {
		return nil
	}
	isQuestion := func(m chat.Message) bool { return m.Role == llm.User }
	if len(t.record.Results) == 0 && !slices.ContainsFunc(req.Messages, isQuestion) {
		// The engine would take the last stored question for a new one.
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
		req.Messages = t.record.Results // what else the client sent with them is stored
	}
	req.Messages = slices.Concat(suffix(alternate(c.History), r.opts.HistoryBytes), req.Messages)
	return nil
}

// fail saves a turn that ended with an error, and returns the error to pass on.
func (r *Runner) fail(ctx context.Context, t *running, err error) error {
	if !t.started {
		t.saved = true // a rejection: there is no turn
		return err
	}
	err = reason(ctx, err)
	if errors.Is(ctx.Err(), context.Canceled) {
		t.end(chat.StatusCancelled, chat.Internal)
	} else {
		t.end(chat.StatusFailed, chat.KindOf(err))
	}
	_ = r.save(ctx, t, nil, why(ctx, err)) // it has logged its error; the turn's own is what the caller wants
	return err
}

// complete saves a turn that the engine has finished with its last event.
func (r *Runner) complete(ctx context.Context, t *running, last chat.TurnFinished) error {
	t.end(chat.StatusCompleted, chat.Internal)
	err := t.answer(r.opts.Now())
	if err == nil {
		err = r.save(ctx, t, last, nil)
	}
	if err == nil {
		return nil
	}
	refused := &chat.Error{Kind: chat.Conflict, Msg: "The conversation has gone on elsewhere. Please try again."}
	switch {
	case errors.Is(err, ErrConflict):
	case errors.Is(err, ErrForeign), errors.Is(err, ErrNotFound):
		if t.record.Kind != "" {
			refused = &chat.Error{Kind: chat.NotFound, Msg: "The conversation was deleted while it was answered."}
		}
		t.record.ConversationID, t.record.Account = "", chat.Account{}
	default:
		return &chat.Error{Kind: chat.Unavailable,
			Msg: "The answer could not be saved. Please try again.", Err: err}
	}
	// The answer was paid for: it stays on record, outside the history of the conversation.
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
	_ = r.save(ctx, t, nil, err) // it has logged its error, and nobody is left to tell
	t.log.end(err)
}

// save commits the turn, once, with its last event or the error that ended it. Its context is detached from the client's, which may be gone by
// now; what was answered and paid for must be on record all the same. An error is logged here,
// because not every caller has somebody to tell.
func (r *Runner) save(ctx context.Context, t *running, last chat.Event, ended error) error {
	t.saved = true
	t.finish(r.opts.Now(), r.opts.Count)
	rec := &t.record
	rec.Ended = t.meta.kept()
	packed := packers.Get().(*packer)
	defer packed.putBack()
	said, err := t.said(packed, last, ended)
	if err != nil {
		r.opts.Log.ErrorContext(ctx, "keep what a turn said", "turn_id", rec.ID, "error", err)
	}
	rec.Said = said
	defer func() { rec.Said = nil }() // it goes with the packer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.SaveTimeout)
	defer cancel()
	about := []any{"turn_id", rec.ID, "conversation_id", rec.ConversationID,
		"namespace", rec.Scope.Namespace, "status", rec.Status}
	if err := r.store.Save(ctx, *rec); err != nil {
		r.opts.Log.ErrorContext(ctx, "save turn", append(about, "error", err)...)
		return fmt.Errorf("save turn %s: %w", rec.ID, err)
	}
	t.meta.written()
	if r.opts.Saved != nil {
		r.opts.Saved(*rec)
	}
	r.opts.Log.InfoContext(ctx, "turn", append(about, "model", rec.Model, "tokens", rec.Usage.Input+rec.Usage.Output,
		"first_token", rec.FirstToken, "duration", rec.FinishedAt.Sub(rec.StartedAt))...)
	return nil
}

// purgeBatch is how many turns one transaction deletes, so that it does not hold up others.
const purgeBatch = 500

// Purge deletes the stateless turns that finished longer ago than retention, and returns how
// many. Conversations and the ledger stay.
func (r *Runner) Purge(ctx context.Context, retention time.Duration) (int, error) {
	before := r.opts.Now().Add(-retention)
	for total := 0; ; {
		n, err := r.store.Purge(ctx, before, purgeBatch)
		total += n
		if err != nil {
			return total, fmt.Errorf("purge turns: %w", err)
		}
		if n < purgeBatch {
			return total, nil
		}
	}
}

// Expire deletes the conversations of a kind whose last turn finished longer ago than idle, and
// returns how many.
func (r *Runner) Expire(ctx context.Context, kind string, idle time.Duration) (int, error) {
	before := r.opts.Now().Add(-idle)
	for total := 0; ; {
		n, err := r.store.Expire(ctx, kind, before, purgeBatch)
		total += n
		if err != nil {
			return total, fmt.Errorf("expire conversations: %w", err)
		}
		if n < purgeBatch {
			return total, nil
		}
	}
}

// results returns the results of tools with which messages end.
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

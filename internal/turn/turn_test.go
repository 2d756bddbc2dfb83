package turn_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests stops PostgreSQL when they have run.
type tests struct{ *testing.M }

func (t tests) Run() int { return pgtest.Main(t.M) }

// engine is a scripted engine.
type engine func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error

// Run emits events until the script ends; an error it returns ends the stream unless the consumer
// has left.
func (e engine) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		left := false
		err := e(ctx, *req, func(ev chat.Event) bool {
			left = left || !yield(ev, nil)
			return !left
		})
		if err != nil && !left {
			yield(nil, err)
		}
	}
}

var cited = []chat.Citation{{Label: "a.pdf#page=2", DocumentID: "d", Name: "a.pdf", Title: "A", Page: 2}}

// answering returns an engine that answers each question with its text.
func answering() engine {
	return func(_ context.Context, req chat.Request, emit func(chat.Event) bool) error {
		q := req.Messages[len(req.Messages)-1].Text()
		usage := llm.Usage{Input: 10, Output: 5}
		for _, e := range []chat.Event{
			chat.StageStarted{Stage: chat.StageRewrite},
			chat.QueryRewritten{Original: q, Query: "standalone " + q, Rewritten: true},
			chat.StageFinished{Stage: chat.StageRewrite, Duration: time.Millisecond},
			chat.StageStarted{Stage: chat.StageGenerate},
			chat.MessageStarted{ID: "m", Model: "asked"},
			chat.CompletionStarted{ID: "m", Model: "answering"},
			chat.TextDelta{ID: "m", Text: "answer to "},
			chat.TextDelta{ID: "m", Text: q},
			chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "answer to " + q, Citations: cited,
				FinishReason: "stop", Model: "answering", Usage: usage},
			chat.StageFinished{Stage: chat.StageGenerate, Usage: usage},
			chat.TurnFinished{Usage: usage},
		} {
			if !emit(e) {
				return nil
			}
		}
		return nil
	}
}

// until returns an engine that emits the first text delta and then returns the result of then.
func until(then func(ctx context.Context) error) engine {
	return func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		for _, e := range []chat.Event{
			chat.StageStarted{Stage: chat.StageGenerate},
			chat.MessageStarted{ID: "m", Agent: "writer", Model: "asked"},
			chat.TextDelta{ID: "m", Text: "half an ans"},
		} {
			if !emit(e) {
				return nil
			}
		}
		return then(ctx)
	}
}

func openAt(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func open(t *testing.T) *store.DB { return openAt(t, t.TempDir()) }

var alice = turn.Scope{Namespace: "ns", Owner: "alice"}

const turnID = "01JTURN0000000000000000001"

// ask returns alice's request with a question.
func ask(conversation, question string) chat.Request {
	return chat.Request{Namespace: "ns", Principal: access.Principal{Subject: "alice"}, ConversationID: conversation,
		Messages: []chat.Message{chat.TextMessage(llm.User, question)}}
}

// askTurn is ask with a known turn id.
func askTurn(conversation, question string) chat.Request {
	req := ask(conversation, question)
	req.TurnID = turnID
	return req
}

// saved returns the turn of turnID.
func saved(t *testing.T, s turn.Store) turn.Record {
	t.Helper()
	r, err := s.Turn(t.Context(), alice, turnID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func notSaved(t *testing.T, s turn.Store) {
	t.Helper()
	if r, err := s.Turn(t.Context(), alice, turnID); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Turn: %+v, %v, want ErrNotFound", r, err)
	}
}

func TestRun_SavesACompletedTurnBeforeItsLastEvent(t *testing.T) {
	db := open(t)
	r := turn.NewRunner(answering(), db.State(), turn.Options{})
	before := time.Now().UTC().Truncate(time.Microsecond)
	events := 0
	for e, err := range r.Run(t.Context(), new(askTurn("", "why?"))) {
		if err != nil {
			t.Fatal(err)
		}
		events++
		if _, last := e.(chat.TurnFinished); !last {
			notSaved(t, db.State())
			continue
		}
		got := saved(t, db.State())
		if got.StartedAt.Before(before) || got.FinishedAt.Before(got.StartedAt) || got.FirstToken <= 0 {
			t.Errorf("times: %v, %v, %v", got.StartedAt, got.FinishedAt, got.FirstToken)
		}
		usage := llm.Usage{Input: 10, Output: 5}
		want := turn.Record{
			ID: turnID, Scope: alice, Status: chat.StatusCompleted, Query: "standalone why?",
			Question:  chat.Message{Role: llm.User, Parts: []llm.Part{{Text: "why?"}}, Tokens: 1},
			Requested: "asked", Model: "answering", Usage: usage,
			Stages: []chat.StageFinished{{Stage: chat.StageRewrite, Duration: time.Millisecond},
				{Stage: chat.StageGenerate, Usage: usage}},
			Answers: []turn.Answer{{Status: chat.StatusCompleted, FinishReason: "stop", Model: "answering", Usage: usage,
				Message: chat.Message{ID: "m", Role: llm.Assistant, Tokens: 4, Citations: cited,
					Parts: []llm.Part{{Text: "answer to why?"}}}}},
		}
		if diff := cmp.Diff(want, got, cmp.FilterPath(varies, cmp.Ignore())); diff != "" {
			t.Errorf("saved turn (-want +got):\n%s", diff)
		}
		if got.Question.ID == "" || got.Question.CreatedAt.IsZero() || got.Answers[0].CreatedAt.IsZero() {
			t.Errorf("question %+v, answer %+v", got.Question, got.Answers[0])
		}
	}
	if events != 11 {
		t.Errorf("%d events, want 11", events)
	}
}

// varies reports whether a field of a record differs from run to run.
func varies(p cmp.Path) bool {
	switch p.String() {
	case "StartedAt", "FinishedAt", "FirstToken", "Question.ID", "Question.CreatedAt", "Answers.Message.CreatedAt":
		return true
	}
	return false
}

func TestRun_SavesThePartialAnswerWhenTheClientLeaves(t *testing.T) {
	waitForCancel := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("stage generate: %w", ctx.Err())
	}
	never := func(context.Context) error { return errors.New("the engine went on") }
	for name, c := range map[string]struct {
		engine engine
		leave  func(cancel func()) (stay bool) // at the first delta
	}{
		"by breaking out of the range": {until(never), func(func()) bool { return false }},
		"by cancelling the context":    {until(waitForCancel), func(cancel func()) bool { cancel(); return true }},
		"by doing both":                {until(waitForCancel), func(cancel func()) bool { cancel(); return false }},
		"by panicking":                 {until(never), func(func()) bool { panic("client") }},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			r := turn.NewRunner(c.engine, db.State(), turn.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			func() {
				defer func() { recover() }()
				for e, err := range r.Run(ctx, new(askTurn("c", "why?"))) {
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					if _, ok := e.(chat.TextDelta); ok && !c.leave(cancel) {
						break
					}
				}
			}()
			got := saved(t, db.State())
			if got.Status != chat.StatusCancelled || len(got.Answers) != 1 {
				t.Fatalf("saved turn: %+v", got)
			}
			a := got.Answers[0]
			if a.Text() != "half an ans" || a.Status != chat.StatusCancelled || a.Agent != "writer" {
				t.Errorf("partial answer: %+v", a)
			}
			if want := (llm.Usage{Output: 3, Estimated: true}); got.Usage != want {
				t.Errorf("usage %+v, want %+v", got.Usage, want)
			}
			// The conversation can go on, without the half answer.
			if got := history(t, db, "c"); len(got) != 0 {
				t.Errorf("history: %q", got)
			}
		})
	}
}

func TestRun_SavesAFailureBeforePassingItOn(t *testing.T) {
	for name, c := range map[string]struct {
		fail error
		want chat.Kind
	}{
		"of a kind":     {&chat.Error{Kind: chat.RateLimited, Msg: "busy"}, chat.RateLimited},
		"of none":       {errors.New("boom"), chat.Internal},
		"out of script": {nil, chat.Internal}, // the stream just ends
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			r := turn.NewRunner(until(func(context.Context) error { return c.fail }), db.State(), turn.Options{})
			var failed error
			for _, err := range r.Run(t.Context(), new(askTurn("c", "why?"))) {
				if failed != nil {
					t.Error("an item came after the error")
				}
				if failed = err; failed == nil {
					continue
				}
				got := saved(t, db.State())
				if got.Status != chat.StatusFailed || got.ErrorKind != c.want || got.Answers[0].Text() != "half an ans" {
					t.Errorf("saved turn: %+v", got)
				}
			}
			if failed == nil || c.fail != nil && !errors.Is(failed, c.fail) {
				t.Errorf("stream ended with %v, want %v", failed, c.fail)
			}
		})
	}
}

func TestRun_SavesATimeoutAsFailed(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := turn.NewRunner(until(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), db.State(), turn.Options{})
	for range r.Run(ctx, new(askTurn("", "why?"))) {
	}
	if got := saved(t, db.State()); got.Status != chat.StatusFailed {
		t.Errorf("status %s, want failed", got.Status)
	}
}

func TestRun_PassesARejectionOnFirstAndSavesNothing(t *testing.T) {
	db := open(t)
	rejected := &chat.Error{Kind: chat.Invalid, Msg: "no"}
	reject := engine(func(context.Context, chat.Request, func(chat.Event) bool) error { return rejected })
	r := turn.NewRunner(reject, db.State(), turn.Options{})
	for _, conversation := range []string{"", "c"} {
		items := 0
		for e, err := range r.Run(t.Context(), new(askTurn(conversation, "why?"))) {
			if items++; e != nil || !errors.Is(err, rejected) {
				t.Errorf("item %d: %v, %v", items, e, err)
			}
		}
		if items != 1 {
			t.Errorf("%d items, want 1", items)
		}
		notSaved(t, db.State())
	}
	if _, err := db.State().Conversation(t.Context(), alice, "c", 1); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("a rejected turn began a conversation: %v", err)
	}
}

func TestRun_EndsWithAnErrorWhenTheTurnCannotBeSaved(t *testing.T) {
	full := errors.New("disk full")
	s := &faulty{Store: open(t).State(), save: full}
	r := turn.NewRunner(answering(), s, turn.Options{})
	var last error
	for e, err := range r.Run(t.Context(), new(askTurn("", "why?"))) {
		if _, ok := e.(chat.TurnFinished); ok {
			t.Error("TurnFinished although nothing was saved")
		}
		last = err
	}
	if chat.KindOf(last) != chat.Unavailable || !errors.Is(last, full) {
		t.Errorf("stream ended with %v", last)
	}
	if s.saves != 1 {
		t.Errorf("%d attempts to save, want 1", s.saves)
	}
}

// faulty is a store whose writes may fail and are counted.
type faulty struct {
	turn.Store
	save  error
	saves int
}

func (f *faulty) Save(ctx context.Context, r turn.Record) error {
	f.saves++
	if f.save != nil {
		return f.save
	}
	return f.Store.Save(ctx, r)
}

func TestRun_WritesNothingBeforeTheEnd(t *testing.T) {
	s := &faulty{Store: open(t).State()}
	r := turn.NewRunner(answering(), s, turn.Options{})
	for e, err := range r.Run(t.Context(), new(ask("c", "why?"))) {
		if _, last := e.(chat.TurnFinished); err != nil || !last && s.saves != 0 {
			t.Fatalf("%d writes before %T, %v", s.saves, e, err)
		}
	}
	if s.saves != 1 {
		t.Errorf("%d writes, want 1", s.saves)
	}
}

func TestRun_SetsTurnIDAndNamespace(t *testing.T) {
	var got []chat.Request
	record := engine(func(_ context.Context, req chat.Request, _ func(chat.Event) bool) error {
		got = append(got, req)
		return errors.New("enough")
	})
	r := turn.NewRunner(record, open(t).State(), turn.Options{})
	for range 2 {
		for range r.Run(t.Context(), &chat.Request{}) {
		}
	}
	if !ident.Valid(got[0].TurnID) || got[0].TurnID == got[1].TurnID || got[0].Namespace != "default" {
		t.Errorf("requests: %+v", got)
	}
}

func TestPurge_DeletesStatelessTurnsAfterTheRetention(t *testing.T) {
	db := open(t)
	now := time.Now()
	r := turn.NewRunner(answering(), db.State(), turn.Options{Now: func() time.Time { return now }})
	for range r.Run(t.Context(), new(askTurn("", "why?"))) {
	}
	for range r.Run(t.Context(), new(ask("c", "why?"))) {
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{29 * 24 * time.Hour, 0}, {31 * 24 * time.Hour, 1}, {31 * 24 * time.Hour, 0}} {
		later := turn.NewRunner(answering(), db.State(), turn.Options{Now: func() time.Time { return now.Add(c.after) }})
		if n, err := later.Purge(t.Context(), 30*24*time.Hour); n != c.want || err != nil {
			t.Errorf("after %v: %d, %v, want %d", c.after, n, err, c.want)
		}
	}
	notSaved(t, db.State())
	if got := history(t, db, "c"); len(got) != 2 {
		t.Errorf("history of the conversation: %q", got)
	}
}

func TestMaxTurns_RefusesTurnsAboveTheLimitAndFreesPlaces(t *testing.T) {
	r := turn.NewRunner(answering(), open(t).State(), turn.Options{MaxTurns: 1})
	for range 3 { // a turn that ends early frees its place
		for range r.Run(t.Context(), new(ask("", "why?"))) {
			if err := run(t.Context(), r, ask("", "why?")); chat.KindOf(err) != chat.RateLimited {
				t.Errorf("a second turn: %v", err)
			}
			break
		}
	}
	if err := run(t.Context(), r, ask("", "why?")); err != nil {
		t.Errorf("after the others: %v", err)
	}
}

// One caller with many turns leaves a quarter of the places to others.
func TestMaxTurns_LeavesPlacesToOthers(t *testing.T) {
	const most = 8
	for _, c := range []struct {
		origin, user string
		begun        int
	}{{"greedy", "", 6}, {"", "greedy", 6}, {"greedy", "greedy", 6}, {"", "", most}} { // "" may be a proxy
		r := turn.NewRunner(answering(), open(t).State(), turn.Options{MaxTurns: most})
		ctx := access.WithOrigin(t.Context(), c.origin)
		for i := range most + 2 {
			req := ask("", "why?")
			req.Principal.Subject = c.user
			next, stop := iter.Pull2(r.Run(ctx, &req))
			defer stop()
			if _, err, _ := next(); (err == nil) != (i < c.begun) || err != nil && chat.KindOf(err) != chat.RateLimited {
				t.Errorf("turn %d of %q: %v", i, c.origin+c.user, err)
			}
		}
		err := run(access.WithOrigin(t.Context(), "other"), r, ask("", "why?"))
		if (err == nil) != (c.begun < most) {
			t.Errorf("a turn of another beside %d of %q: %v", c.begun, c.origin+c.user, err)
		}
	}
}

func TestAllow_RefusesBeforeAnyEvent(t *testing.T) {
	req := ask("", "why?")
	req.Options.Models.Inference = "openai:big"
	r := turn.NewRunner(answering(), open(t).State(), turn.Options{Allow: chat.Allowlist{Patterns: []string{"ollama:*"}}})
	bill := r.NewBill(answering())
	for _, runner := range []chat.Runner{r, bill} {
		if got, err := chat.Collect(runner.Run(t.Context(), &req)); chat.KindOf(err) != chat.Invalid || len(got.Messages) != 0 {
			t.Errorf("%T: %+v, %v", runner, got, err)
		}
	}
}

package turn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/turn"
)

// answeringBy returns an engine that calls the model in the stage rewrite and answers with its text from
// the stage generate.
func answeringBy(m llm.Model) engine {
	return func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		var sum llm.Usage
		for _, s := range []chat.Stage{chat.StageRewrite, chat.StageGenerate} {
			if !emit(chat.StageStarted{Stage: s}) {
				return nil
			}
			if s == chat.StageGenerate && !emit(chat.MessageStarted{ID: "m", Model: "large"}) {
				return nil
			}
			for c, err := range m.Stream(ctx, llm.Request{Model: "large", Messages: []llm.Message{llm.Text(llm.User, req.Messages[0].Text())}}) {
				if err != nil {
					return err
				}
				if c.Usage != nil {
					sum = sum.Add(*c.Usage)
				}
				if s == chat.StageGenerate && c.Text != "" && !emit(chat.TextDelta{ID: "m", Text: c.Text}) {
					return nil
				}
			}
			if !emit(chat.StageFinished{Stage: s}) {
				return nil
			}
		}
		if !emit(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "said", Model: "large"}) {
			return nil
		}
		emit(chat.TurnFinished{Usage: sum})
		return nil
	}
}

var saying = chunks(nil, llm.Chunk{Text: "said"}, llm.Chunk{Usage: &llm.Usage{Input: 50, Output: 9}})

// askFor is ask with an account.
func askFor(user, conversation string) chat.Request {
	req := ask("", "why?")
	req.Account = chat.Account{User: user, Conversation: conversation}
	return req
}

func totals(t *testing.T, s *store.State, k ledger.AccountKey) ledger.Totals {
	t.Helper()
	got, err := s.Totals(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRun_AddsToTheAccountOfTheRequest(t *testing.T) {
	db := open(t)
	books := ledger.New(db.State(), ledger.Options{Price: price})
	r := turn.NewRunner(answeringBy(books.Meter("openai", saying)), db.State(), turn.Options{})
	failing := turn.NewRunner(answeringBy(books.Meter("openai", chunks(errors.New("boom"), llm.Chunk{Text: "half an answer.."}))),
		db.State(), turn.Options{})
	inSession := ask("session", "why?")
	inSession.Account = chat.Account{User: "u", Conversation: "c"}
	for _, req := range []chat.Request{askFor("u", "c"), askFor("u", "c"), askFor("u", ""), askFor("", ""), inSession} {
		if err := run(t.Context(), r, req); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), failing, askFor("u", "c")); err == nil {
		t.Fatal("the model did not fail")
	}
	one := ledger.Totals{Turns: 1, InputTokens: 100, OutputTokens: 18, Micros: 236}
	failed := ledger.Totals{InputTokens: 5, OutputTokens: 4, Micros: 18, Estimated: 1}
	for key, want := range map[ledger.AccountKey]ledger.Totals{
		{Owner: "alice", User: "u", Conversation: "c"}: {
			Turns: 2, InputTokens: 2*one.InputTokens + failed.InputTokens,
			OutputTokens: 2*one.OutputTokens + failed.OutputTokens, Micros: 2*one.Micros + failed.Micros, Estimated: 1},
		{Owner: "alice", User: "u"}:                              one,
		{Owner: "alice", Stored: true, Conversation: "session"}:  one,
		{Owner: "alice", Stored: false, Conversation: "session"}: {},
		{User: "u", Conversation: "c"}:                           {},
		{Owner: "alice", Conversation: "c"}:                      {},
	} {
		if diff := cmp.Diff(want, totals(t, db.State(), key)); diff != "" {
			t.Errorf("totals of %+v (-want +got):\n%s", key, diff)
		}
	}
}

// The calls of a free model are written to the ledger with their turn, and nothing is written before.
func TestMeter_EntersTheCallsOfABuiltinModelWithTheirTurn(t *testing.T) {
	db := open(t)
	books := ledger.New(db.State(), ledger.Options{Price: price})
	r := turn.NewRunner(answeringBy(books.Meter(ledger.Builtin, saying)), db.State(), turn.Options{})
	req := askFor("u", "c")
	req.TurnID = turnID
	for e, err := range r.Run(t.Context(), &req) {
		if err != nil {
			t.Fatal(err)
		}
		if _, last := e.(chat.TurnFinished); !last && len(entries(t, db.State(), turnID)) > 0 {
			t.Fatal("an entry was written before the turn")
		}
	}
	entry := ledger.Entry{TurnID: turnID, Scope: alice, Account: req.Account, Stage: chat.StageRewrite, Provider: ledger.Builtin,
		Model: "large", Status: ledger.Completed, EstimatedInput: 5, Usage: llm.Usage{Input: 50, Output: 9}, Cost: ledger.Cost{Known: true}}
	second := entry
	second.Stage = chat.StageGenerate
	if diff := cmp.Diff([]ledger.Entry{entry, second}, entries(t, db.State(), turnID)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	want := ledger.Totals{Turns: 1, InputTokens: 100, OutputTokens: 18}
	if diff := cmp.Diff(want, totals(t, db.State(), ledger.AccountKey{Owner: "alice", User: "u", Conversation: "c"})); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

func TestRun_AConversationOfAKindMustExist(t *testing.T) {
	db := open(t)
	r := turn.NewRunner(answering(), db.State(), turn.Options{})
	begin := func(id, kind string) {
		t.Helper()
		err := db.State().Begin(t.Context(), turn.Conversation{ID: id, Scope: turn.Scope{Namespace: "home", Owner: "alice"}, Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
	}
	begin("here", "k")
	begin("other", "z")
	for _, c := range []struct {
		id, kind, home string
		who            string
		want           chat.Kind
		ok             bool
	}{
		{"here", "k", "home", "alice", 0, true},
		{"here", "k", "home", "alice", 0, true},
		{"here", "k", "", "alice", chat.NotFound, false}, // the namespace that is searched is not its home
		{"here", "", "home", "alice", chat.NotFound, false},
		{"here", "k", "home", "bob", chat.NotFound, false},
		{"other", "k", "home", "alice", chat.NotFound, false},
		{"gone", "k", "home", "alice", chat.NotFound, false},
	} {
		req := ask(c.id, "why?")
		req.Kind, req.Home, req.Principal = c.kind, c.home, access.Principal{Subject: c.who}
		err := run(t.Context(), r, req)
		if (err == nil) != c.ok || err != nil && chat.KindOf(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	got, err := db.State().Conversation(t.Context(), turn.Scope{Namespace: "home", Owner: "alice"}, "here", 10)
	if err != nil || got.Completed != 2 {
		t.Errorf("%d completed turns, %v", got.Completed, err)
	}
	// All turns are those of the namespace that was searched.
	rows, err := db.State().Usage(t.Context(), ledger.UsageQuery{})
	if err != nil || len(rows) != 0 {
		t.Errorf("usage %+v, %v: the scripted engine calls no model", rows, err)
	}
}

func TestRun_SaysWhenItsConversationWasDeletedMeanwhile(t *testing.T) {
	db := open(t)
	scope := turn.Scope{Namespace: "ns", Owner: "alice"}
	if err := db.State().Begin(t.Context(), turn.Conversation{ID: "s", Scope: scope, Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	books := ledger.New(db.State(), ledger.Options{})
	r := turn.NewRunner(answeringBy(books.Meter(ledger.Builtin, saying)), db.State(), turn.Options{})
	req := askTurn("s", "why?")
	req.Kind, req.Account.User = "k", "u"
	var last error
	for e, err := range r.Run(t.Context(), &req) {
		if _, ok := e.(chat.MessageStarted); ok {
			if err := db.State().Delete(t.Context(), scope, "s"); err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	if chat.KindOf(last) != chat.NotFound {
		t.Errorf("the turn ended with %v, want NotFound", last)
	}
	if got := saved(t, db.State()); got.Status != chat.StatusFailed || got.ErrorKind != chat.NotFound || got.ConversationID != "" {
		t.Errorf("saved turn: %+v", got)
	}
	if got := totals(t, db.State(), ledger.AccountKey{Owner: "alice", User: "u"}); got != (ledger.Totals{}) {
		t.Errorf("the user's own account has %+v", got)
	}
}

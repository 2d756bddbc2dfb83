package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
)

// StateParts are the parts of a store of turns and accounts. Each method is in one of them.
type StateParts struct {
	Turns
	Accounts
}

// Turns keeps conversations and turns: turn.Store and ragchat.Sessions.
type Turns interface {
	turn.Store
	Begin(ctx context.Context, c turn.Conversation) error
	Conversations(ctx context.Context, scope turn.Scope, kind string, after turn.Position, limit int) ([]turn.Conversation, error)
	Reset(ctx context.Context, scope turn.Scope, id string, at time.Time) error
	Delete(ctx context.Context, scope turn.Scope, id string) error
}

// Accounts keeps the ledger and its totals: ledger.Store and ragchat.Ledger.
type Accounts interface {
	ledger.Store
	Entries(ctx context.Context, turnID string) ([]ledger.Entry, error)
	Totals(ctx context.Context, k ledger.AccountKey) (ledger.Totals, error)
	ClearTotals(ctx context.Context, k ledger.AccountKey) (bool, error)
}

// State tests a store of turns and accounts.
func State(t *testing.T, open func(t *testing.T) StateParts) {
	for _, test := range []struct {
		name            string
		turns, accounts bool // the test needs
		run             func(*testing.T, state)
	}{
		{"a saved turn comes back", true, false, testSaveTurn},
		{"a turn belongs to its scope", true, false, testTurnScope},
		{"a conversation belongs to its scope", true, false, testConversationScope},
		{"history is the last completed turns", true, false, testHistory},
		{"a turn that missed another one is a conflict", true, false, testLostUpdate},
		{"one of many concurrent turns wins", true, false, testRace},
		{"purge deletes old stateless turns only", true, false, testPurge},
		{"an entry is settled once", false, true, testLedger},
		{"an interrupted entry yields to its real end", false, true, testInterrupted},
		{"an entry that many settle at once counts once", false, true, testSettleRace},
		{"text may hold any bytes", true, false, testOddText},
		{"a reset leaves whole conversations", true, false, testResetRace},
		{"totals follow what is settled", true, true, testTotals},
		{"accounts are kept apart", false, true, testAccountsApart},
		{"totals are the sum of the ledger", false, true, testTotalsAreTheSum},
		{"usage is grouped", false, true, testUsage},
		{"a conversation of a kind must exist", true, false, testKinds},
		{"conversations are listed in pages", true, false, testListConversations},
		{"a conversation is reset and deleted", true, true, testResetAndDelete},
		{"conversations expire", true, false, testExpire},
		{"a key is answered once", true, false, testKeys},
		{"what a turn said comes back", true, false, testSaid},
		{"what a turn said goes with it", true, false, testSaidGoes},
		{"what turns said is forgotten", true, false, testForgetSaid},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts := open(t)
			if test.turns && parts.Turns == nil || test.accounts && parts.Accounts == nil {
				t.Skip("a part of the store that the test needs is not there")
			}
			test.run(t, state{tester{t}, parts})
		})
	}
}

type state struct {
	tester
	StateParts
}

var (
	alice   = turn.Scope{Namespace: "ns", Owner: "alice"}
	started = time.Date(2026, 5, 1, 10, 0, 0, 5000, time.UTC)
)

// record returns a completed turn of alice with every field set.
func record(n int, conversation string) turn.Record {
	at := started.Add(time.Duration(n) * time.Minute)
	return turn.Record{
		ID: id(n), Scope: alice, ConversationID: conversation, Status: chat.StatusCompleted,
		Question: chat.Message{ID: fmt.Sprintf("q%d", n), Role: llm.User, Tokens: 3, CreatedAt: at,
			Parts: []llm.Part{{Text: fmt.Sprintf("question %d?", n)}, {Image: "data:image/png;base64,AA=="}}},
		Query: "standalone question", Requested: "large", Model: "large-2026",
		Usage: llm.Usage{Input: 100, Output: 20, Cached: 50, Reasoning: 5, Estimated: true},
		Stages: []chat.StageFinished{{Stage: chat.StageRewrite, Duration: time.Millisecond, Model: "small",
			Usage: llm.Usage{Input: 10}, Note: "a note"}, {Stage: chat.StageGenerate}},
		FirstToken: 1500 * time.Microsecond, StartedAt: at, FinishedAt: at.Add(time.Second),
		Answers: []turn.Answer{{
			Message: chat.Message{ID: fmt.Sprintf("a%d", n), Role: llm.Assistant, Agent: "writer", Tokens: 7,
				CreatedAt: at.Add(time.Millisecond), Parts: []llm.Part{{Text: fmt.Sprintf("answer %d [a.pdf#page=2]", n)}},
				Citations: []chat.Citation{{Label: "a.pdf#page=2", DocumentID: "d", Name: "a.pdf", Title: "A",
					URL: "https://example.com", Page: 2, Passage: 1, Snippet: "Snippet <b>"}}},
			Doubts: []chat.Doubt{{Label: "b.pdf", Kind: chat.Unsupported, Sentence: "It is \"so\".", Reason: "words"}},
			Status: chat.StatusCompleted, FinishReason: "stop", Model: "large-2026",
			Usage: llm.Usage{Input: 90, Output: 20},
		}},
	}
}

func testSaveTurn(t *testing.T, s state) {
	ctx := t.Context()
	completed := record(1, "")
	failed := record(2, "c")
	failed.Status, failed.ErrorKind = chat.StatusFailed, chat.RateLimited
	failed.Answers[0].Status, failed.Answers[0].FinishReason = chat.StatusFailed, ""
	calling, resumed := record(4, "d"), record(5, "d")
	calling.Answers[0].ToolCalls = []llm.ToolCall{{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`, Signature: "s"}, {ID: "c2", Name: "time"}}
	calling.Answers[0].ToolsUsed = []string{"calculator", "date_time"}
	completed.Answers[0].ToolsUsed = []string{"search_documents"}
	resumed.Question, resumed.Seen = chat.Message{}, 1
	for i := range 2 {
		m := chat.TextMessage(llm.ToolRole, "20 degrees")
		m.ID, m.ToolCallID, m.CreatedAt = fmt.Sprint("r", i), fmt.Sprint("c", i+1), resumed.StartedAt
		resumed.Results = append(resumed.Results, m)
	}
	bare := turn.Record{ID: id(3), Status: chat.StatusCancelled, Question: chat.Message{Role: llm.User}}
	for _, r := range []turn.Record{completed, failed, calling, resumed, bare} {
		s.must(s.Save(ctx, r))
		r.Seen = 0 // not kept
		got, err := s.Turn(ctx, r.Scope, r.ID)
		s.must(err)
		s.equal("turn", r, got)
		if err := s.Save(ctx, r); err == nil {
			t.Error("the same turn was saved twice")
		}
	}
	c, err := s.Conversation(ctx, alice, "c", 10)
	s.must(err)
	d, err := s.Conversation(ctx, alice, "d", 10)
	s.must(err)
	s.equal("history with calls of tools", []chat.Message{calling.Question, calling.Answers[0].Message,
		resumed.Results[0], resumed.Results[1], resumed.Answers[0].Message}, d.History)
	s.equal("conversation of a failed turn", turn.Conversation{ID: "c", Scope: alice,
		CreatedAt: failed.StartedAt, UpdatedAt: failed.FinishedAt}, c)
}

// strangers are scopes that differ from alice's in one part, or in how their parts would be joined.
var strangers = []turn.Scope{
	{Namespace: "ns", Owner: "bob"},
	{Namespace: "other", Owner: "alice"},
	{Namespace: "ns", Owner: ""},
	{Namespace: "nsa", Owner: "lice"},
}

func testTurnScope(t *testing.T, s state) {
	ctx := t.Context()
	s.must(s.Save(ctx, record(1, "")))
	for _, stranger := range strangers {
		if _, err := s.Turn(ctx, stranger, id(1)); !errors.Is(err, turn.ErrNotFound) {
			t.Errorf("Turn for %+v: %v, want ErrNotFound", stranger, err)
		}
	}
	if _, err := s.Turn(ctx, alice, id(2)); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Turn of an unknown id: %v, want ErrNotFound", err)
	}
}

func testConversationScope(t *testing.T, s state) {
	ctx := t.Context()
	if _, err := s.Conversation(ctx, alice, "c", 10); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Conversation that nobody has: %v, want ErrNotFound", err)
	}
	s.must(s.Save(ctx, record(1, "c")))
	for i, stranger := range strangers {
		if _, err := s.Conversation(ctx, stranger, "c", 10); !errors.Is(err, turn.ErrForeign) {
			t.Errorf("Conversation for %+v: %v, want ErrForeign", stranger, err)
		}
		for j, status := range []chat.Status{chat.StatusCompleted, chat.StatusFailed} {
			r := record(10+2*i+j, "c")
			r.Scope, r.Seen, r.Status = stranger, 1, status
			if err := s.Save(ctx, r); !errors.Is(err, turn.ErrForeign) {
				t.Errorf("Save for %+v: %v, want ErrForeign", stranger, err)
			}
			if _, err := s.Turn(ctx, stranger, r.ID); !errors.Is(err, turn.ErrNotFound) {
				t.Errorf("Turn after a refused Save: %v, want ErrNotFound", err)
			}
		}
	}
	c, err := s.Conversation(ctx, alice, "c", 10)
	s.must(err)
	s.equal("number of turns", int64(1), c.Completed)
}

func testHistory(t *testing.T, s state) {
	ctx := t.Context()
	statuses := []chat.Status{chat.StatusCompleted, chat.StatusFailed, chat.StatusCompleted,
		chat.StatusCancelled, chat.StatusCompleted}
	var want []chat.Message
	seen := int64(0)
	for i, status := range statuses {
		r := record(i+1, "c")
		r.ID = id(len(statuses) - i) // history follows the order of saving, not of ids
		r.Status, r.Seen = status, seen
		lost := r.Answers[0]
		lost.ID, lost.Status = "failed agent", chat.StatusFailed
		r.Answers = append(r.Answers, lost)
		if status == chat.StatusCompleted {
			seen++
			want = append(want, r.Question, r.Answers[0].Message)
		}
		s.must(s.Save(ctx, r))
	}
	c, err := s.Conversation(ctx, alice, "c", 10)
	s.must(err)
	s.equal("whole history", want, c.History)
	s.equal("completed turns", int64(3), c.Completed)
	c, err = s.Conversation(ctx, alice, "c", 2)
	s.must(err)
	s.equal("history of two turns", want[2:], c.History)
}

func testLostUpdate(t *testing.T, s state) {
	ctx := t.Context()
	s.must(s.Save(ctx, record(1, "c")))
	late := record(2, "c") // has not seen the first turn
	if err := s.Save(ctx, late); !errors.Is(err, turn.ErrConflict) {
		t.Errorf("Save of a turn that saw an older conversation: %v, want ErrConflict", err)
	}
	if _, err := s.Turn(ctx, alice, late.ID); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Turn after a refused Save: %v, want ErrNotFound", err)
	}
	late.Status = chat.StatusFailed
	s.must(s.Save(ctx, late)) // a failed turn adds nothing to the history
	next := record(3, "c")
	next.Seen = 1
	s.must(s.Save(ctx, next))
}

func testRace(t *testing.T, s state) {
	const writers = 12
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { errs[i] = s.Save(t.Context(), record(i, "c")) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, turn.ErrConflict) {
			t.Errorf("Save: %v, want ErrConflict", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d turns that began at the same state were saved, want 1", won, writers)
	}
}

func testPurge(t *testing.T, s state) {
	ctx := t.Context()
	for n := range 6 {
		s.must(s.Save(ctx, record(n, "")))
	}
	kept := record(10, "c")
	kept.FinishedAt = started.Add(-time.Hour)
	s.must(s.Save(ctx, kept))

	before := record(4, "").FinishedAt // 0 to 3 are older
	for _, want := range []int{3, 1, 0} {
		n, err := s.Purge(ctx, before, 3)
		s.must(err)
		s.equal("turns purged", want, n)
	}
	for n, old := range []bool{true, true, true, true, false, false} {
		_, err := s.Turn(ctx, alice, id(n))
		if gone := errors.Is(err, turn.ErrNotFound); gone != old {
			t.Errorf("turn %d: %v", n, err)
		}
	}
	_, err := s.Turn(ctx, alice, kept.ID)
	s.must(err)
}

func entry(n int) ledger.Entry {
	at := started.Add(time.Duration(n) * time.Second)
	return ledger.Entry{ID: entryID(at, n), TurnID: "t", ConversationID: "c", Scope: alice, Stage: chat.StageGenerate,
		Provider: "openai", Model: "large", Status: ledger.Intent, EstimatedInput: 40,
		CreatedAt: at}
}

// entryID returns the nth possible id of an entry made at a time.
func entryID(at time.Time, n int) string {
	return fmt.Sprintf("%s%028d", ident.Least(at), n)
}

func testLedger(t *testing.T, s state) {
	ctx := t.Context()
	first, second := entry(1), entry(2)
	other := entry(3)
	other.TurnID = "other"
	for _, e := range []ledger.Entry{second, other, first} {
		s.must(s.Intend(ctx, e))
	}
	open, err := s.Unsettled(ctx, 2)
	s.must(err)
	s.equal("unsettled", []ledger.Entry{first, second}, open)

	first.Status, first.SettledAt = ledger.Completed, started.Add(time.Hour)
	first.Usage = llm.Usage{Input: 41, Output: 9, Cached: 3, Reasoning: 2}
	first.Cost = ledger.Cost{Micros: 0, Known: true} // free differs from unknown
	s.must(s.Settle(ctx, first))
	for _, status := range []ledger.Status{ledger.Failed, ledger.Interrupted} {
		again := first
		again.Status, again.Usage.Input = status, 1_000_000
		s.must(s.Settle(ctx, again))
	}
	entries, err := s.Entries(ctx, "t")
	s.must(err)
	s.equal("entries", []ledger.Entry{first, second}, entries)
	open, err = s.Unsettled(ctx, 10)
	s.must(err)
	s.equal("unsettled", []ledger.Entry{second, other}, open)
}

func testInterrupted(t *testing.T, s state) {
	ctx := t.Context()
	e := entry(1)
	s.must(s.Intend(ctx, e))
	e.Status, e.Usage, e.SettledAt = ledger.Interrupted, llm.Usage{Input: 40, Estimated: true}, started
	s.must(s.Settle(ctx, e))
	entries, err := s.Entries(ctx, "t")
	s.must(err)
	s.equal("interrupted entry", []ledger.Entry{e}, entries)
	again := e // as a second process does at its start
	again.Usage.Input, again.SettledAt = 1, started.Add(time.Hour)
	s.must(s.Settle(ctx, again))
	entries, err = s.Entries(ctx, "t")
	s.must(err)
	s.equal("entry interrupted twice", []ledger.Entry{e}, entries)

	e.Status, e.Usage, e.Cost = ledger.Cancelled, llm.Usage{Input: 39, Output: 4}, ledger.Cost{Micros: 77, Known: true}
	s.must(s.Settle(ctx, e))
	entries, err = s.Entries(ctx, "t")
	s.must(err)
	s.equal("entry that ended after all", []ledger.Entry{e}, entries)
}

// Record returns the nth completed turn for tests of other things than the suite. "" is no
// conversation.
func Record(n int, conversation string) turn.Record { return record(n, conversation) }

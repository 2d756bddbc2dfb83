package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/turn"
)

// history returns the stored history of alice's conversation as "role: text".
func history(t *testing.T, db *store.DB, id string) []string {
	t.Helper()
	c, err := db.State().Conversation(t.Context(), alice, id, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return lines(c.History)
}

func lines(messages []chat.Message) []string {
	all := []string{}
	for _, m := range messages {
		all = append(all, string(m.Role)+": "+m.Text())
	}
	return all
}

// recording returns an engine that answers and records the messages of its requests.
func recording(got *[][]string) engine {
	return func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		*got = append(*got, lines(req.Messages))
		return answering()(ctx, req, emit)
	}
}

func run(ctx context.Context, r chat.Runner, req chat.Request) error {
	for _, err := range r.Run(ctx, &req) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestRun_GivesTheEngineTheStoredHistory(t *testing.T) {
	db := open(t)
	var given [][]string
	r := turn.NewRunner(recording(&given), db.State(), turn.Options{})
	failing := turn.NewRunner(until(func(context.Context) error { return errors.New("boom") }), db.State(), turn.Options{})
	if err := run(t.Context(), r, ask("c", "one")); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), failing, ask("c", "fails")); err == nil {
		t.Fatal("the engine did not fail")
	}
	again := ask("c", "three")
	again.Messages = append([]chat.Message{chat.TextMessage(llm.System, "be brief")}, again.Messages...)
	for _, req := range []chat.Request{ask("c", "two"), ask("", "stateless"), again} {
		if err := run(t.Context(), r, req); err != nil {
			t.Fatal(err)
		}
	}
	want := [][]string{
		{"user: one"},
		{"user: one", "assistant: answer to one", "user: two"},
		{"user: stateless"},
		{"user: one", "assistant: answer to one", "user: two", "assistant: answer to two", "system: be brief", "user: three"},
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestRun_GivesTheEngineNoMoreHistoryThanItMay(t *testing.T) {
	db := open(t)
	r := turn.NewRunner(answering(), db.State(), turn.Options{})
	for i := range 6 {
		if err := run(t.Context(), r, ask("c", fmt.Sprintf("%d%s", i, strings.Repeat(".", 99)))); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		opts turn.Options
		want int
	}{
		"turns": {turn.Options{HistoryTurns: 2}, 4},
		"bytes": {turn.Options{HistoryBytes: 700}, 6}, // a turn has 210 bytes
		"none":  {turn.Options{HistoryBytes: 100}, 0},
	} {
		var given [][]string
		probe := recording(&given)
		refuse := engine(func(ctx context.Context, req chat.Request, _ func(chat.Event) bool) error {
			probe(ctx, req, func(chat.Event) bool { return false })
			return errors.New("enough")
		})
		if err := run(t.Context(), turn.NewRunner(refuse, db.State(), c.opts), ask("c", "?")); err == nil {
			t.Fatal("the engine did not fail")
		}
		if got := len(given[0]) - 1; got != c.want {
			t.Errorf("%s: %d messages of history, want %d", name, got, c.want)
		}
	}
}

func TestRun_KeepsTheHistoryOfSeveralAgentsAlternating(t *testing.T) {
	db := open(t)
	team := engine(func(_ context.Context, req chat.Request, emit func(chat.Event) bool) error {
		for _, e := range []chat.Event{
			chat.MessageStarted{ID: "r", Agent: "research"}, chat.MessageStarted{ID: "w", Agent: "writer"},
			chat.TextDelta{ID: "w", Text: "well"}, chat.TextDelta{ID: "r", Text: "found"},
			chat.MessageFinished{ID: "r", Agent: "research", Status: chat.StatusCompleted, Text: "found", Citations: cited},
			chat.MessageFinished{ID: "w", Agent: "writer", Status: chat.StatusCompleted, Text: "written", Citations: cited},
			chat.MessageFinished{ID: "x", Agent: "critic", Status: chat.StatusFailed, Text: "half"},
			chat.TurnFinished{},
		} {
			if !emit(e) {
				return nil
			}
		}
		return nil
	})
	silent := engine(func(_ context.Context, _ chat.Request, emit func(chat.Event) bool) error {
		emit(chat.TurnFinished{})
		return nil
	})
	var given [][]string
	for _, e := range []engine{team, silent, recording(&given)} {
		if err := run(t.Context(), turn.NewRunner(e, db.State(), turn.Options{}), ask("c", "q")); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"user: q", "assistant: found\n\nwritten", "user: q"}
	if diff := cmp.Diff(want, given[0]); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestRun_LetsNobodyIntoAnothersConversation(t *testing.T) {
	db := open(t)
	r := turn.NewRunner(answering(), db.State(), turn.Options{})
	if err := run(t.Context(), r, ask("c", "secret")); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*chat.Request){
		"another subject":   func(q *chat.Request) { q.Principal = access.Principal{Subject: "bob", Role: access.Administrator} },
		"the anonymous one": func(q *chat.Request) { q.Principal = access.Anonymous },
		"another namespace": func(q *chat.Request) { q.Namespace = "other" },
	} {
		req := askTurn("c", "what?")
		change(&req)
		items := 0
		for e, err := range r.Run(t.Context(), &req) {
			if items++; e != nil || chat.KindOf(err) != chat.NotFound {
				t.Errorf("%s: %T, %v", name, e, err)
			}
		}
		if items != 1 {
			t.Errorf("%s: %d items, want 1", name, items)
		}
	}
	want := []string{"user: secret", "assistant: answer to secret"}
	if diff := cmp.Diff(want, history(t, db, "c")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestRun_RejectsWhatCannotBeATurnOfAConversation(t *testing.T) {
	r := turn.NewRunner(answering(), open(t).State(), turn.Options{})
	for _, req := range []chat.Request{
		ask(strings.Repeat("x", 257), "?"), ask("\xff", "?"),
		{Namespace: "ns", ConversationID: "c", Messages: []chat.Message{chat.TextMessage(llm.Assistant, "hm")}},
	} {
		if err := run(t.Context(), r, req); chat.KindOf(err) != chat.Invalid {
			t.Errorf("%.20q: %v, want Invalid", req.ConversationID, err)
		}
	}
}

func TestRun_SerialisesTheTurnsOfAConversation(t *testing.T) {
	const turns = 100
	db := open(t)
	var mu sync.Mutex
	running := 0
	// Each turn answers with the number of messages before it, so a lost update shows.
	counting := engine(func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		mu.Lock()
		if running++; running > 1 {
			t.Error("two turns of a conversation run at once")
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			running--
			mu.Unlock()
		}()
		text := fmt.Sprint(len(req.Messages))
		_ = emit(chat.MessageStarted{ID: "m"}) &&
			emit(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: text}) && emit(chat.TurnFinished{})
		return nil
	})
	r := turn.NewRunner(counting, db.State(), turn.Options{HistoryTurns: 2 * turns})
	var wg sync.WaitGroup
	for i := range turns {
		wg.Go(func() {
			if err := run(t.Context(), r, ask("c", fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := history(t, db, "c")
	if len(got) != 2*turns {
		t.Fatalf("%d messages, want %d", len(got), 2*turns)
	}
	asked := map[string]bool{}
	for i, line := range got {
		if i%2 == 0 {
			asked[line] = strings.HasPrefix(line, "user: ")
		} else if want := fmt.Sprintf("assistant: %d", i); line != want {
			t.Errorf("message %d is %q, want %q", i, line, want)
		}
	}
	if len(asked) != turns {
		t.Errorf("%d different questions, want %d", len(asked), turns)
	}
}

func TestRun_StopsWaitingForAConversationWhenTheClientLeaves(t *testing.T) {
	db := open(t)
	inside, finish := make(chan struct{}), make(chan struct{})
	blocking := until(func(context.Context) error {
		close(inside)
		<-finish
		return errors.New("done")
	})
	r := turn.NewRunner(blocking, db.State(), turn.Options{})
	var wg sync.WaitGroup
	wg.Go(func() { run(t.Context(), r, ask("c", "first")) })
	<-inside

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, r, askTurn("c", "second")); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting turn ended with %v", err)
	}
	notSaved(t, db.State())
	// Another caller's turn under the same id does not wait: it is somebody else's lock.
	bob := ask("c", "third")
	bob.Principal.Subject = "bob"
	if err := run(t.Context(), turn.NewRunner(answering(), db.State(), turn.Options{}), bob); err != nil {
		t.Error(err)
	}
	close(finish)
	wg.Wait()
}

func TestRun_SavesATurnThatMissedAnotherProcessesAsFailed(t *testing.T) {
	dir := t.TempDir()
	here, there := openAt(t, dir), openAt(t, dir)
	other := turn.NewRunner(answering(), there.State(), turn.Options{})
	overtaken := engine(func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		if err := run(ctx, other, ask("c", "faster")); err != nil {
			return err
		}
		return answering()(ctx, req, emit)
	})
	r := turn.NewRunner(overtaken, here.State(), turn.Options{})
	err := run(t.Context(), r, askTurn("c", "slower"))
	if chat.KindOf(err) != chat.Conflict {
		t.Errorf("stream ended with %v, want Conflict", err)
	}
	got := saved(t, here.State())
	if got.Status != chat.StatusFailed || got.ErrorKind != chat.Conflict || got.Answers[0].Text() != "answer to slower" {
		t.Errorf("saved turn: %+v", got)
	}
	want := []string{"user: faster", "assistant: answer to faster"}
	if diff := cmp.Diff(want, history(t, here, "c")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestRun_KeepsAnAnswerWhoseConversationSomebodyElseBegan(t *testing.T) {
	dir := t.TempDir()
	here, there := openAt(t, dir), openAt(t, dir)
	bob := ask("c", "mine")
	bob.Principal.Subject = "bob"
	other := turn.NewRunner(answering(), there.State(), turn.Options{})
	overtaken := engine(func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		if err := run(ctx, other, bob); err != nil {
			return err
		}
		return answering()(ctx, req, emit)
	})
	err := run(t.Context(), turn.NewRunner(overtaken, here.State(), turn.Options{}), askTurn("c", "slower"))
	if chat.KindOf(err) != chat.Conflict {
		t.Errorf("stream ended with %v, want Conflict", err)
	}
	if got := saved(t, here.State()); got.ConversationID != "" || got.Status != chat.StatusFailed {
		t.Errorf("saved turn: %+v", got)
	}
}

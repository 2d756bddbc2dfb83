package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
)

// gated returns an engine that emits one half of its answer, and the other half once on is closed.
func gated(on <-chan struct{}) engine {
	return func(ctx context.Context, _ chat.Request, emit func(chat.Event) bool) error {
		emit(chat.PromptBuilt{Model: "m", Sources: []string{"secret"}, Labels: []string{"a"}, Messages: []llm.Message{llm.Text(llm.System, "secret")}})
		emit(chat.MessageStarted{ID: "m", Model: "asked"})
		emit(chat.TextDelta{ID: "m", Text: "Grö"})
		if !emit(chat.TextDelta{ID: "m", Text: "ße, "}) {
			return nil
		}
		select {
		case <-on:
		case <-ctx.Done():
			return ctx.Err()
		}
		emit(chat.ReasoningDelta{ID: "m", Text: "hm"})
		emit(chat.TextDelta{ID: "m", Text: "and "})
		emit(chat.TextDelta{ID: "m", Text: "more", Vendor: &llm.Vendor{ID: "secret"}})
		emit(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "Größe, and more", FinishReason: "stop"})
		emit(chat.TurnFinished{})
		return nil
	}
}

// followed returns the events after a position, with consecutive deltas joined.
func followed(t *testing.T, l *turn.Log, after int) (all []chat.Numbered, err error) {
	t.Helper()
	for n, err := range l.Follow(t.Context(), after, 0) {
		if err != nil {
			return all, err
		}
		if last := len(all) - 1; last >= 0 {
			d, isDelta := n.Event.(chat.TextDelta)
			before, wasDelta := all[last].Event.(chat.TextDelta)
			if isDelta && wasDelta {
				before.Text += d.Text
				all[last] = chat.Numbered{Turn: n.Turn, Seq: n.Seq, Event: before}
				continue
			}
		}
		n.Event = turn.Public(n.Event)
		all = append(all, n)
	}
	return all, nil
}

func log(t *testing.T, r *turn.Runner) *turn.Log {
	t.Helper()
	l, err := r.Log(t.Context(), "alice", turnID)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLog_FollowsATurnFromAnyPositionWhileItRunsAndAfterwards(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, dir)
	on := make(chan struct{})
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	r := turn.NewRunner(gated(on), db.State(), turn.Options{Now: func() time.Time { return now }})
	whole := make(chan []chat.Numbered)
	var running *turn.Log
	for e, err := range r.Run(t.Context(), new(askTurn("", "why?"))) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.(chat.TextDelta); ok && d.Text == "ße, " {
			running = log(t, r)
			go func() {
				all, err := followed(t, running, 0)
				if err != nil {
					t.Error(err)
				}
				whole <- all
			}()
			close(on)
		}
	}
	all := <-whole
	want := []chat.Numbered{
		{Seq: 1, Event: chat.PromptBuilt{Model: "m", Labels: []string{"a"}}},
		{Seq: 2, Event: chat.MessageStarted{ID: "m", Model: "asked"}},
		{Seq: 11, Event: chat.TextDelta{ID: "m", Text: "Größe, "}},
		{Seq: 13, Event: chat.ReasoningDelta{ID: "m", Text: "hm"}},
		{Seq: 21, Event: chat.TextDelta{ID: "m", Text: "and more"}},
		{Seq: 22, Event: chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "Größe, and more", FinishReason: "stop"}},
		{Seq: 23, Event: chat.TurnFinished{}},
	}
	for i := range want {
		want[i].Turn = turnID
		switch want[i].Event.(type) {
		case chat.TextDelta, chat.ReasoningDelta:
		default:
			want[i].At = now
		}
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("from the beginning (-want +got):\n%s", diff)
	}
	restarted := turn.NewRunner(gated(nil), openAt(t, dir).State(), turn.Options{})
	for _, l := range []*turn.Log{running, log(t, r), log(t, restarted)} {
		for after := range 30 {
			got, err := followed(t, l, after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(behind(want, after), got); diff != "" {
				t.Errorf("behind %d (-want +got):\n%s", after, diff)
			}
			if l.Over(after) != (after >= 23) {
				t.Errorf("Over(%d) is %v", after, l.Over(after))
			}
		}
	}
}

// behind returns the events after a position. It leaves out a character that the position cuts.
func behind(all []chat.Numbered, after int) (cut []chat.Numbered) {
	for _, n := range all {
		if n.Seq <= after {
			continue
		}
		shorten := func(text string) string {
			text = text[max(0, after-(n.Seq-len(text))):]
			for text != "" && !utf8.RuneStart(text[0]) {
				text = text[1:]
			}
			return text
		}
		switch e := n.Event.(type) {
		case chat.TextDelta:
			e.Text = shorten(e.Text)
			n.Event = e
		case chat.ReasoningDelta:
			e.Text = shorten(e.Text)
			n.Event = e
		}
		cut = append(cut, n)
	}
	return cut
}

func TestLog_IsTheOwnersAlone(t *testing.T) {
	r := turn.NewRunner(answering(), open(t).State(), turn.Options{})
	missing := func(when, owner string) {
		t.Helper()
		if _, err := r.Log(t.Context(), owner, turnID); !errors.Is(err, turn.ErrNotFound) {
			t.Errorf("%s, of %q: %v, want ErrNotFound", when, owner, err)
		}
	}
	missing("before the turn", "alice")
	for _, err := range r.Run(t.Context(), new(askTurn("", "why?"))) {
		if err != nil {
			t.Fatal(err)
		}
		missing("while it runs", "bob")
		missing("while it runs", "")
	}
	missing("afterwards", "bob")
	if got := log(t, r).Scope(); got != alice {
		t.Errorf("scope %+v", got)
	}
}

func TestLog_EndsWithTheErrorOfTheTurn(t *testing.T) {
	for _, c := range []struct {
		name string
		end  error
		kind chat.Kind
		msg  string
	}{
		{"for clients", &chat.Error{Kind: chat.RateLimited, Msg: "Later.", Err: errors.New("secret")}, chat.RateLimited, "Later."},
		{"internal", &chat.Error{Msg: "secret"}, chat.Internal, ""},
	} {
		r := turn.NewRunner(until(func(context.Context) error { return c.end }), open(t).State(), turn.Options{})
		_ = run(t.Context(), r, askTurn("", "why?"))
		events, err := followed(t, log(t, r), 0)
		e, ok := errors.AsType[*chat.Error](err)
		if len(events) != 3 || !ok || e.Kind != c.kind || e.Msg != c.msg || e.Err != nil {
			t.Errorf("%s: %d events, then %#v", c.name, len(events), err)
		}
	}
}

func TestLog_OfARejectedRequestDoesNotExist(t *testing.T) {
	r := turn.NewRunner(engine(func(context.Context, chat.Request, func(chat.Event) bool) error {
		return &chat.Error{Kind: chat.Invalid}
	}), open(t).State(), turn.Options{})
	_ = run(t.Context(), r, askTurn("", "why?"))
	if _, err := r.Log(t.Context(), "alice", turnID); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Log: %v, want ErrNotFound", err)
	}
}

func TestLog_OfAnAnswerThatIsTooLongEndsTheTurn(t *testing.T) {
	r := turn.NewRunner(engine(func(_ context.Context, _ chat.Request, emit func(chat.Event) bool) error {
		for emit(chat.TextDelta{ID: "m", Text: strings.Repeat("ä", 1<<19)}) {
		}
		return nil
	}), open(t).State(), turn.Options{})
	if err := run(t.Context(), r, askTurn("", "why?")); chat.KindOf(err) != chat.TooLarge {
		t.Errorf("the turn ended with %v, want TooLarge", err)
	}
	size := 0
	for n, err := range log(t, r).Follow(t.Context(), 0, 0) {
		if err != nil {
			break
		}
		d := n.Event.(chat.TextDelta)
		if size += len(d.Text); len(d.Text) > 64<<10 || !utf8.ValidString(d.Text) || n.Seq != size {
			t.Fatalf("a delta of %d bytes at %d", len(d.Text), n.Seq)
		}
	}
	if size != 16<<20 {
		t.Errorf("%d bytes were kept", size)
	}
}

func TestFollow_SaysWhenNothingHappensForLong(t *testing.T) {
	db := open(t)
	synctest.Test(t, func(t *testing.T) {
		on := make(chan struct{})
		r := turn.NewRunner(gated(on), unkept{db.State()}, turn.Options{})
		ended := make(chan error)
		go func() { ended <- run(t.Context(), r, askTurn("", "why?")) }()
		synctest.Wait()
		idle, began := 0, time.Now()
		for n, err := range log(t, r).Follow(t.Context(), 0, 12*time.Second) {
			if err != nil {
				t.Fatal(err)
			}
			if n.Event != nil {
				continue
			}
			if idle++; idle == 3 {
				if got := time.Since(began); got != 36*time.Second {
					t.Errorf("three idle times after %v", got)
				}
				close(on)
			}
		}
		if err := <-ended; err != nil || idle != 3 {
			t.Errorf("%d idle times, %v", idle, err)
		}
	})
}

func TestStop_CancelsATurnAndTellsWhoAsked(t *testing.T) {
	db := open(t)
	r := turn.NewRunner(gated(nil), db.State(), turn.Options{})
	var got error
	for e, err := range r.Run(t.Context(), new(askTurn("", "why?"))) {
		if got = err; err != nil {
			break
		}
		if d, ok := e.(chat.TextDelta); ok && d.Text == "ße, " && !log(t, r).Stop() {
			t.Error("the turn was not running")
		}
	}
	if chat.KindOf(got) != chat.Conflict || !errors.Is(got, context.Canceled) {
		t.Errorf("the turn ended with %v", got)
	}
	if rec := saved(t, db.State()); rec.Status != chat.StatusCancelled || rec.Answers[0].Text() != "Größe, " {
		t.Errorf("saved as %s: %+v", rec.Status, rec.Answers)
	}
	if log(t, r).Stop() {
		t.Error("a turn that has ended was stopped")
	}
}

func TestForget_DeletesWhatTurnsSaidButNotTheTurns(t *testing.T) {
	db := open(t)
	now := time.Now()
	r := turn.NewRunner(answering(), db.State(), turn.Options{Now: func() time.Time { return now }})
	if err := run(t.Context(), r, askTurn("", "why?")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(turn.SaidLifetime + time.Second)
	if n, err := r.Forget(t.Context()); n != 1 || err != nil {
		t.Errorf("Forget: %d, %v", n, err)
	}
	if _, err := r.Log(t.Context(), "alice", turnID); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Log: %v, want ErrNotFound", err)
	}
	saved(t, db.State())
}

func TestPublic_LeavesOutWhatClientsMayNotSee(t *testing.T) {
	found := chat.PassagesRetrieved{Passages: []retrieval.Passage{{
		Chunk:    retrieval.Chunk{Text: "text"},
		Document: retrieval.Document{ID: "d", Name: "a.pdf", Owner: "secret", SHA256: "secret", Access: access.List{Users: []string{"secret"}}},
	}}}
	vendor := &llm.Vendor{ID: "secret"}
	call := llm.ToolCall{ID: "c", Name: "t", Signature: "secret"}
	for _, e := range []chat.Event{
		chat.PromptBuilt{Sources: []string{"secret"}, Messages: []llm.Message{llm.Text(llm.System, "secret")}},
		found, chat.CompletionStarted{Vendor: vendor}, chat.TextDelta{Vendor: vendor}, chat.ToolCalled{Call: call},
		chat.ToolStarted{Call: call}, chat.MessageFinished{Vendor: vendor, ToolCalls: []llm.ToolCall{call}},
	} {
		raw, err := chat.Numbered{Event: turn.Public(e)}.MarshalJSON()
		if err != nil || strings.Contains(string(raw), "secret") {
			t.Errorf("%s, %v", raw, err)
		}
	}
	if found.Passages[0].Document.Owner == "" {
		t.Error("the event itself was changed")
	}
}

func TestLog_KeepsThePromptForItsOwnerAndNotForThoseWhoFollow(t *testing.T) {
	db := openAt(t, t.TempDir())
	asked := llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "the prompt"}, {Image: "data:image/png;base64,AAAA"}}}
	said := engine(func(_ context.Context, _ chat.Request, emit func(chat.Event) bool) error {
		emit(chat.StageStarted{Stage: chat.StagePrompt})
		emit(chat.PromptBuilt{Model: "m", Sources: []string{"source"}, Messages: []llm.Message{asked}})
		emit(chat.TextDelta{ID: "m", Text: "a"})
		emit(chat.TurnFinished{})
		return nil
	})
	r := turn.NewRunner(said, db.State(), turn.Options{})
	if _, err := chat.Collect(r.Run(t.Context(), &chat.Request{TurnID: turnID, Principal: access.Principal{Subject: "alice"}, Messages: []chat.Message{chat.TextMessage(llm.User, "q")}})); err != nil {
		t.Fatal(err)
	}
	s := log(t, r).Snapshot()
	if !s.Ended || s.Err != nil || len(s.Events) != 4 {
		t.Fatalf("%+v", s)
	}
	kept, ok := s.Events[1].(chat.PromptBuilt)
	if !ok || len(kept.Sources) > 0 || len(kept.Messages) != 1 || kept.Messages[0].Parts[0].Text != "the prompt" || kept.Messages[0].Parts[1].Image != turn.PictureLeftOut {
		t.Errorf("%+v", s.Events[1])
	}
	if asked.Parts[1].Image == turn.PictureLeftOut {
		t.Error("the event itself was changed")
	}
	if public := turn.Public(kept).(chat.PromptBuilt); len(public.Messages) > 0 {
		t.Errorf("%+v", public)
	}
	if began := turn.Began("01ARZ3NDEKTSV4RRFFQ69G5FAV"); began.Year() != 2016 {
		t.Errorf("began %v", began)
	}
	if !turn.Began("nothing").IsZero() {
		t.Error("an id of another form has a time")
	}
}

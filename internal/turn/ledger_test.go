package turn_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/turn"
)

// model is a scripted model.
type model func(ctx context.Context, emit func(llm.Chunk) bool) error

func (m model) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		left := false
		err := m(ctx, func(c llm.Chunk) bool {
			left = left || !yield(c, nil)
			return !left
		})
		if err != nil && !left {
			yield(llm.Chunk{}, err)
		}
	}
}

// chunks returns a model that emits the chunks and then ends, with an error if end is not nil.
func chunks(end error, all ...llm.Chunk) model {
	return func(_ context.Context, emit func(llm.Chunk) bool) error {
		for _, c := range all {
			if !emit(c) {
				return nil
			}
		}
		return end
	}
}

// prompt is a request of 12 estimated tokens.
var prompt = llm.Request{Model: "large", Messages: []llm.Message{llm.Text(llm.User, "twelve tokens, all of it that.."[:32-1]+"!")}}

// price charges 2 micro-dollars a token.
func price(_, model string, u llm.Usage) ledger.Cost {
	return ledger.Cost{Micros: int64(2 * (u.Input + u.Output)), Known: model == "large"}
}

// entries returns the ledger's entries of a turn, or those outside turns, without the fields that vary.
func entries(t *testing.T, s *store.State, turnID string) []ledger.Entry {
	t.Helper()
	all, err := s.Entries(t.Context(), turnID)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range all {
		if !ident.Valid(e.ID) || e.CreatedAt.IsZero() || e.SettledAt.IsZero() != (e.Status == ledger.Intent) {
			t.Errorf("entry %+v", e)
		}
		all[i].ID, all[i].CreatedAt, all[i].SettledAt = "", time.Time{}, time.Time{}
	}
	return all
}

func TestMeter_SettlesACallAsItEnded(t *testing.T) {
	text, reported := llm.Chunk{Text: "eight bytes, or more than that.."}, llm.Usage{Input: 50, Output: 9, Cached: 20, Reasoning: 2}
	thought := llm.Chunk{Reasoning: "hmmm"}
	usage := llm.Chunk{Usage: &reported}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		model  model
		leave  int // the reader leaves after so many chunks; 0 means never
		status ledger.Status
		usage  llm.Usage
	}{
		"completed":                  {chunks(nil, thought, text, usage), 0, ledger.Completed, reported},
		"completed without usage":    {chunks(nil, thought, text), 0, ledger.Completed, llm.Usage{Input: 12, Output: 9, Reasoning: 1, Estimated: true}},
		"usage too large":            {chunks(nil, text, llm.Chunk{Usage: &llm.Usage{Input: 1e18}}), 0, ledger.Completed, llm.Usage{Input: 12, Output: 8, Estimated: true}},
		"usage negative":             {chunks(nil, text, llm.Chunk{Usage: &llm.Usage{Output: -1}}), 0, ledger.Completed, llm.Usage{Input: 12, Output: 8, Estimated: true}},
		"more cached than read":      {chunks(nil, text, llm.Chunk{Usage: &llm.Usage{Input: 1, Cached: 2}}), 0, ledger.Completed, llm.Usage{Input: 12, Output: 8, Estimated: true}},
		"reader left":                {chunks(boom, text, text), 1, ledger.Cancelled, llm.Usage{Input: 12, Output: 8, Estimated: true}},
		"reader left after usage":    {chunks(boom, text, usage), 2, ledger.Cancelled, reported},
		"text after usage":           {chunks(boom, llm.Chunk{Usage: &llm.Usage{Input: 50, Output: 1}}, text), 2, ledger.Cancelled, llm.Usage{Input: 50, Output: 8, Estimated: true}},
		"failed in the middle":       {chunks(boom, text), 0, ledger.Failed, llm.Usage{Input: 12, Output: 8, Estimated: true}},
		"failed at once":             {chunks(boom), 0, ledger.Failed, llm.Usage{Input: 12, Estimated: true}},
		"refused":                    {chunks(&llm.Error{Status: 429, Err: boom}), 0, ledger.Failed, llm.Usage{}},
		"upstream's error in midway": {chunks(&llm.Error{Status: 500, Err: boom}, text), 0, ledger.Failed, llm.Usage{Input: 12, Output: 8, Estimated: true}},
		"tool call": {chunks(nil, llm.Chunk{ToolCalls: []llm.ToolCall{{Name: "find", Arguments: `{"q":1}.`}}}), 0, ledger.Completed,
			llm.Usage{Input: 12, Output: 3, Estimated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t).State()
			m := ledger.New(s, ledger.Options{Price: price}).Meter("openai", c.model)
			n := 0
			for chunk := range m.Stream(t.Context(), prompt) {
				if u := chunk.Usage; u != nil && (u.Input < 0 || u.Output < 0 || u.Input > 1e9 || u.Cached > u.Input) {
					t.Errorf("usage %+v was passed on", *u)
				}
				if n++; n == c.leave {
					break
				}
			}
			want := ledger.Entry{Provider: "openai", Model: "large", Status: c.status, EstimatedInput: 12, Usage: c.usage,
				Cost: ledger.Cost{Micros: int64(2 * (c.usage.Input + c.usage.Output)), Known: true}}
			if diff := cmp.Diff([]ledger.Entry{want}, entries(t, s, "")); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMeter_SettlesACallThatItsContextOrAPanicCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		read func(cancel func())
		want ledger.Status
	}{
		"context": {func(cancel func()) { cancel() }, ledger.Cancelled},
		"panic":   {func(func()) { panic("reader") }, ledger.Cancelled},
	} {
		s := open(t).State()
		waiting := model(func(ctx context.Context, emit func(llm.Chunk) bool) error {
			emit(llm.Chunk{Text: "text"})
			<-ctx.Done()
			return ctx.Err()
		})
		m := ledger.New(s, ledger.Options{}).Meter("openai", waiting)
		ctx, cancel := context.WithCancel(t.Context())
		func() {
			defer func() { recover() }()
			for chunk := range m.Stream(ctx, prompt) {
				if chunk.Text != "" {
					c.read(cancel)
				}
			}
		}()
		cancel()
		want := ledger.Entry{Provider: "openai", Model: "large", Status: c.want, EstimatedInput: 12,
			Usage: llm.Usage{Input: 12, Output: 1, Estimated: true}}
		if diff := cmp.Diff([]ledger.Entry{want}, entries(t, s, "")); diff != "" {
			t.Errorf("%s: ledger (-want +got):\n%s", name, diff)
		}
	}
}

func TestMeter_CommitsTheIntentBeforeTheCall(t *testing.T) {
	s := open(t).State()
	called := false
	m := ledger.New(s, ledger.Options{}).Meter("openai", model(func(ctx context.Context, _ func(llm.Chunk) bool) error {
		called = true
		open, err := s.Unsettled(ctx, 10)
		if err != nil || len(open) != 1 || open[0].EstimatedInput != 12 {
			t.Errorf("unsettled during the call: %+v, %v", open, err)
		}
		return nil
	}))
	stream := m.Stream(t.Context(), prompt)
	if called {
		t.Error("the call was made before anybody read it")
	}
	for range stream {
	}
	if !called {
		t.Error("the call was not made")
	}
}

// broken is a ledger that cannot be written.
type broken struct{ ledger.Store }

var errBroken = errors.New("disk full")

func (broken) Intend(context.Context, ledger.Entry) error { return errBroken }

func TestMeter_MakesNoCallOffTheRecord(t *testing.T) {
	m := ledger.New(broken{}, ledger.Options{}).Meter("openai", model(func(context.Context, func(llm.Chunk) bool) error {
		t.Error("the call was made")
		return nil
	}))
	for _, err := range m.Stream(t.Context(), prompt) {
		if _, ok := errors.AsType[*llm.Error](err); !ok || !errors.Is(err, errBroken) {
			t.Errorf("Stream: %v", err)
		}
	}
}

// hasty is a ledger whose client leaves while it commits an intent, so that the caller does not learn of
// it.
type hasty struct {
	ledger.Store
	leave   context.CancelFunc
	settled []ledger.Entry
}

func (h *hasty) Intend(ctx context.Context, _ ledger.Entry) error {
	h.leave()
	return ctx.Err()
}

func (h *hasty) Settle(ctx context.Context, e ledger.Entry) error {
	h.settled = append(h.settled, e)
	return ctx.Err()
}

func TestMeter_SettlesAnIntentWhoseClientLeftMeanwhile(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	store := &hasty{leave: leave}
	m := ledger.New(store, ledger.Options{}).Meter("openai", model(func(context.Context, func(llm.Chunk) bool) error {
		t.Error("the call was made")
		return nil
	}))
	for _, err := range m.Stream(ctx, prompt) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Stream: %v", err)
		}
	}
	if len(store.settled) != 1 || store.settled[0].Status != ledger.Cancelled || store.settled[0].Usage != (llm.Usage{}) {
		t.Errorf("settled: %+v, want one cancelled call that took nothing", store.settled)
	}
}

func TestMeter_LeavesBuiltinModelsAlone(t *testing.T) {
	m := ledger.New(broken{}, ledger.Options{}).Meter(ledger.Builtin, chunks(nil, llm.Chunk{Text: "x"}))
	for _, err := range m.Stream(t.Context(), prompt) {
		if err != nil {
			t.Error(err)
		}
	}
}

// calling returns an engine that rewrites and generates with m, as the real one would.
func calling(m llm.Model) engine {
	return func(ctx context.Context, _ chat.Request, emit func(chat.Event) bool) error {
		var total llm.Usage
		for _, stage := range []chat.Stage{chat.StageRewrite, chat.StageGenerate} {
			if !emit(chat.StageStarted{Stage: stage}) {
				return nil
			}
			var used llm.Usage
			for chunk, err := range m.Stream(ctx, prompt) {
				if err != nil {
					return err
				}
				if chunk.Usage != nil {
					used = *chunk.Usage
				}
				if stage == chat.StageGenerate && chunk.Text != "" && !emit(chat.TextDelta{ID: "m", Text: chunk.Text}) {
					return nil
				}
			}
			total = total.Add(used)
			if !emit(chat.StageFinished{Stage: stage, Usage: used}) {
				return nil
			}
		}
		emit(chat.TurnFinished{Usage: total})
		return nil
	}
}

func TestLedger_KnowsTheTurnAndStageOfEachCall(t *testing.T) {
	s := open(t).State()
	books := ledger.New(s, ledger.Options{Price: price})
	m := books.Meter("openai", chunks(nil, llm.Chunk{Text: "four"}, llm.Chunk{Usage: &llm.Usage{Input: 7, Output: 1}}))
	r := turn.NewRunner(calling(m), s, turn.Options{})
	if err := run(t.Context(), r, askTurn("c", "why?")); err != nil {
		t.Fatal(err)
	}
	want := ledger.Entry{TurnID: turnID, ConversationID: "c", Scope: alice, Stage: chat.StageRewrite, Provider: "openai",
		Model: "large", Status: ledger.Completed, EstimatedInput: 12, Usage: llm.Usage{Input: 7, Output: 1},
		Cost: ledger.Cost{Micros: 16, Known: true}}
	second := want
	second.Stage = chat.StageGenerate
	if diff := cmp.Diff([]ledger.Entry{want, second}, entries(t, s, turnID)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if got, want := saved(t, s).Usage, (llm.Usage{Input: 14, Output: 2}); got != want {
		t.Errorf("usage of the turn %+v, want %+v", got, want)
	}
}

func TestLedger_AndTurnAgreeWhenTheClientLeaves(t *testing.T) {
	s := open(t).State()
	m := ledger.New(s, ledger.Options{}).Meter("openai",
		chunks(nil, llm.Chunk{Text: "four"}, llm.Chunk{Text: "more"}, llm.Chunk{Usage: &llm.Usage{Input: 7, Output: 2}}))
	for e, err := range turn.NewRunner(calling(m), s, turn.Options{}).Run(t.Context(), new(askTurn("c", "why?"))) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(chat.TextDelta); ok {
			break
		}
	}
	var sum llm.Usage
	for _, e := range entries(t, s, turnID) {
		sum = sum.Add(e.Usage)
	}
	want := llm.Usage{Input: 7 + 12, Output: 2 + 1, Estimated: true}
	if got := saved(t, s).Usage; got != want || sum != want {
		t.Errorf("turn %+v, ledger %+v, want %+v", got, sum, want)
	}
}

func TestRecover_EstimatesWhatACrashLeftUnsettled(t *testing.T) {
	s := open(t).State()
	books := ledger.New(s, ledger.Options{Price: price})
	inside, finish, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	slow := books.Meter("openai", model(func(_ context.Context, emit func(llm.Chunk) bool) error {
		close(inside)
		<-finish
		emit(llm.Chunk{Usage: &llm.Usage{Input: 9, Output: 9}})
		return nil
	}))
	go func() {
		defer close(done)
		for range slow.Stream(t.Context(), prompt) {
		}
	}()
	<-inside
	for _, want := range []int{1, 0} {
		if n, err := books.Recover(t.Context(), time.Time{}); n != want || err != nil {
			t.Errorf("Recover: %d, %v, want %d", n, err, want)
		}
	}
	want := ledger.Entry{Provider: "openai", Model: "large", Status: ledger.Interrupted, EstimatedInput: 12,
		Usage: llm.Usage{Input: 12, Estimated: true}, Cost: ledger.Cost{Micros: 24, Known: true}}
	if diff := cmp.Diff([]ledger.Entry{want}, entries(t, s, "")); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	// The call belongs to another process, which still runs: its real end counts.
	close(finish)
	<-done
	got := entries(t, s, "")
	want.Status, want.Usage, want.Cost.Micros = ledger.Completed, llm.Usage{Input: 9, Output: 9}, 36
	if diff := cmp.Diff([]ledger.Entry{want}, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// unsaved is a store that saves no turn.
type unsaved struct{ turn.Store }

func (unsaved) Save(context.Context, turn.Record) error { return errors.New("the disk is full") }

// The end of a call is written with its turn, but also if the turn cannot be saved.
func TestLedger_SettlesACallWhoseTurnIsNotSaved(t *testing.T) {
	s := open(t).State()
	m := ledger.New(s, ledger.Options{}).Meter("openai", chunks(nil, llm.Chunk{Usage: &llm.Usage{Input: 7, Output: 1}}))
	err := run(t.Context(), turn.NewRunner(calling(m), unsaved{s}, turn.Options{}), askTurn("", "why?"))
	if chat.KindOf(err) != chat.Unavailable {
		t.Errorf("error %v", err)
	}
	for _, e := range entries(t, s, turnID) {
		if e.Status != ledger.Completed || e.Usage.Input != 7 {
			t.Errorf("entry %+v", e)
		}
	}
}

package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// found is a retriever that always finds the same and remembers what it was asked.
type found struct {
	mu      sync.Mutex
	result  retrieval.Result
	err     error
	wait    func(context.Context)
	queries []retrieval.Query
}

func (f *found) Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error) {
	f.mu.Lock()
	f.queries = append(f.queries, q)
	f.mu.Unlock()
	if f.wait != nil {
		f.wait(ctx)
		if err := ctx.Err(); err != nil {
			return retrieval.Result{}, err
		}
	}
	return f.result, f.err
}

func passages(p ...retrieval.Passage) *found {
	return &found{result: retrieval.Result{Passages: p, Mode: retrieval.Text, Matched: len(p)}}
}

func models(m ...llm.Model) *llm.Router {
	r := &llm.Router{Default: "test:m1", Providers: map[string]llm.Model{"test": m[0]}}
	if len(m) > 1 {
		r.Providers["builtin"] = m[1]
	}
	return r
}

// prompts are read once: some tests make millions of engines.
var prompts = prompt.BuiltIn()

func newEngine(m llm.Model, f *found, more ...func(*chat.Config)) *chat.Engine {
	cfg := chat.Config{Retriever: f, Models: models(m), Prompts: prompts, Defaults: chat.Options{Models: chat.Models{Inference: "test:m1"}}}
	for _, set := range more {
		set(&cfg)
	}
	return chat.NewEngine(cfg)
}

func ask(e *chat.Engine, question string, more ...func(*chat.Request)) chat.Request {
	req := chat.Request{Messages: []chat.Message{chat.TextMessage(llm.User, question)}, Options: e.Defaults()}
	for _, set := range more {
		set(&req)
	}
	return req
}

func followUps(r *chat.Request) { r.Options.FollowUps = true }

func run(ctx context.Context, e *chat.Engine, req chat.Request) (events []chat.Event, err error) {
	for ev, err := range e.Run(ctx, &req) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// names says what events there are, deltas in a row as one.
func names(events []chat.Event) string {
	var out []string
	for _, e := range events {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "chat.")
		switch e := e.(type) {
		case chat.StageStarted:
			name = "+" + string(e.Stage)
		case chat.StageFinished:
			name = "-" + string(e.Stage)
		}
		if len(out) == 0 || out[len(out)-1] != name {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

const order = "+history -history +rewrite QueryRewritten -rewrite +retrieve PassagesRetrieved -retrieve " +
	"+prompt PromptBuilt -prompt +generate MessageStarted CompletionStarted TextDelta MessageFinished -generate"

func TestRun_EmitsEventsInTheOrderOfTheContract(t *testing.T) {
	e := newEngine(llmtest.Says("25 ", "days [guide.pdf#page=2]."), passages(chattest.Passage("guide.pdf", 2, "Leave is 25 days.")),
		func(c *chat.Config) {
			c.Suggest = func(context.Context, chat.SuggestInput) ([]string, error) { return []string{"Who approves?"}, nil }
		})
	for _, c := range []struct {
		name string
		set  func(*chat.Request)
		want string
	}{
		{"without follow-ups", func(*chat.Request) {}, order + " TurnFinished"},
		{"with follow-ups", followUps, order + " +suggest FollowUpsSuggested -suggest TurnFinished"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := run(t.Context(), e, ask(e, "How long is leave?", c.set))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, names(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRun_TellsWhatHappened(t *testing.T) {
	model := llmtest.Says("25 ", "days [guide.pdf#page=2].")
	f := passages(chattest.Passage("guide.pdf", 2, "Leave is\n25 days."), chattest.Passage("notes.md", 0, "Ask early."))
	f.result.Terms = []retrieval.Term{{Text: "leav", Word: "leave", Weight: 1, IDF: 2, Known: true}}
	e := newEngine(model, f)
	req := ask(e, " How long is leave? ")
	req.Principal = access.Principal{Subject: "ann"}
	req.Options.Captions, req.Options.IncludeCategory, req.Options.MinScore = true, "hr", 0.2
	turn, err := chat.Collect(e.Run(t.Context(), &req))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]retrieval.Query{{
		Filter: retrieval.Filter{Principal: req.Principal, Namespace: "default", IncludeCategory: "hr"},
		Text:   "How long is leave?", Mode: retrieval.Hybrid, Limit: 3, MinScore: 0.2, Captions: true,
	}}, f.queries); diff != "" {
		t.Errorf("query: %s", diff)
	}
	if diff := cmp.Diff([]string{"guide.pdf#page=2: Leave is 25 days.", "notes.md: Ask early."}, turn.Prompt.Sources); diff != "" {
		t.Errorf("sources: %s", diff)
	}
	if diff := cmp.Diff([]string{"guide.pdf#page=2", "notes.md"}, turn.Prompt.Labels); diff != "" {
		t.Errorf("labels: %s", diff)
	}
	sent := model.Requests()[0]
	if got, want := sent.Messages[len(sent.Messages)-1].Text(),
		"How long is leave?\n\nSources:\nguide.pdf#page=2: Leave is 25 days.\nnotes.md: Ask early."; got != want {
		t.Errorf("user turn = %q, want %q", got, want)
	}
	if diff := cmp.Diff(turn.Prompt.Messages, sent.Messages); diff != "" {
		t.Errorf("the prompt that is shown is not the one that is sent: %s", diff)
	}
	if sent.Model != "m1" || turn.Prompt.Model != "test:m1" || turn.Requested != "m1" {
		t.Errorf("models: %q %q %q", sent.Model, turn.Prompt.Model, turn.Requested)
	}
	if diff := cmp.Diff(&llm.Evidence{
		Question: "How long is leave?", Query: "How long is leave?",
		Terms: []llm.Term{{Text: "leav", Word: "leave", Weight: 1, IDF: 2, Known: true}},
		Passages: []llm.Passage{
			{Text: "Leave is\n25 days.", Marks: []llm.Mark{{Citation: "guide.pdf#page=2"}}, Score: 1, Title: "guide.pdf"},
			{Text: "Ask early.", Marks: []llm.Mark{{Citation: "notes.md"}}, Score: 1, Title: "notes.md"},
		},
	}, sent.Evidence); diff != "" {
		t.Errorf("evidence: %s", diff)
	}
	m := turn.Messages[0]
	if m.Text != "25 days [guide.pdf#page=2]." || m.Model != "scripted-1" || m.FinishReason != "stop" || m.Status != chat.StatusCompleted {
		t.Errorf("message = %+v", m)
	}
	if turn.Usage != (llm.Usage{Input: 10, Output: 2}) || m.Usage != turn.Usage {
		t.Errorf("usage = %+v", turn.Usage)
	}
}

func TestRun_RejectsARequestBeforeAnyEvent(t *testing.T) {
	nan := math.NaN()
	text := chat.TextMessage
	for name, c := range map[string]struct {
		set  func(*chat.Request)
		kind chat.Kind
		says string
	}{
		"no messages":     {func(r *chat.Request) { r.Messages = nil }, chat.Invalid, "no user message"},
		"no user message": {func(r *chat.Request) { r.Messages[0].Role = llm.Assistant }, chat.Invalid, "no user message"},
		"empty question":  {func(r *chat.Request) { r.Messages[0] = text(llm.User, " \n") }, chat.Invalid, "empty"},
		"tool message":    {func(r *chat.Request) { r.Messages = append(r.Messages, text(llm.ToolRole, "x")) }, chat.Invalid, "Message 2"},
		"role of its own": {func(r *chat.Request) { r.Messages = append(r.Messages, text("root", "x")) }, chat.Invalid, "role"},
		"bad UTF-8":       {func(r *chat.Request) { r.Messages[0] = text(llm.User, "a\xff") }, chat.Invalid, "UTF-8"},
		"file image": {func(r *chat.Request) {
			r.Messages[0].Parts = append(r.Messages[0].Parts, llm.Part{Image: "file:///etc/passwd"})
		}, chat.Invalid, "image"},
		"many messages": {func(r *chat.Request) { r.Messages = make([]chat.Message, 1001) }, chat.Invalid, "1000 messages"},
		"long messages": {func(r *chat.Request) {
			r.Messages = append(r.Messages, text(llm.Assistant, strings.Repeat("x", 1<<20)))
		}, chat.TooLarge, "longer"},
		"long question":      {func(r *chat.Request) { r.Messages[0] = text(llm.User, strings.Repeat("x", 33<<10)) }, chat.TooLarge, "question"},
		"top":                {func(r *chat.Request) { r.Options.Top = 51 }, chat.Invalid, "passages"},
		"negative top":       {func(r *chat.Request) { r.Options.Top = -1 }, chat.Invalid, "passages"},
		"mode":               {func(r *chat.Request) { r.Options.Mode = "best" }, chat.Invalid, "mode"},
		"min score":          {func(r *chat.Request) { r.Options.MinScore = 1.1 }, chat.Invalid, "score"},
		"min score NaN":      {func(r *chat.Request) { r.Options.MinScore = nan }, chat.Invalid, "score"},
		"rerank score NaN":   {func(r *chat.Request) { r.Options.MinRerankScore = nan }, chat.Invalid, "score"},
		"temperature":        {func(r *chat.Request) { r.Options.Temperature = 2.1 }, chat.Invalid, "temperature"},
		"temperature NaN":    {func(r *chat.Request) { r.Options.Temperature = nan }, chat.Invalid, "temperature"},
		"top_p":              {func(r *chat.Request) { r.Options.TopP = -1 }, chat.Invalid, "top_p"},
		"output tokens":      {func(r *chat.Request) { r.Options.MaxOutputTokens = 1 << 20 }, chat.Invalid, "tokens"},
		"images":             {func(r *chat.Request) { r.Options.Images = "all" }, chat.Invalid, "image"},
		"template":           {func(r *chat.Request) { r.Options.PromptTemplate = strings.Repeat("x", 9<<10) }, chat.Invalid, "template"},
		"namespace":          {func(r *chat.Request) { r.Namespace = strings.Repeat("x", 300) }, chat.Invalid, "namespace"},
		"unknown provider":   {func(r *chat.Request) { r.Options.Models.Inference = "nobody:m" }, chat.Invalid, `no model "nobody:m"`},
		"model without form": {func(r *chat.Request) { r.Options.Models.Inference = "gpt" }, chat.Invalid, "provider:model"},
	} {
		t.Run(name, func(t *testing.T) {
			f := passages()
			e := newEngine(llmtest.Says("x"), f)
			events, err := run(t.Context(), e, ask(e, "q", c.set))
			if len(events) > 0 || len(f.queries) > 0 {
				t.Errorf("events before the error: %s", names(events))
			}
			ce, ok := errors.AsType[*chat.Error](err)
			if !ok || ce.Kind != c.kind || !strings.Contains(ce.Msg, c.says) {
				t.Errorf("error = %#v, want kind %d and %q", err, c.kind, c.says)
			}
		})
	}
}

func TestRun_MapsWhatModelsReturn(t *testing.T) {
	cause := errors.New("internal text")
	for name, c := range map[string]struct {
		err   error
		kind  chat.Kind
		model string
	}{
		"filtered":          {&llm.Error{Status: 400, Filtered: true, Err: cause}, chat.Filtered, ""},
		"busy":              {&llm.Error{Status: 429, RetryAfter: 7 * time.Second, Err: cause}, chat.ModelLimited, ""},
		"credentials":       {&llm.Error{Status: 401, Err: cause}, chat.KeyRefused, ""},
		"forbidden":         {&llm.Error{Status: 403, Err: cause}, chat.KeyRefused, ""},
		"no credit":         {&llm.Error{Status: 429, Reason: llm.NoCredit, Err: cause}, chat.NoCredit, ""},
		"not reached":       {&llm.Error{Retryable: true, Reason: llm.Unreachable, Err: cause}, chat.ModelUnreachable, ""},
		"silent":            {&llm.Error{Retryable: true, Silent: true, Err: cause}, chat.ModelSlow, ""},
		"context":           {&llm.Error{Status: 400, Reason: llm.TooLong, Err: cause}, chat.PromptTooLong, ""},
		"server error":      {&llm.Error{Status: 500, Err: cause}, chat.Unavailable, ""},
		"too long":          {&llm.Error{Status: 413, Err: cause}, chat.PromptTooLong, ""},
		"cut":               {&llm.Error{Err: cause}, chat.Unavailable, ""},
		"no such model":     {&llm.Error{Status: 404, Err: cause}, chat.Invalid, "test:other"},
		"default not there": {&llm.Error{Status: 404, Err: cause}, chat.ModelMissing, ""},
		"anything else":     {cause, chat.Internal, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(llmtest.Fails(c.err, "half an "), passages())
			req := ask(e, "q")
			if c.model != "" {
				req.Options.Models.Inference = c.model
			}
			events, err := run(t.Context(), e, req)
			if got := chat.KindOf(err); got != c.kind || !errors.Is(err, cause) {
				t.Errorf("kind = %d, want %d: %v", got, c.kind, err)
			}
			if ce, ok := errors.AsType[*chat.Error](err); ok && strings.Contains(ce.Msg, "internal") {
				t.Errorf("clients would see %q", ce.Msg)
			}
			if want := strings.TrimSuffix(order, " MessageFinished -generate"); names(events) != want {
				t.Errorf("events = %s", names(events))
			}
			if ce, ok := errors.AsType[*chat.Error](err); name == "busy" && (!ok || ce.RetryAfter != 7*time.Second) {
				t.Errorf("error = %+v, want its RetryAfter", ce)
			}
		})
	}
}

func TestRun_BlamesTheClientOnlyForAMissingModelThatItChose(t *testing.T) {
	missing := llmtest.Fails(&llm.Error{Status: 404, Err: errors.New("internal text")})
	down := llmtest.Fails(&llm.Error{Status: 500, Err: errors.New("down")})
	look := asksFor("", llm.ToolCall{ID: "c1", Name: "weather", Arguments: `{}`})
	for name, c := range map[string]struct {
		scripts []*llmtest.Model
		set     func(*chat.Request)
		kind    chat.Kind
		says    string
	}{
		"chosen":       {[]*llmtest.Model{missing}, func(r *chat.Request) { r.Options.Models.Inference = "test:other" }, chat.Invalid, `no model "other"`},
		"of a stage":   {[]*llmtest.Model{look, missing}, func(r *chat.Request) { r.Options.Models.Synthesis = "test:late" }, chat.Invalid, `no model "late"`},
		"unset":        {[]*llmtest.Model{missing}, func(r *chat.Request) { r.Options.Models.Inference = "" }, chat.ModelMissing, ""},
		"of an agent":  {[]*llmtest.Model{missing}, func(r *chat.Request) { r.Options.Models.Inference, r.Configured = "test:other", true }, chat.ModelMissing, ""},
		"the fallback": {[]*llmtest.Model{down, missing}, func(r *chat.Request) { r.Options.Models.Inference = "test:other" }, chat.ModelMissing, ""},
	} {
		e := newEngine(&inTurn{scripts: c.scripts}, passages(), ofServer(&toolbox{names: []string{"weather"}}), func(cfg *chat.Config) {
			if name == "the fallback" {
				cfg.Fallback = "test:spare"
			}
		})
		_, err := run(t.Context(), e, ask(e, "q", usingTools, c.set))
		ce, ok := errors.AsType[*chat.Error](err)
		if !ok || ce.Kind != c.kind || !strings.Contains(ce.Msg, c.says) {
			t.Errorf("%s: error = %#v, want kind %d and %q", name, err, c.kind, c.says)
		}
	}
}

func TestRun_EndsWithoutAnAnswerWhenTheFilterLeftNothing(t *testing.T) {
	e := newEngine(&llmtest.Model{Steps: []llmtest.Step{{Chunk: llm.Chunk{FinishReason: "content_filter"}}}}, passages())
	if _, err := run(t.Context(), e, ask(e, "q")); chat.KindOf(err) != chat.Filtered {
		t.Errorf("error = %v", err)
	}
}

func TestRun_FallsBackOnlyBeforeTheFirstTokenAndOnlyIfConfigured(t *testing.T) {
	down := &llm.Error{Status: 500, Err: errors.New("down")}
	role := &llmtest.Model{Steps: []llmtest.Step{{Chunk: llm.Chunk{Model: "dying-1"}}, {Err: down}}}
	for name, c := range map[string]struct {
		model    *llmtest.Model
		fallback string
		answered bool
	}{
		"off":                  {llmtest.Fails(down), "", false},
		"on":                   {llmtest.Fails(down), "builtin:extractive", true},
		"after the role":       {role, "builtin:extractive", true},
		"after the first text": {llmtest.Fails(down, "x"), "builtin:extractive", false},
		"filtered":             {llmtest.Fails(&llm.Error{Filtered: true, Err: errors.New("no")}), "builtin:extractive", false},
		"unknown fallback":     {llmtest.Fails(down), "nobody:x", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(c.model, passages(), func(cfg *chat.Config) {
				cfg.Models, cfg.Fallback = models(c.model, llmtest.Says("from the builtin")), c.fallback
			})
			events, err := run(t.Context(), e, ask(e, "q"))
			if (err == nil) != c.answered {
				t.Fatalf("error = %v", err)
			}
			if !c.answered {
				return
			}
			if names(events) != order+" TurnFinished" {
				t.Errorf("events = %s", names(events))
			}
			for _, ev := range events {
				if s, ok := ev.(chat.StageFinished); ok && s.Stage == chat.StageGenerate && !strings.Contains(s.Note, "builtin:extractive") {
					t.Errorf("note = %q", s.Note)
				}
				if s, ok := ev.(chat.CompletionStarted); ok && s.Model != "builtin:extractive" {
					t.Errorf("the answer names %q", s.Model)
				}
			}
		})
	}
}

func TestRun_EndsWithTheContextInEveryStage(t *testing.T) {
	for _, stage := range []chat.Stage{chat.StageHistory, chat.StageRewrite, chat.StageRetrieve, chat.StagePrompt, chat.StageGenerate, "mid-answer", chat.StageSuggest} {
		for _, deadline := range []bool{false, true} {
			byConsumer := stage == chat.StageHistory || stage == chat.StagePrompt // nothing in them blocks
			if byConsumer && deadline {
				continue
			}
			t.Run(fmt.Sprintf("%s, deadline %v", stage, deadline), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if deadline {
					ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
				}
				defer cancel()
				block := func(ctx context.Context) {
					if !deadline {
						cancel()
					}
					<-ctx.Done()
				}
				wait := llmtest.Step{Wait: make(chan struct{}), Do: func() {
					if !deadline {
						cancel()
					}
				}}
				f := passages()
				model := llmtest.Says("a", "b")
				e := newEngine(model, f, func(c *chat.Config) {
					switch stage {
					case chat.StageRewrite:
						c.Rewrite = func(ctx context.Context, _ []chat.Message, q string) chat.QueryRewritten {
							block(ctx)
							return chat.QueryRewritten{}
						}
					case chat.StageRetrieve:
						f.wait = block
					case chat.StageGenerate:
						model.Steps[0] = wait
					case "mid-answer":
						model.Steps[1] = wait
					case chat.StageSuggest:
						c.Suggest = func(ctx context.Context, _ chat.SuggestInput) ([]string, error) {
							block(ctx)
							return nil, ctx.Err()
						}
					}
				})
				var events []chat.Event
				var err error
				for ev, e := range e.Run(ctx, new(ask(e, "q", followUps))) {
					if s, ok := ev.(chat.StageStarted); ok && s.Stage == stage && byConsumer {
						cancel()
					}
					events, err = append(events, ev), e
				}
				want := context.Canceled
				if deadline {
					want = context.DeadlineExceeded
					if chat.KindOf(err) != chat.Unavailable {
						t.Errorf("kind = %d", chat.KindOf(err))
					}
				}
				if !errors.Is(err, want) {
					t.Errorf("error = %v after %s", err, names(events[:len(events)-1]))
				}
				if model.Active() != 0 {
					t.Errorf("the model still runs")
				}
			})
		}
	}
}

func TestRun_EndsWhenTheConsumerLeaves(t *testing.T) {
	model := llmtest.Says("a", "b<", "c")
	e := newEngine(model, passages())
	all, err := run(t.Context(), e, ask(e, "q", followUps))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(all); n++ {
		seen := 0
		for range e.Run(t.Context(), new(ask(e, "q", followUps))) {
			if seen++; seen == n {
				break
			}
		}
		if seen != n || model.Active() != 0 {
			t.Fatalf("left after %d events: saw %d, %d model calls active", n, seen, model.Active())
		}
	}
}

func TestRun_TurnsAPanicOfAStageIntoAnInternalError(t *testing.T) {
	for name, set := range map[string]func(*chat.Config, *found, *llmtest.Model){
		"rewrite": func(c *chat.Config, _ *found, _ *llmtest.Model) {
			c.Rewrite = func(context.Context, []chat.Message, string) chat.QueryRewritten { panic("boom") }
		},
		"retrieve": func(_ *chat.Config, f *found, _ *llmtest.Model) { f.wait = func(context.Context) { panic("boom") } },
		"generate": func(_ *chat.Config, _ *found, m *llmtest.Model) { m.Steps[1].Do = func() { panic("boom") } },
		"suggest": func(c *chat.Config, _ *found, _ *llmtest.Model) {
			c.Suggest = func(context.Context, chat.SuggestInput) ([]string, error) { panic("boom") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := passages(), llmtest.Says("a", "b")
			e := newEngine(m, f, func(c *chat.Config) { set(c, f, m) })
			_, err := run(t.Context(), e, ask(e, "q", followUps))
			if err == nil || chat.KindOf(err) != chat.Internal || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), name) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestRun_LetsAPanicOfTheConsumerThrough(t *testing.T) {
	e := newEngine(llmtest.Says("a", "b"), passages())
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v", p)
		}
	}()
	for ev := range e.Run(t.Context(), new(ask(e, "q"))) {
		if _, ok := ev.(chat.TextDelta); ok {
			panic("mine")
		}
	}
}

func TestCollect_EqualsTheStream(t *testing.T) {
	model := &llmtest.Model{Steps: []llmtest.Step{
		{Chunk: llm.Chunk{Model: "m", Vendor: &llm.Vendor{ID: "c1", SystemFingerprint: "fp"}}},
		{Chunk: llm.Chunk{Reasoning: "let me "}}, {Chunk: llm.Chunk{Reasoning: "see"}},
		{Chunk: llm.Chunk{Text: "Yes [a.md]", Vendor: &llm.Vendor{ContentFilter: json.RawMessage(`{"x":1}`)}}},
		{Chunk: llm.Chunk{Text: "[zzz.pdf#page=1]. <<More?"}}, {Chunk: llm.Chunk{Text: ">>"}},
		{Chunk: llm.Chunk{FinishReason: "length"}},
	}}
	e := newEngine(model, passages(chattest.Passage("a.md", 0, "text")))
	var text, reasoning string
	var events []chat.Event
	turn, err := chat.Collect(func(yield func(chat.Event, error) bool) {
		for ev, err := range e.Run(t.Context(), new(ask(e, "q", followUps))) {
			events = append(events, ev)
			switch ev := ev.(type) {
			case chat.TextDelta:
				text += ev.Text
			case chat.ReasoningDelta:
				reasoning += ev.Text
			}
			if !yield(ev, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	m := turn.Messages[0]
	if text != "Yes [a.md]. " || m.Text != text || turn.Reasoning != reasoning {
		t.Errorf("stream %q, fold %q; reasoning %q, %q", text, m.Text, reasoning, turn.Reasoning)
	}
	if !cmp.Equal(turn.FollowUps, []string{"More?"}) || m.FinishReason != "length" || !m.Usage.Estimated || m.Usage.Reasoning == 0 {
		t.Errorf("turn = %+v", turn)
	}
	if len(m.Citations) != 1 || m.Citations[0].Label != "a.md" ||
		!cmp.Equal(m.Doubts, []chat.Doubt{{Label: "zzz.pdf#page=1", Kind: chat.Invented, Sentence: "Yes [a.md].", Reason: "not retrieved"}}) {
		t.Errorf("citations %+v, doubts %+v", m.Citations, m.Doubts)
	}
	if diff := cmp.Diff(&llm.Vendor{ID: "c1", SystemFingerprint: "fp", ContentFilter: json.RawMessage(`{"x":1}`)}, m.Vendor); diff != "" {
		t.Error(diff)
	}
	for i, ev := range events {
		b, err := json.Marshal(chat.Numbered{Turn: "t1", Seq: i + 1, Event: ev})
		if err != nil {
			t.Fatal(err)
		}
		var back chat.Numbered
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(chat.Numbered{Turn: "t1", Seq: i + 1, Event: ev}, back, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", b, diff)
		}
	}
}

func TestNumbered_RefusesWhatItDoesNotKnow(t *testing.T) {
	for _, in := range []string{`{"v":2,"type":"text_delta","event":{}}`, `{"v":1,"type":"x","event":{}}`, `{"v":1,"type":"text_delta","event":[]}`, `[]`} {
		if err := json.Unmarshal([]byte(in), new(chat.Numbered)); err == nil {
			t.Errorf("%s was taken", in)
		}
	}
}

// BenchmarkRun_Delta measures what the engine adds to each token.
func BenchmarkRun_Delta(b *testing.B) {
	for name, asked := range map[string]bool{"plain": false, "with follow-ups": true} {
		b.Run(name, func(b *testing.B) {
			e := newEngine(repeat{}, passages())
			req := ask(e, "q")
			req.Options.FollowUps = asked
			n := 0
			b.ReportAllocs()
			b.ResetTimer()
			for ev := range e.Run(b.Context(), &req) {
				if _, ok := ev.(chat.TextDelta); ok {
					if n++; n >= b.N {
						break
					}
				}
			}
		})
	}
}

package chat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"time"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Retriever finds passages. retrieval.Corpus is one.
type Retriever interface {
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
}

// ModelResolver finds the model that a key names; an error says that there is none and is an
// *llm.UnknownModelError. llm.Router is one.
type ModelResolver interface {
	Resolve(key string) (llm.Model, string, error)
}

// RewriteFunc makes a question standalone, given the messages before it, oldest first. When it
// can't, it returns the question.
type RewriteFunc func(ctx context.Context, history []Message, question string) QueryRewritten

// SuggestFunc proposes questions that the user may ask next, best first.
type SuggestFunc func(ctx context.Context, in SuggestInput) ([]string, error)

// SuggestInput is what a SuggestFunc may build on.
type SuggestInput struct {
	Filter   retrieval.Filter // what the caller may see and asked for
	Question string           // as asked
	Query    string           // the standalone form of it
	Answer   string
	Passages []retrieval.Passage
	Previous []string // questions asked before, oldest first
	// Search looks for a text with the filter and the mode of this turn.
	Search func(ctx context.Context, text string) (retrieval.Result, error)
}

// Config is what an Engine is made of. Zero fields mean the default, which is in brackets.
type Config struct {
	Retriever Retriever
	Models    ModelResolver
	Rewrite   RewriteFunc // nil: the question is the query
	Suggest   SuggestFunc // nil: only models suggest questions

	Defaults  Options               // [DefaultOptions]; Top 0 means that only Models is set
	Namespace string                // of requests that name none ["default"]
	Fallback  string                // key of the model that answers when another one fails before its first token [none]
	Grounded  func(key string) bool // models that answer from llm.Evidence, not from the prompt [keys of "builtin"]
	Count     func(text string) int // counts tokens [llm.EstimateTokens]
	Logger    *slog.Logger          // for what does not fail the turn [none]

	MaxMessages      int           // of a request [1000]
	MaxRequestBytes  int           // of text in all messages [1 MiB]
	MaxQuestionBytes int           // [32 KiB]
	MaxTemplateBytes int           // of Options.PromptTemplate [8 KiB]
	MaxHistoryTokens int           // [4000]
	ContextTokens    int           // what the models can read [128000]
	Timeout          time.Duration // of a turn [10 min]
	SuggestTimeout   time.Duration // [5 s]
}

// DefaultOptions returns the options of a turn about which nothing else was said.
func DefaultOptions() Options {
	return Options{Top: 3, Mode: retrieval.Hybrid, Temperature: 0.3, MaxOutputTokens: 1024}
}

// Engine runs turns. It holds no state between them and is safe for concurrent use.
type Engine struct {
	cfg Config
}

// NewEngine returns an engine; Retriever and Models are required.
func NewEngine(cfg Config) *Engine {
	if cfg.Defaults.Top == 0 {
		models := cfg.Defaults.Models
		cfg.Defaults = DefaultOptions()
		cfg.Defaults.Models = models
	}
	if cfg.Grounded == nil {
		cfg.Grounded = isBuiltin
	}
	if cfg.Count == nil {
		cfg.Count = llm.EstimateTokens
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Namespace == "" {
		cfg.Namespace = "default"
	}
	orDefault(&cfg.MaxMessages, 1000)
	orDefault(&cfg.MaxRequestBytes, 1<<20)
	orDefault(&cfg.MaxQuestionBytes, 32<<10)
	orDefault(&cfg.MaxTemplateBytes, 8<<10)
	orDefault(&cfg.MaxHistoryTokens, 4000)
	orDefault(&cfg.ContextTokens, 128_000)
	orDefault(&cfg.Timeout, 10*time.Minute)
	orDefault(&cfg.SuggestTimeout, 5*time.Second)
	return &Engine{cfg: cfg}
}

func orDefault[N int | time.Duration](n *N, value N) {
	if *n == 0 {
		*n = value
	}
}

// Defaults returns the options on which adapters overlay a request.
func (e *Engine) Defaults() Options { return e.cfg.Defaults }

// Run runs one turn. The stream keeps the contract of the package; it can be ranged once, and
// breaking out of it, or cancelling ctx, ends the turn and its model call. Errors are *Error or
// have no kind, except that the error of a cancelled context is ctx.Err(), wrapped.
func (e *Engine) Run(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
		out := &output{yield: yield}
		t, err := e.begin(req)
		if err == nil {
			err = t.run(ctx, out)
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, t.explain(ctx, err))
		}
	}
}

// errLeft says that the consumer broke out of the range.
var errLeft = errors.New("consumer left")

// output is the stream's end in the engine.
type output struct {
	yield    func(Event, error) bool
	yielding bool // the consumer's code runs
}

func (o *output) emit(e Event) error {
	o.yielding = true
	ok := o.yield(e, nil)
	o.yielding = false
	if !ok {
		return errLeft
	}
	return nil
}

// turn is the state of one run. Each stage reads what those before it left here.
type turn struct {
	*Engine
	req   Request
	model resolved

	question Message
	asked    string    // the text of question
	quoted   []string  // client's system messages, oldest first
	history  []Message // what fits of the messages before the question
	previous []string  // all questions before

	query  QueryRewritten
	found  retrieval.Result
	prompt PromptBuilt
	sent   []retrieval.Passage // those that are in the prompt

	answer    string
	suggested []string // by the model itself
	usage     llm.Usage
}

// resolved is a model with its names.
type resolved struct {
	llm.Model
	key      string // "provider:model"
	name     string // without the provider
	grounded bool
}

// given is the name of a model that no upstream names: a built-in model answers under its key.
// Every other model answers under the name that its provider gives it, for which "" stands.
func (m resolved) given() string {
	if isBuiltin(m.key) {
		return m.key
	}
	return ""
}

type stage struct {
	name Stage
	run  func(context.Context, *output) (StageFinished, error)
}

func (t *turn) run(ctx context.Context, out *output) error {
	start := time.Now()
	stages := []stage{
		{StageHistory, t.runHistory},
		{StageRewrite, t.runRewrite},
		{StageRetrieve, t.runRetrieve},
		{StagePrompt, t.runPrompt},
		{StageGenerate, t.runGenerate},
		{StageSuggest, t.runSuggest},
	}
	for _, s := range stages {
		if t.skips(s.name) {
			continue
		}
		if err := t.runStage(ctx, out, s); err != nil {
			return err
		}
	}
	return out.emit(TurnFinished{Duration: time.Since(start), Usage: t.usage})
}

func (t *turn) runStage(ctx context.Context, out *output, s stage) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stage %s: %w", s.name, err)
	}
	if err := out.emit(StageStarted{Stage: s.name}); err != nil {
		return err
	}
	start := time.Now()
	done, err := t.guard(ctx, out, s)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("stage %s: %w", s.name, err)
	}
	done.Stage, done.Duration = s.name, time.Since(start)
	t.usage = t.usage.Add(done.Usage)
	return out.emit(done)
}

// guard turns a panic of a stage into an error. A panic of the consumer passes through: it is
// not the engine's.
func (t *turn) guard(ctx context.Context, out *output, s stage) (done StageFinished, err error) {
	defer func() {
		if out.yielding {
			return
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.run(ctx, out)
}

package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"time"

	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Retriever finds passages. retrieval.Corpus is one.
type Retriever interface {
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
}

// ModelResolver finds the model that a key names, with the fallbacks of its stage. The error for an unknown
// model is an *llm.UnknownModelError. llm.Router implements it.
type ModelResolver interface {
	ResolveFor(stage, key string) (llm.Model, string, error)
}

// RerankerResolver finds the model that a key names, if it was made for reranking, else it returns an error.
// llm.Router implements it.
type RerankerResolver interface {
	ResolveReranker(key string) (llm.Reranker, string, error)
}

// Coverage knows which documents cannot be found yet. Both methods return sentences for users, which the
// server writes itself, and "" when there is nothing to say.
type Coverage interface {
	// Reading says that documents of a namespace are being read, and how far that has come.
	Reading(namespace string) string
	// Empty says that a namespace holds no documents, and how to add some.
	Empty(ctx context.Context, namespace string) string
}

// RewriteFunc makes a question standalone, given the messages before it, oldest first. It returns either the
// query, or a Candidate with its confidence, which the engine may accept.
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
	// Search looks for a text by its words, with the words of a conversation beside it and the filter
	// of this turn. What is looked for stands in the documents, and a dozen calls of an embedder would
	// cost more than they give.
	Search func(ctx context.Context, text string, beside []retrieval.WeightedTerm) (retrieval.Result, error)
}

// Config is what an Engine is made of. Zero fields mean the default, which is in brackets.
type Config struct {
	Retriever Retriever
	Models    ModelResolver
	Rerankers RerankerResolver       // nil: models that answer rerank
	Rewrite   RewriteFunc            // nil: the question is the query
	Read      ReadFunc               // nil: grounded models see the passages of the prompt alone
	Coverage  Coverage               // nil: nothing is known to be missing
	Tools     Toolbox                // that the server runs [none]
	OnRequest []string               // of those, the ones that only Options.MoreTools makes callable [none]
	Suggest   SuggestFunc            // nil: only models suggest questions
	Reader    ReaderFunc             // nil: the built-in reranker knows words alone
	Writes    func(tool string) bool // whether a tool changes something, so that the user confirms each call [none does]
	Prompts   *prompt.Set            // what models are told [the built-in ones]

	Defaults       Options                                   // [DefaultOptions]; Top 0 means that only Models is set
	Namespace      string                                    // of requests that name none ["default"]
	RerankFallback []string                                  // keys of the models that rerank, in this order, when another one fails [none]
	Fallback       string                                    // key of the model that answers when another one fails before its first token [none]
	Grounded       func(key string) bool                     // models that answer from llm.Evidence, not from the prompt [keys of "builtin"]
	Capabilities   func(key string) llm.Capabilities         // what a model takes [nothing but text]
	Window         func(ctx context.Context, key string) int // tokens that a model reads and writes together; 0 when that is not known [not known of any]
	PageImage      ImageFunc                                 // pictures of sources [none]
	Count          func(text string) int                     // counts tokens [llm.EstimateTokens]
	CountExactly   func(text string) int                     // counts tokens where a model's window is known [Count]
	Logger         *slog.Logger                              // for what does not fail the turn [none]

	MaxMessages      int           // of a request [1000]
	MaxRequestBytes  int           // of text in all messages [1 MiB]
	MaxTemplateBytes int           // of Options.PromptTemplate [8 KiB]
	MaxHistoryTokens int           // [4000]
	ContextTokens    int           // what any model reads and writes at most, and one of which nothing is known [128000]
	MaxSummaries     int           // kept for the next turns of their conversations [1000]
	Timeout          time.Duration // of a turn [10 min]
	RewriteTimeout   time.Duration // of a model that rewrites [8 s]
	SummaryTimeout   time.Duration // of a model that sums up [15 s]
	RerankTimeout    time.Duration // of a model that reranks [8 s]
	SuggestTimeout   time.Duration // [5 s]
	JudgeTimeout     time.Duration // of the model that judges citations [15 s]
}

// DefaultOptions returns the options of a turn without any settings.
func DefaultOptions() Options {
	return Options{
		Top: 3, Mode: retrieval.Hybrid, Temperature: 0.3, MaxOutputTokens: 1024,
		Rewrite: RewriteOptions{Threshold: 0.65},
	}
}

// Engine runs turns. Between them it keeps only summaries, which can be made again. It is safe for concurrent
// use.
type Engine struct {
	cfg       Config
	summaries *summaries
	secret    [32]byte // of codes with which users confirm calls
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
	if cfg.Prompts == nil {
		cfg.Prompts = prompt.BuiltIn()
	}
	if cfg.Namespace == "" {
		cfg.Namespace = "default"
	}
	orDefault(&cfg.MaxMessages, 1000)
	orDefault(&cfg.MaxRequestBytes, 1<<20)
	orDefault(&cfg.MaxTemplateBytes, MaxTemplate)
	orDefault(&cfg.MaxHistoryTokens, 4000)
	orDefault(&cfg.ContextTokens, 128_000)
	orDefault(&cfg.Timeout, 10*time.Minute)
	orDefault(&cfg.MaxSummaries, 1000)
	orDefault(&cfg.RewriteTimeout, 8*time.Second)
	orDefault(&cfg.SummaryTimeout, 15*time.Second)
	orDefault(&cfg.RerankTimeout, 8*time.Second)
	orDefault(&cfg.SuggestTimeout, 5*time.Second)
	orDefault(&cfg.JudgeTimeout, 15*time.Second)
	e := &Engine{cfg: cfg, summaries: newSummaries(cfg.MaxSummaries)}
	_, _ = rand.Read(e.secret[:]) // which never fails
	return e
}

func orDefault[N int | time.Duration](n *N, value N) {
	if *n == 0 {
		*n = value
	}
}

// Defaults returns the options on which adapters overlay a request.
func (e *Engine) Defaults() Options { return e.cfg.Defaults }

// Runner runs one turn. Engine, team.Team and turn.Runner implement it, each around the one before.
//
// The stream keeps the contract of the package. It can be ranged over once; breaking out of the range or
// cancelling ctx ends the turn. A Runner does not change req, and the caller must not change it
// before the stream has ended.
type Runner interface {
	Run(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// RunnerFunc is a function that is a Runner.
type RunnerFunc func(ctx context.Context, req *Request) iter.Seq2[Event, error]

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return f(ctx, req)
}

// Run runs one turn. Errors are *Error or have no kind, except that the error of a cancelled
// context is ctx.Err(), wrapped.
func (e *Engine) Run(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return e.events(ctx, req, (*turn).stages)
}

// Finder runs turns only as far as the passages from which an answer would be written, for measuring: it
// rewrites the question and reranks the passages as the options say, but does not answer.
func (e *Engine) Finder() Runner {
	return RunnerFunc(func(ctx context.Context, req *Request) iter.Seq2[Event, error] {
		return e.events(ctx, req, (*turn).findingStages)
	})
}

func (e *Engine) events(ctx context.Context, req *Request, stages func(*turn) []stage) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
		out := &output{yield: yield}
		t, err := e.begin(req)
		if err == nil {
			err = t.run(ctx, out, stages(t))
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
	req        Request
	model      resolved // that answers
	rewriter   resolved // its Model is nil where rules rewrite
	summarizer resolved // its Model is nil where nothing is summed up

	window   window // of the model that answers
	question Message
	pending  []Message // what follows it: calls of tools with their results
	asked    string    // the text of question
	quoted   []string  // client's system messages, oldest first
	older    []Message // what does not fit of the messages before the question
	history  []Message // what fits
	previous []string  // all questions before
	summary  string    // of older, or its beginning; "" for none

	query      QueryRewritten
	clarifying string // the question to ask back when the user's is ambiguous
	reading    string // what Coverage said before the search
	found      retrieval.Result
	missing    string // what Coverage says of the answer
	prompt     PromptBuilt
	sent       []retrieval.Passage // those that are in the prompt

	answer    string
	answering bool     // it goes on to an answer: see Engine.Find
	called    bool     // the client is to run tools
	suggested []string // by the model itself
	usage     llm.Usage
}

type stage struct {
	name Stage
	run  func(context.Context, *output) (StageFinished, error)
	when func() bool // nil: always
}

// findingStages are those that find the passages.
func (t *turn) findingStages() []stage {
	return []stage{
		{StageHistory, t.runHistory, nil},
		{StageSummarize, t.runSummarize, t.summarizes},
		{StageRewrite, t.runRewrite, t.searches},
		{StageClarify, t.runClarify, t.clarifies},
		{StageRetrieve, t.runRetrieve, func() bool { return t.searches() && t.answers() }},
		{StageRerank, t.runRerank, func() bool { return t.req.Options.Rerank && t.searches() && t.answers() }},
	}
}

func (t *turn) stages() []stage {
	t.answering = true
	return append(t.findingStages(),
		stage{StagePrompt, t.runPrompt, t.answers},
		stage{StageGenerate, t.runGenerate, t.answers},
		stage{StageSuggest, t.runSuggest, func() bool { return t.req.Options.FollowUps && !t.called && t.answers() }})
}

func (t *turn) run(ctx context.Context, out *output, stages []stage) error {
	start := time.Now()
	for _, s := range stages {
		if s.when != nil && !s.when() {
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
	var done StageFinished
	start := time.Now()
	err := t.guard(ctx, out, s, &done)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("stage %s: %w", s.name, err)
	}
	done.Stage, done.Duration = s.name, time.Since(start)
	return t.finishStage(out, &done)
}

func (t *turn) finishStage(out *output, done *StageFinished) error {
	t.usage = t.usage.Add(done.Usage)
	return out.emit(*done)
}

// guard turns a panic of a stage into an error. A panic of the consumer passes through: it is
// not the engine's.
func (t *turn) guard(ctx context.Context, out *output, s stage, done *StageFinished) (err error) {
	defer func() {
		if out.yielding {
			return
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	*done, err = s.run(ctx, out)
	return err
}

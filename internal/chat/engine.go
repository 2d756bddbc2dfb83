package chat

import (
	"cmp"
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
	"parley/internal/trace"
)

// Retriever finds passages. retrieval.Corpus implements it.
type Retriever interface {
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
}

// ModelResolver returns the model that a key names, with the fallbacks of the stage, and the provider's name
// of the model. The error for an unknown model is an *llm.UnknownModelError. llm.Router implements it.
type ModelResolver interface {
	ResolveFor(stage, key string) (llm.Model, string, error)
}

// RerankerResolver returns the reranking model that a key names, and the provider's name of the model. The
// error is an *llm.UnknownModelError if the model was not made for reranking; an answering model with the
// same key then reranks. llm.Router implements it.
type RerankerResolver interface {
	ResolveReranker(key string) (llm.Reranker, string, error)
}

// Coverage reports which documents can be found, and which cannot be found yet. Reading and Empty return
// sentences for users in the server's own words, or "" when there is nothing to report.
type Coverage interface {
	// Reading reports the progress while documents of a namespace are still being read.
	Reading(namespace string) string
	// Empty reports that a namespace has no documents, and how to add some.
	Empty(ctx context.Context, namespace string) string
	// Documents returns the names of up to limit documents that a filter admits, and the number of all that
	// it admits. It ignores the filter's Where.
	Documents(ctx context.Context, f retrieval.Filter, limit int) (names []string, total int)
}

// RewriteFunc makes a question standalone, given the messages before it, oldest first. It returns either
// a Query, or a Candidate with a confidence, which the engine may accept.
type RewriteFunc func(ctx context.Context, history []Message, question string) QueryRewritten

// SuggestFunc proposes questions that the user may ask next, best first.
type SuggestFunc func(ctx context.Context, in SuggestInput) ([]string, error)

// SuggestInput is the input of a SuggestFunc.
type SuggestInput struct {
	Question string // as the user asked it
	Query    string // the standalone form of the question
	Answer   string
	Passages []retrieval.Passage
	Previous []string // questions asked before, oldest first
	// Search searches by the words of text, together with weighted words of the conversation, under the
	// filter of this turn. It uses no embeddings: suggestions consist of words of the documents, and a
	// dozen calls to an embedder would cost more than they gain.
	Search func(ctx context.Context, text string, beside []retrieval.WeightedTerm) (retrieval.Result, error)
}

// Config configures an Engine. A zero field means the default in brackets.
type Config struct {
	Retriever Retriever
	Models    ModelResolver
	Rerankers RerankerResolver          // [answering models rerank]
	Rewrite   RewriteFunc               // [the question is the query]
	Read      ReadFunc                  // [grounded models see only the passages of the prompt]
	Coverage  Coverage                  // [nothing is reported missing]
	Tools     Toolbox                   // tools that the server runs [none]
	OnRequest []string                  // names of tools that models may call only if Options.MoreTools lists them [none]
	Suggest   SuggestFunc               // [only models suggest questions]
	Reader    ReaderFunc                // [the built-in reranker compares words only]
	SmallTalk func(message string) bool // reports whether a message, such as a greeting, can be answered without a document [no message can]
	Writes    func(tool string) bool    // reports whether a tool changes something, so that the user must confirm each call [no tool does]
	Prompts   *prompt.Set               // the prompts for models [the built-in ones]

	// Instructions returns the instructions for models that answer from a namespace, or "" for none [none].
	Instructions func(ctx context.Context, namespace string) (string, error)

	Defaults       Options                                   // [DefaultOptions]; if Top is 0, only Models is used
	Namespace      string                                    // for requests that name none ["default"]
	RerankFallback []string                                  // keys of the models that are tried, in this order, when the chosen reranking model fails [none]
	Fallback       string                                    // key of the model that answers when the chosen one fails before its first token [none]
	Grounded       func(key string) bool                     // reports whether a model answers from llm.Evidence, not from the prompt [keys of "builtin"]
	Capabilities   func(key string) llm.Capabilities         // the kinds of input that a model accepts [only text]
	Window         func(ctx context.Context, key string) int // tokens of a model's context, input and output together; 0 when unknown [always unknown]
	PageImage      ImageFunc                                 // renders pages for vision models [no pictures]
	Count          func(text string) int                     // counts tokens [llm.EstimateTokens]
	CountExactly   func(text string) int                     // counts tokens when the model's window is known [Count]
	Logger         *slog.Logger                              // for problems that do not fail the turn [none]

	MaxMessages      int           // of a request [1000]
	MaxRequestBytes  int           // of text in all messages [1 MiB]
	MaxTemplateBytes int           // of Options.PromptTemplate [8 KiB]
	MaxHistoryTokens int           // for the conversation in the prompt [4000]
	ContextTokens    int           // upper limit of every model's window, and the assumed window of a model whose own is unknown [128000]
	MaxSummaries     int           // kept for later turns of their conversations [1000]
	Timeout          time.Duration // for a whole turn [10 min]
	RewriteTimeout   time.Duration // for a model that rewrites [8 s]
	SummaryTimeout   time.Duration // for a model that summarizes [15 s]
	RerankTimeout    time.Duration // for a model that reranks [8 s]
	SuggestTimeout   time.Duration // for a SuggestFunc [5 s]
	JudgeTimeout     time.Duration // for a model that judges citations [15 s]
}

// DefaultOptions returns the options that apply without any settings.
func DefaultOptions() Options {
	return Options{
		Top: 3, Mode: retrieval.Hybrid, Temperature: 0.3, MaxOutputTokens: 1024,
		Rewrite: RewriteOptions{Threshold: 0.65},
	}
}

// Engine runs turns. Between turns it keeps only a cache of summaries. It is safe for concurrent use.
type Engine struct {
	cfg       Config
	summaries *summaries
	secret    [32]byte // key of the MACs with which users confirm tool calls
}

// NewEngine returns an engine; Retriever and Models are required.
func NewEngine(cfg Config) *Engine {
	if cfg.Defaults.Top == 0 {
		models := cfg.Defaults.Models
		cfg.Defaults = DefaultOptions()
		cfg.Defaults.Models = models
	}
	if cfg.Grounded == nil {
		cfg.Grounded = IsBuiltin
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
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.MaxMessages = cmp.Or(cfg.MaxMessages, 1000)
	cfg.MaxRequestBytes = cmp.Or(cfg.MaxRequestBytes, 1<<20)
	cfg.MaxTemplateBytes = cmp.Or(cfg.MaxTemplateBytes, MaxTemplate)
	cfg.MaxHistoryTokens = cmp.Or(cfg.MaxHistoryTokens, 4000)
	cfg.ContextTokens = cmp.Or(cfg.ContextTokens, 128_000)
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Minute)
	cfg.MaxSummaries = cmp.Or(cfg.MaxSummaries, 1000)
	cfg.RewriteTimeout = cmp.Or(cfg.RewriteTimeout, 8*time.Second)
	cfg.SummaryTimeout = cmp.Or(cfg.SummaryTimeout, 15*time.Second)
	cfg.RerankTimeout = cmp.Or(cfg.RerankTimeout, 8*time.Second)
	cfg.SuggestTimeout = cmp.Or(cfg.SuggestTimeout, 5*time.Second)
	cfg.JudgeTimeout = cmp.Or(cfg.JudgeTimeout, 15*time.Second)
	e := &Engine{cfg: cfg, summaries: newSummaries(cfg.MaxSummaries)}
	_, _ = rand.Read(e.secret[:]) // rand.Read never fails
	return e
}

// Defaults returns the default options, which adapters overlay with the options of a request.
func (e *Engine) Defaults() Options { return e.cfg.Defaults }

// Runner runs one turn. Engine, team.Team and turn.Runner implement it; each wraps the one before.
//
// The stream follows the contract in the package comment. It can be ranged over once; breaking out of the
// range or cancelling ctx ends the turn. A Runner must not change req, and the caller must not change it
// before the stream ends.
type Runner interface {
	Run(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// RunnerFunc is a function that implements Runner.
type RunnerFunc func(ctx context.Context, req *Request) iter.Seq2[Event, error]

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return f(ctx, req)
}

// Run runs one turn. An error is an *Error, or has the kind Internal; if ctx was cancelled, the error
// wraps ctx.Err().
func (e *Engine) Run(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return e.events(ctx, req, (*turn).stages)
}

// Finder returns a Runner for measurements that stops before the answer: it rewrites the question and
// retrieves and reranks passages as the options say.
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
			yield(nil, explain(ctx, err))
		}
	}
}

// errLeft means that the consumer broke out of the range.
var errLeft = errors.New("consumer left")

// output is the engine's end of the stream.
type output struct {
	yield    func(Event, error) bool
	yielding bool // the consumer's code is running
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

// turn is the state of one run. Each stage reads what earlier stages stored here.
type turn struct {
	*Engine
	req        Request
	model      resolved // the model that answers
	rewriter   resolved // its Model is nil when rules rewrite
	summarizer resolved // its Model is nil when nothing is summarized

	window   window // of the answering model
	question Message
	pending  []Message // the messages after the question: tool calls with their results
	asked    string    // the text of question
	quoted   []string  // the client's system messages, oldest first
	older    []Message // messages before the question that do not fit
	history  []Message // messages before the question that fit
	previous []string  // all earlier questions
	summary  string    // summary of older, or of its beginning; "" for none

	query      QueryRewritten
	clarifying string // what to ask when the user's question is ambiguous; "" for nothing
	reading    string // what Coverage reported before the search
	found      retrieval.Result
	missing    string // what Coverage reports for the answer
	prompt     PromptBuilt
	sent       []retrieval.Passage // the passages that the prompt contains

	answer    string
	answering bool     // the turn will answer; false for Engine.Finder
	called    bool     // the model called a tool that the client must run
	suggested []string // follow-ups that the model wrote
	usage     llm.Usage
}

type stage struct {
	name Stage
	run  func(context.Context, *output) (StageFinished, error)
	when func() bool // nil: always
}

// findingStages returns the stages up to the one that selects the passages.
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
		stage{StageSuggest, t.runSuggest, t.suggests})
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
	ctx, span := trace.Stage(ctx, string(s.name), t.req.Namespace)
	err := t.guard(ctx, out, s, &done)
	if err == nil {
		err = ctx.Err()
	}
	span.End(err)
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

// guard runs a stage and turns a panic in it into an error. It lets a panic in the consumer's code through,
// since that is not the engine's fault.
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

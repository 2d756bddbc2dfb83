package chat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// The limits of options. Adapters apply the exported ones themselves: they either reduce a larger value to
// the limit or refuse it, naming the option as their protocol does.
const (
	MaxTop           = 50
	MaxOutputTokens  = 32_768
	MaxNameBytes     = 256 // of a namespace or category
	MaxTurns         = 1000
	MaxSummaryInput  = 100_000 // tokens
	MaxSummaryOutput = 4000    // tokens; prevents a summary from filling the prompt
	MaxTemperature   = 2
	MaxTemplate      = 8 << 10 // bytes
	maxStopBytes     = 256
	maxSchemaBytes   = 64 << 10
)

// builtinProvider is the beginning of the keys of models that answer from evidence, without a prompt.
const builtinProvider = "builtin:"

// efforts are the values of Options.Effort.
var efforts = []string{"", "minimal", "low", "medium", "high"}

func isBadStop(s string) bool { return s == "" || len(s) > maxStopBytes || !utf8.ValidString(s) }

// IsBuiltin reports whether a key, "provider:model", names a built-in model. Such a model answers from
// evidence, without a prompt.
func IsBuiltin(key string) bool { return strings.HasPrefix(key, builtinProvider) }

// begin checks a request and resolves its models, before any other work. The turn is not nil even on an error.
func (e *Engine) begin(req *Request) (*turn, error) {
	t := &turn{Engine: e, req: *req}
	t.req.Namespace = cmp.Or(t.req.Namespace, e.cfg.Namespace)
	if err := t.checkMessages(); err != nil {
		return t, err
	}
	if err := t.checkOptions(&t.req.Options); err != nil {
		return t, err
	}
	t.take(t.req.Material)
	return t, t.findModels()
}

func invalid(format string, args ...any) error {
	return &Error{Kind: Invalid, Msg: fmt.Sprintf(format, args...)}
}

// checkMessages checks the messages and finds the question, which is the last user message. It ignores
// later messages unless they end with the results of tools, from which the turn continues.
func (t *turn) checkMessages() error {
	messages := t.req.Messages
	if len(messages) > t.cfg.MaxMessages {
		return invalid("There are more than %d messages.", t.cfg.MaxMessages)
	}
	last, size := -1, 0
	for i, m := range messages {
		switch m.Role {
		case llm.User:
			last = i
		case llm.Assistant, llm.System, llm.ToolRole:
		default:
			return invalid("Message %d has a role other than user, assistant, system or tool.", i+1)
		}
		for _, c := range m.ToolCalls {
			size += len(c.Arguments)
		}
		for _, p := range m.Parts {
			size += len(p.Text)
			if !utf8.ValidString(p.Text) {
				return invalid("Message %d is not valid UTF-8.", i+1)
			}
			if p.Image != "" && !strings.HasPrefix(p.Image, "data:image/") && !strings.HasPrefix(p.Image, "https://") {
				return invalid("Message %d has an image that is neither a data: nor an https: URL.", i+1)
			}
		}
	}
	if size > t.cfg.MaxRequestBytes {
		return &Error{Kind: TooLarge, Msg: fmt.Sprintf("The messages are longer than %d bytes.", t.cfg.MaxRequestBytes)}
	}
	if last < 0 {
		return invalid("There is no user message to answer.")
	}
	if err := checkCalls(messages); err != nil {
		return err
	}
	t.question, t.pending = messages[last], pending(messages[last+1:])
	t.asked = strings.TrimSpace(t.question.Text())
	t.req.Messages = messages[:last]
	if t.asked == "" {
		return invalid("The last user message is empty.")
	}
	if err := CheckQuestion(t.asked); err != nil {
		return err
	}
	return checkAnswered(t.pending)
}

// MaxQuestion is the maximum length in bytes of a question in any protocol, and of a search text outside
// of a turn.
const MaxQuestion = 32 << 10

// CheckQuestion returns an *Error of kind TooLarge for a question longer than MaxQuestion. Every route
// that takes a question or a search text must call it before it does any work.
func CheckQuestion(question string) error {
	if len(question) <= MaxQuestion {
		return nil
	}
	return &Error{Kind: TooLarge, Msg: fmt.Sprintf("The question is longer than %d bytes.", MaxQuestion)}
}

// checkOptions sets Top and Mode to their defaults if they are unset, and refuses values out of range.
func (t *turn) checkOptions(o *Options) error {
	o.Top = cmp.Or(o.Top, t.cfg.Defaults.Top)
	o.Mode = cmp.Or(o.Mode, t.cfg.Defaults.Mode)
	switch {
	case o.Top < 1 || o.Top > MaxTop:
		return invalid("The number of passages is not between 1 and %d.", MaxTop)
	case o.Mode != retrieval.Text && o.Mode != retrieval.Vectors && o.Mode != retrieval.Hybrid:
		return invalid("The retrieval mode is not text, vectors or hybrid.")
	case !within(o.MinScore, 0, 1):
		return invalid("The minimum score is not between 0 and 1.")
	case !within(o.MinRerankScore, -math.MaxFloat64, math.MaxFloat64):
		return invalid("The minimum reranker score is not a number.")
	case !within(o.Temperature, 0, MaxTemperature):
		return invalid("The temperature is not between 0 and 2.")
	case !within(o.TopP, 0, 1):
		return invalid("The value of top_p is not between 0 and 1.")
	case o.MaxOutputTokens < 0 || o.MaxOutputTokens > MaxOutputTokens:
		return invalid("The number of output tokens is not between 0 and %d.", MaxOutputTokens)
	case !within(o.Rewrite.Threshold, 0, 1):
		return invalid("The minimum confidence of a rewritten question is not between 0 and 1.")
	case min(o.Rewrite.Turns, o.Summary.Turns) < NoTurns || o.Rewrite.Gist < 0 ||
		max(o.Rewrite.Turns, o.Rewrite.Gist, o.Summary.Turns) > MaxTurns:
		return invalid("The number of turns of the conversation is not between 0 and %d.", MaxTurns)
	case o.Summary.Input < 0 || o.Summary.Input > MaxSummaryInput:
		return invalid("The number of tokens to summarize is not between 0 and %d.", MaxSummaryInput)
	case o.Summary.Output < 0 || o.Summary.Output > MaxSummaryOutput:
		return invalid("The maximum length of the summary, in tokens, is not between 0 and %d.", MaxSummaryOutput)
	case o.Images != ImagesOff && o.Images != TextAndImages && o.Images != ImagesOnly:
		return invalid("The image input is not textAndImages or images.")
	case len(o.PromptTemplate) > t.cfg.MaxTemplateBytes:
		return invalid("The prompt template is longer than %d bytes.", t.cfg.MaxTemplateBytes)
	case !utf8.ValidString(o.PromptTemplate):
		return invalid("The prompt template is not valid UTF-8.")
	case !t.cfg.Prompts.Has(o.PromptDomain):
		return invalid("There is no prompt domain with that name. The domains are: %s.", strings.Join(t.cfg.Prompts.Domains(), ", "))
	case len(o.Stop) > llm.MaxStop || slices.ContainsFunc(o.Stop, isBadStop):
		return invalid("There are more than %d stop sequences, or one is empty, longer than %d bytes or not valid UTF-8.", llm.MaxStop, maxStopBytes)
	case !slices.Contains(efforts, o.Effort):
		return invalid("The reasoning effort is not minimal, low, medium or high.")
	case len(o.Schema) > maxSchemaBytes || o.Schema != nil && !isObject(o.Schema):
		return invalid("The schema of the answer is not a JSON object, or is longer than %d bytes.", maxSchemaBytes)
	case max(len(t.req.Namespace), len(o.IncludeCategory), len(o.ExcludeCategory)) > MaxNameBytes:
		return invalid("A namespace or category is longer than %d bytes.", MaxNameBytes)
	}
	return checkTools(o)
}

// within reports whether low <= x <= high. It is false for NaN.
func within(x, low, high float64) bool { return x >= low && x <= high }

// filter returns the filter that admits the documents that the caller may see and the request asks for.
func (t *turn) filter() retrieval.Filter {
	o := &t.req.Options
	return retrieval.Filter{
		Principal:       t.req.Principal,
		Namespace:       t.req.Namespace,
		IncludeCategory: o.IncludeCategory,
		ExcludeCategory: o.ExcludeCategory,
		RequireUser:     o.RequireUser,
		RequireGroup:    o.RequireGroup,
		Within:          t.req.Within,
		Where:           o.Where,
	}
}

// Seen returns a client's text without invisible characters (see text.Seen).
func Seen(s string) string { return text.Seen(s) }

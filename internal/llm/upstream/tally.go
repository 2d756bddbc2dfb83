package upstream

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"strings"

	"parley/internal/llm"
)

// Limits of what an upstream sends in one completion.
const (
	bytesPerToken    = 32      // generous: four are usual, and runs of blanks are long
	defaultMaxTokens = 32_768  // where the request sets no limit
	maxReasoning     = 4 << 20 // bytes
	maxToolArguments = 1 << 20 // bytes, of all calls
	MaxToolCalls     = 128
)

// Tally counts the output of a completion, to enforce its limits and to estimate its usage.
type Tally struct {
	Requested string // the requested model, safe for logs and headers

	input     int // estimated
	textLimit int
	output    llm.TokenEstimate
	thought   llm.TokenEstimate
	text      int // bytes
	reasoning int // bytes
	arguments int // bytes
	progress  Progress
}

// NewTally returns the tally of one completion.
func NewTally(req llm.Request) Tally {
	tokens := req.MaxOutputTokens
	if tokens <= 0 {
		tokens = defaultMaxTokens
	}
	return Tally{
		Requested: llm.CleanName(req.Model),
		input:     llm.EstimateInput(req),
		textLimit: tokens * bytesPerToken,
	}
}

// Add counts a chunk's text and reasoning. The error says that the completion is too long.
func (t *Tally) Add(c *llm.Chunk) error {
	t.text += len(c.Text)
	t.reasoning += len(c.Reasoning)
	t.output.Add(c.Text)
	t.thought.Add(c.Reasoning)
	t.hear(c.Text)
	t.hear(c.Reasoning)
	return t.check()
}

// AddArguments counts a piece of a tool call's arguments.
func (t *Tally) AddArguments(s string) error {
	t.arguments += len(s)
	t.output.Add(s)
	t.hear(s)
	return t.check()
}

// AddHidden counts output that only the upstream itself reads, such as a signature. It shares the
// limit of arguments and is not part of the estimate.
func (t *Tally) AddHidden(s string) error {
	t.arguments += len(s)
	t.hear(s)
	return t.check()
}

// Ping counts an event that only shows that the upstream is working.
func (t *Tally) Ping() { t.progress.Pings++ }

// Progress is a method of Decoder.
func (t *Tally) Progress() Progress { return t.progress }

// hear counts a piece of output that is not blank: a model that only sends blanks is treated as silent.
func (t *Tally) hear(s string) {
	if strings.TrimSpace(s) != "" {
		t.progress.Said++
	}
}

func (t *Tally) check() error {
	if t.text > t.textLimit || t.reasoning > maxReasoning || t.arguments > maxToolArguments {
		return &llm.Error{Err: errors.New("the completion is longer than the request allows")}
	}
	return nil
}

// Calls are the tool calls of a completion from an upstream that sends each in one piece.
type Calls []llm.ToolCall

// Add counts a call and appends it. A call without an id gets one, as Gemini and older versions of Ollama send none.
func (c *Calls) Add(t *Tally, id, name, arguments, signature string) error {
	if len(*c) == MaxToolCalls {
		return &llm.Error{Err: errors.New("the completion calls too many tools")}
	}
	if arguments == "" || arguments == "null" {
		arguments = "{}"
	}
	id = cmp.Or(llm.CleanName(id), fmt.Sprintf("call_%d", len(*c)+1))
	*c = append(*c, llm.ToolCall{ID: id, Name: llm.CleanName(name), Arguments: arguments, Signature: signature})
	return t.AddArguments(arguments + signature)
}

// Usage returns the reported usage, or an estimate if that is nil or implausible.
func (t *Tally) Usage(reported *llm.Usage) *llm.Usage {
	if reported != nil && Plausible(*reported) {
		return reported
	}
	thought := t.thought.Tokens()
	return &llm.Usage{Input: t.input, Output: t.output.Tokens() + thought, Reasoning: thought, Estimated: true}
}

// maxUsage is more tokens than any model can read or write in one completion.
const maxUsage = 20_000_000

// Plausible reports whether one completion can have had this usage.
func Plausible(u llm.Usage) bool {
	return u.Input >= 0 && u.Input <= maxUsage && u.Output >= 0 && u.Output <= maxUsage &&
		u.Cached >= 0 && u.Cached <= u.Input && u.Reasoning >= 0 && u.Reasoning <= u.Output &&
		u.Input+u.Output > 0
}

// DataURI returns the media type of a data: URI (RFC 2397) and its content in base64, the form
// in which every upstream takes images. ok is false for any other URL.
func DataURI(s string) (kind, base64Data string, ok bool) {
	rest, ok := strings.CutPrefix(s, "data:")
	if !ok {
		return "", "", false
	}
	head, body, ok := strings.Cut(rest, ",")
	if !ok {
		return "", "", false
	}
	head, ok = strings.CutSuffix(head, ";base64")
	if !ok {
		return "", "", false
	}
	kind, _, err := mime.ParseMediaType(head)
	if err != nil {
		return "", "", false
	}
	if _, err := base64.StdEncoding.DecodeString(body); err != nil {
		return "", "", false
	}
	return kind, body, true
}

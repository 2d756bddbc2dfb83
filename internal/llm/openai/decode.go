package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"parley/internal/llm"
)

// The limits of what an upstream may send in one completion.
const (
	bytesPerToken    = 32      // generous: four are usual, and runs of blanks are long
	defaultMaxTokens = 32_768  // where the request sets no limit
	maxReasoning     = 4 << 20 // bytes
	maxToolArguments = 1 << 20 // bytes, of all calls
	maxToolCalls     = 128
	maxVendor        = 16 << 10 // bytes of one field that is passed through
)

type wireChunk struct {
	ID                  string          `json:"id"`
	Model               string          `json:"model"`
	SystemFingerprint   string          `json:"system_fingerprint"`
	Choices             []wireChoice    `json:"choices"`
	Usage               json.RawMessage `json:"usage"`
	PromptFilterResults json.RawMessage `json:"prompt_filter_results"`
	Error               json.RawMessage `json:"error"`
}

type wireChoice struct {
	Index                int             `json:"index"`
	Delta                wireDelta       `json:"delta"`
	FinishReason         string          `json:"finish_reason"`
	ContentFilterResults json.RawMessage `json:"content_filter_results"`
}

type wireDelta struct {
	Content          string          `json:"content"`
	Refusal          string          `json:"refusal"`
	Reasoning        string          `json:"reasoning"`         // OpenRouter
	ReasoningContent string          `json:"reasoning_content"` // DeepSeek, vLLM
	ToolCalls        []wireToolDelta `json:"tool_calls"`
}

type wireToolDelta struct {
	Index    int          `json:"index"`
	ID       string       `json:"id"`
	Function wireCallBody `json:"function"`
}

// decoder turns the events of one stream into chunks.
type decoder struct {
	shape     shape
	redact    func(text []byte) string
	requested string
	input     int // estimated, for an upstream that reports no usage
	textLimit int

	named     bool        // a chunk with Model was given
	vendor    *llm.Vendor // of chunks that came before it
	finished  bool
	usage     *llm.Usage
	calls     []llm.ToolCall
	output    llm.TokenEstimate
	text      int // bytes
	reasoning int // bytes
	arguments int // bytes
}

func newDecoder(req llm.Request, redact func([]byte) string) *decoder {
	tokens := req.MaxOutputTokens
	if tokens <= 0 {
		tokens = defaultMaxTokens
	}
	return &decoder{
		redact:    redact,
		requested: llm.CleanName(req.Model),
		input:     llm.EstimateInput(req),
		textLimit: tokens * bytesPerToken,
	}
}

// decode returns the chunk for one event; ok is false when the event gives none.
func (d *decoder) decode(data []byte) (c llm.Chunk, ok bool, err error) {
	if text, ok := d.shape.match(data); ok {
		c.Text = text
		return c, true, d.count(c)
	}
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return c, false, &llm.Error{Retryable: true, Err: fmt.Errorf("decode event of the completion: %w", syntaxOnly(err))}
	}
	if len(w.Error) > 0 && string(w.Error) != "null" {
		e := classify(data)
		e.Err = fmt.Errorf("the upstream broke off: %s", d.redact(w.Error))
		return c, false, e
	}
	if u := readUsage(w.Usage); u != nil {
		d.usage = u
	}
	c, err = d.chunk(&w)
	if err != nil {
		return c, false, err
	}
	d.name(&c, &w)
	if c.Text != "" && d.named {
		d.shape.learn(data, &w)
	}
	ok = c.Model != "" || c.Text != "" || c.Reasoning != "" || c.FinishReason != "" || c.Vendor != nil
	return c, ok && d.named, d.count(c)
}

// syntaxOnly drops what an error of encoding/json quotes of the input.
func syntaxOnly(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a JSON %s", e.Field, e.Value)
	}
	return err
}

// chunk reads the first choice; there is no other one, unless the upstream has its own ideas.
func (d *decoder) chunk(w *wireChunk) (c llm.Chunk, err error) {
	if len(w.Choices) == 0 || w.Choices[0].Index != 0 {
		return c, nil
	}
	choice := &w.Choices[0]
	c.Text = choice.Delta.Content + choice.Delta.Refusal
	c.Reasoning = choice.Delta.ReasoningContent
	if c.Reasoning == "" {
		c.Reasoning = choice.Delta.Reasoning
	}
	if err := d.assemble(choice.Delta.ToolCalls); err != nil {
		return c, err
	}
	if r := choice.FinishReason; r != "" && !d.finished {
		d.finished = true
		c.FinishReason = finishReason(r)
		c.ToolCalls = d.calls
	}
	if f := choice.ContentFilterResults; present(f) && string(f) != "{}" {
		c.Vendor = &llm.Vendor{ContentFilter: f}
	}
	return c, nil
}

func present(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= maxVendor && string(raw) != "null"
}

// finishReason maps what servers say to the words of llm.Chunk.
func finishReason(r string) string {
	switch r {
	case "length", "max_tokens":
		return "length"
	case "tool_calls", "function_call":
		return "tool_calls"
	case "content_filter":
		return "content_filter"
	}
	return "stop"
}

// assemble adds the pieces of tool calls, which come in deltas by index.
func (d *decoder) assemble(deltas []wireToolDelta) error {
	for _, t := range deltas {
		if t.Index < 0 || t.Index > len(d.calls) || t.Index >= maxToolCalls {
			return &llm.Error{Err: fmt.Errorf("tool call %d of the completion is out of order", t.Index)}
		}
		if t.Index == len(d.calls) {
			d.calls = append(d.calls, llm.ToolCall{})
		}
		call := &d.calls[t.Index]
		if t.ID != "" {
			call.ID = llm.CleanName(t.ID)
		}
		call.Name = llm.CleanName(call.Name + t.Function.Name)
		call.Arguments += t.Function.Arguments
		d.arguments += len(t.Function.Arguments)
	}
	return nil
}

// name puts the model and the vendor's fields on the first chunk that has a model or a text.
// Azure OpenAI begins with an event that has neither, only the filter's verdict on the prompt.
func (d *decoder) name(c *llm.Chunk, w *wireChunk) {
	if d.named {
		return
	}
	if d.vendor == nil {
		d.vendor = &llm.Vendor{}
	}
	if w.ID != "" {
		d.vendor.ID = llm.CleanName(w.ID)
	}
	if w.SystemFingerprint != "" {
		d.vendor.SystemFingerprint = llm.CleanName(w.SystemFingerprint)
	}
	if present(w.PromptFilterResults) {
		d.vendor.PromptFilterResults = w.PromptFilterResults
	}
	c.Model = llm.CleanName(w.Model)
	if c.Model == "" && c.Text == "" && c.Reasoning == "" && c.FinishReason == "" {
		return
	}
	if c.Model == "" {
		c.Model = d.requested
	}
	if c.Vendor != nil {
		d.vendor.ContentFilter = c.Vendor.ContentFilter
	}
	c.Vendor, d.named = d.vendor, true
}

// count holds the completion to its limits.
func (d *decoder) count(c llm.Chunk) error {
	d.text += len(c.Text)
	d.reasoning += len(c.Reasoning)
	d.output.Add(c.Text)
	d.output.Add(c.Reasoning)
	if d.text > d.textLimit || d.reasoning > maxReasoning || d.arguments > maxToolArguments {
		return &llm.Error{Err: errors.New("the completion is longer than the request allows")}
	}
	return nil
}

// ended judges a stream that ended without [DONE].
func (d *decoder) ended() error {
	if d.finished {
		return nil
	}
	return &llm.Error{Retryable: true, Err: errors.New("the completion was cut off")}
}

// rest returns the last chunk: the usage, and what an upstream without manners left out.
func (d *decoder) rest() llm.Chunk {
	c := llm.Chunk{Usage: d.usage}
	if c.Usage == nil {
		c.Usage = &llm.Usage{Input: d.input, Output: d.output.Tokens(), Estimated: true}
	}
	if !d.finished {
		c.FinishReason, c.ToolCalls = "stop", d.calls
	}
	if !d.named {
		c.Model, c.Vendor = d.requested, d.vendor
	}
	return c
}

// maxUsage is above what any model can read or write in one completion.
const maxUsage = 20_000_000

// readUsage returns nil for a usage that is missing, or that no completion can have had.
func readUsage(raw json.RawMessage) *llm.Usage {
	if len(raw) == 0 {
		return nil
	}
	var w *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		InDetails  struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		OutDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if json.Unmarshal(raw, &w) != nil || w == nil {
		return nil
	}
	u := llm.Usage{Input: w.Prompt, Output: w.Completion, Cached: w.InDetails.Cached, Reasoning: w.OutDetails.Reasoning}
	sane := u.Input >= 0 && u.Input <= maxUsage && u.Output >= 0 && u.Output <= maxUsage &&
		u.Cached >= 0 && u.Cached <= u.Input && u.Reasoning >= 0 && u.Reasoning <= u.Output
	if !sane || u.Input+u.Output == 0 {
		return nil
	}
	return &u
}

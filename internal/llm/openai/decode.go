package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// maxVendor limits a passed-through field, in bytes.
const maxVendor = 16 << 10

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
	shape  shape
	tally  upstream.Tally
	failed func(object []byte) *llm.Error

	named    bool        // a chunk with Model was returned
	vendor   *llm.Vendor // of earlier chunks
	finished bool
	usage    *llm.Usage
	calls    []llm.ToolCall
	thoughts strings.Builder // text of reasoning_content
}

func newDecoder(req llm.Request, failed func([]byte) *llm.Error) *decoder {
	return &decoder{tally: upstream.NewTally(req), failed: failed}
}

// Decode implements upstream.Decoder.
func (d *decoder) Decode(data []byte) (c llm.Chunk, ok, done bool, err error) {
	if text, ok := d.shape.match(data); ok {
		c.Text = text
		return c, true, false, d.tally.Add(&c)
	}
	if bytes.Equal(data, []byte("[DONE]")) {
		return c, false, true, nil
	}
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return c, false, false, upstream.Undecodable(err)
	}
	if upstream.HasError(w.Error) {
		return c, false, false, d.failed(data)
	}
	if u := readUsage(w.Usage); u != nil {
		d.usage = u
	}
	c, err = d.chunk(&w)
	if err != nil {
		return c, false, false, err
	}
	d.name(&c, &w)
	if c.Text != "" && d.named {
		d.shape.teach(data, &w)
	}
	ok = c.Model != "" || c.Text != "" || c.Reasoning != "" || c.FinishReason != "" || c.Vendor != nil
	return c, ok && d.named, false, d.tally.Add(&c)
}

// chunk reads the first choice. Requests never ask for more.
func (d *decoder) chunk(w *wireChunk) (c llm.Chunk, err error) {
	if len(w.Choices) == 0 || w.Choices[0].Index != 0 {
		return c, nil
	}
	choice := &w.Choices[0]
	c.Text = choice.Delta.Content + choice.Delta.Refusal
	c.Reasoning = choice.Delta.ReasoningContent
	d.thoughts.WriteString(c.Reasoning)
	c.Reasoning = cmp.Or(c.Reasoning, choice.Delta.Reasoning)
	if err := d.assemble(choice.Delta.ToolCalls); err != nil {
		return c, err
	}
	if r := choice.FinishReason; r != "" && !d.finished {
		d.finished = true
		c.FinishReason = finishReason(r)
		c.ToolCalls = d.called()
	}
	if f := choice.ContentFilterResults; present(f) && string(f) != "{}" {
		c.Vendor = &llm.Vendor{ContentFilter: f}
	}
	return c, nil
}

func present(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= maxVendor && string(raw) != "null"
}

// finishReason maps the reasons of servers to those of llm.Chunk.
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

// assemble adds pieces of tool calls, which arrive in deltas with an index.
func (d *decoder) assemble(deltas []wireToolDelta) error {
	for _, t := range deltas {
		if t.Index < 0 || t.Index > len(d.calls) || t.Index >= upstream.MaxToolCalls {
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
		if err := d.tally.AddArguments(t.Function.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// called returns the calls. The signature of the first one is the reasoning that led to them.
func (d *decoder) called() []llm.ToolCall {
	if len(d.calls) > 0 && d.thoughts.Len() > 0 {
		d.calls[0].Signature = reasoned + d.thoughts.String()
	}
	return d.calls
}

// name adds the model and the vendor's fields to the first chunk with a model or a text. Azure OpenAI
// begins with an event that has neither, only the filter's result for the prompt.
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
	c.Model = cmp.Or(c.Model, d.tally.Requested)
	if c.Vendor != nil {
		d.vendor.ContentFilter = c.Vendor.ContentFilter
	}
	c.Vendor, d.named = d.vendor, true
}

// Progress implements upstream.Decoder.
func (d *decoder) Progress() upstream.Progress { return d.tally.Progress() }

// Ended implements upstream.Decoder. Without [DONE], a finish reason must have arrived.
func (d *decoder) Ended() error {
	if d.finished {
		return nil
	}
	return upstream.Cut()
}

// Last implements upstream.Decoder.
func (d *decoder) Last() llm.Chunk {
	c := llm.Chunk{Usage: d.tally.Usage(d.usage)}
	if !d.finished {
		c.FinishReason, c.ToolCalls = "stop", d.called()
	}
	if !d.named {
		c.Model, c.Vendor = d.tally.Requested, d.vendor
	}
	return c
}

// readUsage returns nil if the usage is missing or impossible.
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
	if !upstream.Plausible(u) {
		return nil
	}
	return &u
}

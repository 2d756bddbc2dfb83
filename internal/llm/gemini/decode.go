package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireResponse struct {
	Candidates []struct {
		Index        int         `json:"index"`
		Content      wireContent `json:"content"`
		FinishReason string      `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage        json.RawMessage `json:"usageMetadata"`
	ModelVersion string          `json:"modelVersion"`
	ResponseID   string          `json:"responseId"`
	Error        json.RawMessage `json:"error"`
}

// decoder turns the events of one stream into chunks.
type decoder struct {
	tally    upstream.Tally
	failed   func(object []byte) *llm.Error
	named    bool
	finished bool
	usage    *llm.Usage
	calls    upstream.Calls
}

func newDecoder(req llm.Request, failed func([]byte) *llm.Error) *decoder {
	return &decoder{tally: upstream.NewTally(req), failed: failed}
}

// Decode implements upstream.Decoder.
func (d *decoder) Decode(event []byte) (c llm.Chunk, ok, done bool, err error) {
	var w wireResponse
	if err := json.Unmarshal(event, &w); err != nil {
		return c, false, false, upstream.Undecodable(err)
	}
	if upstream.HasError(w.Error) {
		return c, false, false, d.failed(event)
	}
	if r := w.PromptFeedback.BlockReason; r != "" {
		return c, false, false, &llm.Error{Filtered: true, Err: fmt.Errorf("the prompt was blocked: %s", llm.CleanName(r))}
	}
	if u := readUsage(w.Usage); u != nil {
		d.usage = u // counts everything so far
	}
	if len(w.Candidates) > 0 && w.Candidates[0].Index == 0 {
		if err := d.parts(&c, w.Candidates[0].Content.Parts); err != nil {
			return c, false, false, err
		}
		if err := d.finish(&c, w.Candidates[0].FinishReason); err != nil {
			return c, false, false, err
		}
	}
	if !d.named {
		d.named = true
		c.Model, c.Vendor = llm.CleanName(w.ModelVersion), &llm.Vendor{ID: llm.CleanName(w.ResponseID)}
		c.Model = cmp.Or(c.Model, d.tally.Requested)
	}
	ok = c.Model != "" || c.Text != "" || c.Reasoning != "" || c.FinishReason != ""
	return c, ok, false, d.tally.Add(&c)
}

func (d *decoder) parts(c *llm.Chunk, parts []wirePart) error {
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			f := p.FunctionCall
			if err := d.calls.Add(&d.tally, f.ID, f.Name, string(f.Args), p.ThoughtSignature); err != nil {
				return err
			}
		case p.Thought:
			c.Reasoning += p.Text
		default:
			c.Text += p.Text
		}
	}
	return nil
}

// finish maps the reasons of https://ai.google.dev/api/generate-content#FinishReason. Reasons that mean
// a failure of the model are errors.
func (d *decoder) finish(c *llm.Chunk, reason string) error {
	if reason == "" || d.finished {
		return nil
	}
	switch reason {
	case "STOP":
		c.FinishReason = "stop"
		if len(d.calls) > 0 {
			c.FinishReason = "tool_calls"
		}
	case "MAX_TOKENS":
		c.FinishReason = "length"
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		c.FinishReason = "content_filter"
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return &llm.Error{Miscalled: true, Err: fmt.Errorf("the model called a tool wrongly: %s", reason)}
	default:
		return &llm.Error{Retryable: true, Err: fmt.Errorf("the upstream broke off: %s", llm.CleanName(reason))}
	}
	d.finished, c.ToolCalls = true, d.calls
	return nil
}

// readUsage returns nil if the usage is missing or impossible.
func readUsage(raw json.RawMessage) *llm.Usage {
	var w *struct {
		Prompt     int `json:"promptTokenCount"` // including cached tokens
		Cached     int `json:"cachedContentTokenCount"`
		Candidates int `json:"candidatesTokenCount"` // without thoughts
		Thoughts   int `json:"thoughtsTokenCount"`
		ToolPrompt int `json:"toolUsePromptTokenCount"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &w) != nil || w == nil {
		return nil
	}
	u := llm.Usage{Input: w.Prompt + w.ToolPrompt, Output: w.Candidates + w.Thoughts, Cached: w.Cached, Reasoning: w.Thoughts}
	if !upstream.Plausible(u) {
		return nil
	}
	return &u
}

// Progress implements upstream.Decoder.
func (d *decoder) Progress() upstream.Progress { return d.tally.Progress() }

// Ended implements upstream.Decoder.
func (d *decoder) Ended() error {
	if d.finished {
		return nil
	}
	return upstream.Cut()
}

// Last implements upstream.Decoder.
func (d *decoder) Last() llm.Chunk { return llm.Chunk{Usage: d.tally.Usage(d.usage)} }

package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string    `json:"id"`
		Model string    `json:"model"`
		Usage wireUsage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
		ID   string `json:"id"`
		Name string `json:"name"`
		Data string `json:"data"` // for redacted_thinking
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage wireUsage `json:"usage"`
}

// wireUsage has cumulative counts, which are null in events without news. They are floats, so that an
// invalid count does not lose the answer.
type wireUsage struct {
	Input         *float64 `json:"input_tokens"` // without cached tokens
	CacheCreation *float64 `json:"cache_creation_input_tokens"`
	CacheRead     *float64 `json:"cache_read_input_tokens"`
	Output        *float64 `json:"output_tokens"` // including thinking
	Details       struct {
		Thinking *float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// decoder turns the events of one stream into chunks.
type decoder struct {
	tally    upstream.Tally
	failed   func(object []byte) *llm.Error
	finished bool
	calls    []llm.ToolCall
	block    int         // index of the content block of the last call or thinking
	thoughts []wireBlock // since the last call

	input, creation, read, output, thinking float64
}

func newDecoder(req llm.Request, failed func([]byte) *llm.Error) *decoder {
	return &decoder{tally: upstream.NewTally(req), failed: failed}
}

// Decode implements upstream.Decoder. It skips unknown events, as the API's versioning policy demands.
func (d *decoder) Decode(event []byte) (c llm.Chunk, ok, done bool, err error) {
	var w wireEvent
	if err := json.Unmarshal(event, &w); err != nil {
		return c, false, false, upstream.Undecodable(err)
	}
	switch w.Type {
	case "message_start":
		d.count(w.Message.Usage)
		c.Model, c.Vendor = llm.CleanName(w.Message.Model), &llm.Vendor{ID: llm.CleanName(w.Message.ID)}
		c.Model = cmp.Or(c.Model, d.tally.Requested)
		return c, true, false, nil
	case "content_block_start":
		c.Text = w.ContentBlock.Text
		err = d.open(&w)
	case "content_block_delta":
		c.Text, c.Reasoning = w.Delta.Text, w.Delta.Thinking
		err = d.extend(&w)
	case "message_delta":
		d.count(w.Usage)
		if r := w.Delta.StopReason; r != "" && !d.finished {
			d.finished = true
			c.FinishReason, c.ToolCalls = finishReason(r), d.called()
		}
	case "message_stop":
		return c, false, true, nil
	case "ping":
		d.tally.Ping()
	case "error":
		return c, false, false, d.failed(event)
	}
	if err != nil {
		return c, false, false, err
	}
	return c, c.Text != "" || c.Reasoning != "" || c.FinishReason != "", false, d.tally.Add(&c)
}

func (d *decoder) open(w *wireEvent) error {
	block := &w.ContentBlock
	switch block.Type {
	case "thinking":
		d.thoughts = append(d.thoughts, wireBlock{Type: block.Type, Thinking: new(string)})
	case "redacted_thinking":
		d.thoughts = append(d.thoughts, wireBlock{Type: block.Type, Data: block.Data})
	case "tool_use":
		if len(d.calls) == upstream.MaxToolCalls {
			return &llm.Error{Err: errors.New("the completion calls too many tools")}
		}
		call := llm.ToolCall{ID: llm.CleanName(block.ID), Name: llm.CleanName(block.Name)}
		sign(&call, d.tally.Requested, d.thoughts)
		d.calls, d.thoughts = append(d.calls, call), nil
	default:
		return nil
	}
	d.block = w.Index
	return d.tally.AddHidden(block.Data)
}

func (d *decoder) extend(w *wireEvent) error {
	if w.Index != d.block {
		return nil // of an unknown block
	}
	switch w.Delta.Type {
	case "input_json_delta":
		if len(d.calls) == 0 {
			return nil
		}
		d.calls[len(d.calls)-1].Arguments += w.Delta.PartialJSON
		return d.tally.AddArguments(w.Delta.PartialJSON)
	case "thinking_delta":
		if n := len(d.thoughts); n > 0 && d.thoughts[n-1].Thinking != nil {
			*d.thoughts[n-1].Thinking += w.Delta.Thinking
		}
	case "signature_delta":
		if n := len(d.thoughts); n > 0 {
			d.thoughts[n-1].Signature += w.Delta.Signature
		}
		return d.tally.AddHidden(w.Delta.Signature)
	}
	return nil
}

// called returns the calls. A tool without arguments gets no piece of them in the stream.
func (d *decoder) called() []llm.ToolCall {
	for i := range d.calls {
		d.calls[i].Arguments = cmp.Or(d.calls[i].Arguments, "{}")
	}
	return d.calls
}

func finishReason(r string) string {
	switch r {
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	case "refusal":
		return "content_filter"
	}
	return "stop"
}

func (d *decoder) count(u wireUsage) {
	for _, c := range []struct {
		to   *float64
		from *float64
	}{{&d.input, u.Input}, {&d.creation, u.CacheCreation}, {&d.read, u.CacheRead}, {&d.output, u.Output}, {&d.thinking, u.Details.Thinking}} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
}

// usage returns nil if a reported count is not a plausible whole number.
func (d *decoder) usage() *llm.Usage {
	for _, n := range []float64{d.input, d.creation, d.read, d.output, d.thinking} {
		if n < 0 || n > 1e9 || n != float64(int(n)) {
			return nil
		}
	}
	return &llm.Usage{
		Input: int(d.input + d.creation + d.read), Output: int(d.output), Cached: int(d.read), Reasoning: int(d.thinking),
	}
}

// Progress implements upstream.Decoder.
func (d *decoder) Progress() upstream.Progress { return d.tally.Progress() }

// Ended implements upstream.Decoder. Without message_stop, a stop reason must have arrived.
func (d *decoder) Ended() error {
	if d.finished {
		return nil
	}
	return upstream.Cut()
}

// Last implements upstream.Decoder.
func (d *decoder) Last() llm.Chunk {
	c := llm.Chunk{Usage: d.tally.Usage(d.usage())}
	if !d.finished {
		c.FinishReason, c.ToolCalls = "stop", d.called()
	}
	return c
}

package ollama

import (
	"encoding/json"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireResponse struct {
	Model      string      `json:"model"`
	Message    wireMessage `json:"message"`
	Done       bool        `json:"done"`
	DoneReason string      `json:"done_reason"`
	Input      float64     `json:"prompt_eval_count"` // a float, so that an invalid count does not lose the answer
	Output     float64     `json:"eval_count"`
	Error      string      `json:"error"`
}

// decoder turns the lines of one stream into chunks.
type decoder struct {
	tally  upstream.Tally
	failed func(object []byte) *llm.Error
	named  bool
	usage  *llm.Usage
	calls  upstream.Calls
}

func newDecoder(req llm.Request, failed func([]byte) *llm.Error) *decoder {
	return &decoder{tally: upstream.NewTally(req), failed: failed}
}

// Decode implements upstream.Decoder. The last line has "done".
func (d *decoder) Decode(line []byte) (c llm.Chunk, ok, done bool, err error) {
	var w wireResponse
	if err := json.Unmarshal(line, &w); err != nil {
		return c, false, false, upstream.Undecodable(err)
	}
	if w.Error != "" {
		return c, false, false, d.failed(line)
	}
	c.Text, c.Reasoning = w.Message.Content, w.Message.Thinking
	for _, call := range w.Message.ToolCalls {
		f := call.Function
		if err := d.calls.Add(&d.tally, call.ID, f.Name, string(f.Arguments), ""); err != nil {
			return c, false, false, err
		}
	}
	if w.Done {
		d.finish(&c, &w)
	}
	if !d.named {
		d.named = true
		if c.Model = llm.CleanName(w.Model); c.Model == "" {
			c.Model = d.tally.Requested
		}
	}
	ok = c.Model != "" || c.Text != "" || c.Reasoning != "" || c.FinishReason != ""
	return c, ok, w.Done, d.tally.Add(&c)
}

func (d *decoder) finish(c *llm.Chunk, w *wireResponse) {
	c.ToolCalls = d.calls
	switch {
	case len(d.calls) > 0:
		c.FinishReason = "tool_calls"
	case w.DoneReason == "length":
		c.FinishReason = "length"
	default:
		c.FinishReason = "stop"
	}
	whole := func(n float64) bool { return n >= 0 && n <= 1e9 && n == float64(int(n)) }
	// The count of the prompt is missing when the whole prompt was in the cache.
	if whole(w.Input) && whole(w.Output) && w.Input > 0 {
		d.usage = &llm.Usage{Input: int(w.Input), Output: int(w.Output)}
	}
}

// Progress implements upstream.Decoder.
func (d *decoder) Progress() upstream.Progress { return d.tally.Progress() }

// Ended implements upstream.Decoder.
func (d *decoder) Ended() error { return upstream.Cut() }

// Last implements upstream.Decoder.
func (d *decoder) Last() llm.Chunk { return llm.Chunk{Usage: d.tally.Usage(d.usage)} }

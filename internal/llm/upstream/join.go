package upstream

import "parley/internal/llm"

// wholeBuffer is the size of the read buffer, in bytes, for a stream that is read as a whole.
const wholeBuffer = 4 << 10

// joiner passes chunks on, and merges the texts of chunks that arrived together, so that the rest of
// the turn handles one chunk instead of many.
type joiner struct {
	yield func(llm.Chunk, error) bool
	text  []byte // of chunks that are held back
}

// add passes a chunk on. It holds a text back if the next event has already arrived.
func (j *joiner) add(c *llm.Chunk, more bool) bool {
	if isText(c) && (more || len(j.text) > 0) {
		j.text = append(j.text, c.Text...)
		return more || j.flush()
	}
	return j.flush() && j.yield(*c, nil)
}

// flush passes on what is held back.
func (j *joiner) flush() bool {
	if len(j.text) == 0 {
		return true
	}
	text := string(j.text)
	j.text = j.text[:0]
	return j.yield(llm.Chunk{Text: text}, nil)
}

// isText reports whether a chunk has a text and nothing else.
func isText(c *llm.Chunk) bool {
	return c.Text != "" && c.Reasoning == "" && c.Model == "" && c.FinishReason == "" &&
		len(c.ToolCalls) == 0 && c.Usage == nil && c.Vendor == nil
}

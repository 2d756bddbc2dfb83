package upstream

import "parley/internal/llm"

// wholeBuffer is what is read of a stream at once where nobody waits for its pieces, in bytes.
const wholeBuffer = 4 << 10

// joiner passes chunks on, and runs the texts of those together that have come at once. The rest of a
// turn then handles one chunk in place of many.
type joiner struct {
	yield func(llm.Chunk, error) bool
	text  []byte // of chunks that are held back
}

// add passes a chunk on. A text is held back where more follows without waiting.
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

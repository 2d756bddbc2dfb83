package llm

import "context"

// maxHeld is how many chunks that say nothing yet are held back.
const maxHeld = 16

// outcome is what became of one try of a completion.
type outcome struct {
	begun bool  // something of the answer was passed on, so that nothing may be tried again
	left  bool  // the consumer broke out of the range
	err   error // how the stream ended, nil when it was complete
}

// once passes a model's stream on, but for its error. Chunks that have only names are held back
// until one says something: what fails before that has shown nothing to anybody.
func once(ctx context.Context, m Model, req *Request, yield func(Chunk, error) bool) (o outcome) {
	var held []Chunk
	release := func() bool {
		o.begun = true
		for _, c := range held {
			if !yield(c, nil) {
				return false
			}
		}
		held = nil
		return true
	}
	for c, err := range Start(ctx, m, req) {
		if err != nil {
			o.err = err
			return o
		}
		if !o.begun && !says(&c) && len(held) < maxHeld {
			held = append(held, c)
			continue
		}
		if !o.begun && !release() || !yield(c, nil) {
			o.left = true
			return o
		}
	}
	if !o.begun {
		o.left = !release()
	}
	return o
}

// says reports whether a chunk has a part of an answer.
func says(c *Chunk) bool {
	return c.Text != "" || c.Reasoning != "" || len(c.ToolCalls) > 0 || c.FinishReason != ""
}

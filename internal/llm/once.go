package llm

import "context"

// maxHeld is the maximum number of chunks without content that are held back.
const maxHeld = 16

// outcome is the result of one attempt at a completion.
type outcome struct {
	begun bool  // a part of the answer was passed on, so nothing may be tried again
	left  bool  // the consumer broke out of the range
	err   error // the error that ended the stream; nil if it was complete
}

// consumer passes the chunks of an attempt to the caller. It holds back chunks that carry only names until one
// carries content, so that an attempt that fails before that can be repeated unseen.
type consumer struct {
	outcome
	yield func(Chunk, error) bool
	held  []Chunk
}

// pass passes a chunk on, and reports whether the consumer wants more.
func (o *consumer) pass(c *Chunk) bool {
	if !o.begun {
		if !says(c) && len(o.held) < maxHeld {
			o.held = append(o.held, *c)
			return true
		}
		if !o.release() {
			return false
		}
	}
	o.left = !o.yield(*c, nil)
	return !o.left
}

// release passes on the chunks that were held back.
func (o *consumer) release() bool {
	o.begun = true
	for _, c := range o.held {
		if !o.yield(c, nil) {
			o.left = true
			return false
		}
	}
	o.held = nil
	return true
}

// end passes on the chunks that a complete stream has left.
func (o *consumer) end() {
	if !o.begun {
		o.release()
	}
}

// once passes a model's stream on, except its error.
func once(ctx context.Context, m Model, req *Request, yield func(Chunk, error) bool) outcome {
	o := consumer{yield: yield}
	for c, err := range Start(ctx, m, req) {
		if err != nil {
			o.err = err
			return o.outcome
		}
		if !o.pass(&c) {
			return o.outcome
		}
	}
	o.end()
	return o.outcome
}

// says reports whether a chunk contains a part of an answer.
func says(c *Chunk) bool {
	return c.Text != "" || c.Reasoning != "" || len(c.ToolCalls) > 0 || c.FinishReason != ""
}

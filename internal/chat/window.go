package chat

import (
	"context"
	"unicode/utf8"

	"parley/internal/llm"
)

// window is the number of tokens that a model can read and write together in one completion.
type window struct {
	tokens   int
	declared bool // tokens is known for this model; otherwise it is Config.ContextTokens
}

// windowOf returns the window of a model: the smaller of the configured limit and the model's known
// window.
func (t *turn) windowOf(ctx context.Context, m resolved) window {
	if t.cfg.Window != nil && !m.grounded {
		if n := t.cfg.Window(ctx, m.key); n > 0 && n <= t.cfg.ContextTokens {
			return window{n, true}
		}
	}
	return window{tokens: t.cfg.ContextTokens}
}

// usualOutput is the number of tokens reserved for an answer whose length the request does not limit.
const usualOutput = 1024

// output returns the maximum number of tokens of an answer, which is at most half of a known window. 0
// leaves it to the provider.
func (w window) output(asked int) int {
	if !w.declared {
		return asked
	}
	if asked <= 0 {
		asked = usualOutput
	}
	return min(asked, w.tokens/2)
}

// input returns the number of tokens left for the prompt besides an answer. It leaves a twentieth of a known
// window free, since the model's own tokenizer may count differently.
func (w window) input(asked int) int {
	room := w.tokens - w.output(asked)
	if w.declared {
		room -= w.tokens / 20
	}
	return room
}

// share returns the smaller of a limit and one n-th of a known window.
func (w window) share(limit, n int) int {
	if w.declared {
		return min(limit, w.tokens/n)
	}
	return limit
}

// count counts the tokens of a text. It uses the exact counter if the window of the model is known.
func (t *turn) count(text string) int {
	if t.window.declared && t.cfg.CountExactly != nil {
		return t.cfg.CountExactly(text)
	}
	return t.cfg.Count(text)
}

// within returns a text if it has at most limit tokens, or else a beginning of it that does. The beginning may
// not be the longest possible.
func (t *turn) within(text string, limit int) string {
	for n := t.count(text); n > limit; n = t.count(text) {
		if limit <= 0 {
			return ""
		}
		// assumes that all tokens of the text are about equally long
		runes := min(utf8.RuneCountInString(text)*limit/n, utf8.RuneCountInString(text)*9/10)
		text = clip(text, runes-2)
		if runes <= 2 {
			return ""
		}
	}
	return text
}

// narrower returns a function that builds the prompt for a fallback model with a smaller window. The function
// returns nil if the current prompt fits or no prompt does.
func (a *answer) narrower(ctx context.Context) func(tokens int) []llm.Message {
	return func(tokens int) []llm.Message {
		if tokens >= a.window.tokens {
			return nil
		}
		small := *a.turn
		small.window = window{tokens, true}
		p, err := small.build(ctx)
		if err != nil {
			return nil
		}
		return append(p.Messages, a.behind...)
	}
}

// toolRoom returns how many tokens the next tool result may have, so that the model still has room to
// answer.
func (a *answer) toolRoom() int {
	room := a.window.input(a.req.Options.MaxOutputTokens)
	for _, messages := range [][]llm.Message{a.prompt.Messages, a.behind} {
		for _, m := range messages {
			room -= a.count(m.Text()) + messageTokens
			for _, c := range m.ToolCalls {
				room -= a.count(c.Name) + a.count(c.Arguments)
			}
		}
	}
	for _, tool := range a.tools() {
		room -= a.count(tool.Name) + a.count(tool.Description) + a.count(string(tool.Parameters))
	}
	return room - usualNotes
}

// usualNotes is the number of tokens reserved for the engine's own notes to a model after a tool result.
const usualNotes = 64

package chat

import (
	"context"
	"unicode/utf8"

	"parley/internal/llm"
)

// window is how much a model reads and writes in one completion, in tokens.
type window struct {
	tokens   int
	declared bool // by the model or for it; otherwise it is what is assumed of all
}

// windowOf returns the window of a model: the smaller one of what is configured for all and what is
// known of this one.
func (t *turn) windowOf(ctx context.Context, m resolved) window {
	if t.cfg.Window != nil && !m.grounded {
		if n := t.cfg.Window(ctx, m.key); n > 0 && n <= t.cfg.ContextTokens {
			return window{n, true}
		}
	}
	return window{tokens: t.cfg.ContextTokens}
}

// usualOutput is set aside for an answer whose length the request does not limit.
const usualOutput = 1024

// output returns how many tokens an answer may have, which are no more than half of the window; 0 leaves
// it to the provider.
func (w window) output(asked int) int {
	if !w.declared {
		return asked
	}
	if asked <= 0 {
		asked = usualOutput
	}
	return min(asked, w.tokens/2)
}

// input returns the room for the prompt beside an answer. Of a declared window a twentieth is left free,
// since models count with vocabularies of their own.
func (w window) input(asked int) int {
	room := w.tokens - w.output(asked)
	if w.declared {
		room -= w.tokens / 20
	}
	return room
}

// share returns a limit, or the n-th part of a declared window where that is less.
func (w window) share(limit, n int) int {
	if w.declared {
		return min(limit, w.tokens/n)
	}
	return limit
}

// count counts the tokens of a text: with a vocabulary where the window is that of the model.
func (t *turn) count(text string) int {
	if t.window.declared && t.cfg.CountExactly != nil {
		return t.cfg.CountExactly(text)
	}
	return t.cfg.Count(text)
}

// within returns the beginning of a text that has no more tokens than limit, or all of it.
func (t *turn) within(text string, limit int) string {
	for n := t.count(text); n > limit; n = t.count(text) {
		if limit <= 0 {
			return ""
		}
		// A token of a long text is as long as that text's others, more or less.
		runes := min(utf8.RuneCountInString(text)*limit/n, utf8.RuneCountInString(text)*9/10)
		text = clip(text, runes-2)
		if runes <= 2 {
			return ""
		}
	}
	return text
}

// narrower returns the prompt for a model with a smaller window than the one for which it was made, nil
// when that is not needed or not possible. Fallbacks are asked with it.
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

// toolRoom returns how many tokens the next result of a tool may have, so that a model can still answer.
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

// usualNotes is what is set aside for what the engine itself tells a model behind a tool's result.
const usualNotes = 64

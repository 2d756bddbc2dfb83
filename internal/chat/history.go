package chat

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"parley/internal/llm"
)

// maxQuoted is the maximum number of tokens of the client's system messages in the prompt.
const maxQuoted = 1000

// messageTokens is the number of tokens that a chat template adds to each message.
const messageTokens = 4

// runHistory selects the messages before the question that the turn uses.
func (t *turn) runHistory(ctx context.Context, _ *output) (StageFinished, error) {
	var spoken []Message
	t.window = t.windowOf(ctx, t.model)
	quota := t.window.share(maxQuoted, 8)
	for _, m := range t.req.Messages {
		switch {
		case m.Text() == "" && !ofTools(m):
		case m.Role == llm.System:
			if n := t.tokens(&m); n <= quota {
				quota -= n
				t.quoted = append(t.quoted, m.Text())
			}
		default:
			if m.Role == llm.User {
				t.previous = append(t.previous, m.Text())
			}
			spoken = append(spoken, m)
		}
	}
	spoken = alternate(answered(spoken))
	t.older, t.history = t.divide(spoken)
	var done StageFinished
	if len(t.history) < len(spoken) {
		done.Note = fmt.Sprintf("kept %d of %d messages", len(t.history), len(spoken))
	}
	return done, nil
}

// tokens returns the number of tokens of a message in a prompt. It caches the count of the content in m.
func (t *turn) tokens(m *Message) int {
	if m.Tokens <= 0 {
		m.Tokens = t.count(m.Text())
		for _, c := range m.ToolCalls {
			m.Tokens += t.cfg.Count(c.Name) + t.cfg.Count(c.Arguments) + messageTokens
		}
	}
	return m.Tokens + messageTokens
}

// alternate joins adjacent messages of the same role, since models expect user and assistant to
// alternate. A user message without an answer is joined with the next one. Tool calls and their results
// are not joined.
func alternate(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		last := len(out) - 1
		if last < 0 || out[last].Role != m.Role || ofTools(m) || ofTools(out[last]) {
			out = append(out, m)
			continue
		}
		joined := TextMessage(m.Role, out[last].Text()+"\n\n"+m.Text())
		if out[last].Tokens > 0 && m.Tokens > 0 {
			joined.Tokens = out[last].Tokens + m.Tokens + 1
		}
		out[last] = joined
	}
	return out
}

// divide separates the last messages, which fit the budget, from the older ones. When a model summarizes
// the older messages, the boundary does not move for many turns, so that most turns need no new summary: it
// moves only when the budget is used up, and then far enough to free half of the budget.
func (t *turn) divide(spoken []Message) (older, kept []Message) {
	budget := t.window.share(t.cfg.MaxHistoryTokens, 4)
	kept = spoken
	if t.summarizer.Model != nil {
		sum := 0
		for i := range spoken {
			if sum += t.tokens(&spoken[i]); sum <= budget {
				continue
			}
			begun := len(spoken) - len(kept)
			half := t.suffix(spoken[begun:i+1], budget/2)
			kept, sum = spoken[i+1-len(half):], 0
			for i := range half {
				sum += t.tokens(&half[i])
			}
		}
	}
	if kept = t.suffix(kept, budget); len(kept) == 0 {
		kept = t.clipped(lastTurns(spoken, 1), budget)
	}
	if n := t.req.Options.Summary.Turns; n != 0 {
		kept = lastTurns(kept, n)
	}
	return spoken[:len(spoken)-len(kept)], kept
}

// clipped returns the messages of one turn that is too long for the budget, each cut to the beginning of
// its text, because a part of the last turn is better than nothing. It returns nil for a turn with tool
// messages or one that does not begin with the user.
func (t *turn) clipped(messages []Message, budget int) []Message {
	if len(messages) == 0 || messages[0].Role != llm.User || slices.ContainsFunc(messages, ofTools) {
		return nil
	}
	out := slices.Clone(messages)
	for i := range out {
		tokens, share := t.tokens(&out[i]), budget/(len(out)-i)-messageTokens
		if share <= 0 {
			return nil
		}
		if tokens > share+messageTokens {
			// assumes that all tokens of the text are about equally long
			text := out[i].Text()
			runes := utf8.RuneCountInString(text) * share / tokens
			short := TextMessage(out[i].Role, clip(text, runes))
			out[i] = short
		}
		budget -= t.tokens(&out[i])
	}
	return out
}

// suffix returns the longest suffix of messages that fits the budget and begins with a user message.
func (t *turn) suffix(messages []Message, budget int) []Message {
	from := len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		budget -= t.tokens(&messages[i])
		if budget < 0 {
			break
		}
		if messages[i].Role == llm.User {
			from = i
		}
	}
	return messages[from:]
}

package chat

import (
	"context"
	"fmt"

	"parley/internal/llm"
)

// maxQuoted bounds the client's system messages in the prompt, in tokens.
const maxQuoted = 1000

// messageTokens is what a chat template adds to each message.
const messageTokens = 4

// runHistory chooses the messages before the question that the turn will look at.
func (t *turn) runHistory(context.Context, *output) (StageFinished, error) {
	var spoken []Message
	quota := maxQuoted
	for _, m := range t.req.Messages {
		switch {
		case m.Text() == "":
		case m.Role == llm.System:
			if n := t.tokens(m); n <= quota {
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
	spoken = alternate(spoken)
	t.history = t.suffix(spoken, t.cfg.MaxHistoryTokens)
	var done StageFinished
	if len(t.history) < len(spoken) {
		done.Note = fmt.Sprintf("kept %d of %d messages", len(t.history), len(spoken))
	}
	return done, nil
}

func (t *turn) tokens(m Message) int {
	if m.Tokens > 0 {
		return m.Tokens + messageTokens
	}
	return t.cfg.Count(m.Text()) + messageTokens
}

// alternate joins neighbours that speak in the same role, since models expect user and assistant
// in turns. A user message that nobody answered stays, joined with the next one.
func alternate(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		last := len(out) - 1
		if last < 0 || out[last].Role != m.Role {
			out = append(out, m)
			continue
		}
		out[last] = TextMessage(m.Role, out[last].Text()+"\n\n"+m.Text())
	}
	return out
}

// suffix returns the longest end of messages that fits and begins with the user.
func (t *turn) suffix(messages []Message, budget int) []Message {
	from := len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		budget -= t.tokens(messages[i])
		if budget < 0 {
			break
		}
		if messages[i].Role == llm.User {
			from = i
		}
	}
	return messages[from:]
}

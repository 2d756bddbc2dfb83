package turn

import (
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
)

// alternate returns messages with strictly alternating roles, user first and assistant last. The answers
// of several agents to one question become one message. A question without an answer and messages
// without text are left out. Tool calls and their results remain between a question and its answer;
// results without a call are left out.
func alternate(messages []chat.Message) []chat.Message {
	var all []chat.Message
	for _, m := range messages {
		if strings.TrimSpace(m.Text()) == "" && !hasImage(m) && !ofTools(m) {
			continue
		}
		last := len(all) - 1
		switch {
		case m.Role == llm.User && last >= 0 && all[last].Role == llm.User:
			all[last] = m
		case m.Role == llm.User:
			all = append(all, m)
		case m.Role == llm.ToolRole && isCalled(all, m.ToolCallID):
			all = append(all, m)
		case m.Role == llm.Assistant && last >= 0 && (all[last].Role == llm.User || ofTools(all[last]) || ofTools(m)):
			all = append(all, m)
		case m.Role == llm.Assistant && last >= 0:
			all[last] = join(all[last], m)
		}
	}
	for len(all) > 0 && all[len(all)-1].Role != llm.Assistant {
		all = all[:len(all)-1]
	}
	return all
}

func ofTools(m chat.Message) bool { return len(m.ToolCalls) > 0 || m.Role == llm.ToolRole }

// isCalled reports whether the last message other than a tool result has a call with that id.
func isCalled(messages []chat.Message, id string) bool {
	for _, m := range slices.Backward(messages) {
		if m.Role != llm.ToolRole {
			return slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.ID == id })
		}
	}
	return false
}

func hasImage(m chat.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Image != "" })
}

// join merges the answers of two agents into one message.
func join(a, b chat.Message) chat.Message {
	a.Parts = []llm.Part{{Text: a.Text() + "\n\n" + b.Text()}}
	a.Tokens += b.Tokens
	a.Citations = slices.Clone(a.Citations)
	for _, c := range b.Citations {
		if !slices.ContainsFunc(a.Citations, func(have chat.Citation) bool { return have.Label == c.Label }) {
			a.Citations = append(a.Citations, c)
		}
	}
	a.ToolsUsed = slices.Clone(a.ToolsUsed)
	for _, name := range b.ToolsUsed {
		if !slices.Contains(a.ToolsUsed, name) {
			a.ToolsUsed = append(a.ToolsUsed, name)
		}
	}
	if a.Agent != b.Agent {
		a.Agent = ""
	}
	return a
}

// suffix returns the longest tail of messages that begins with a user message and has at most limit bytes of
// text. The engine then selects by tokens; this limit keeps a long conversation from making the request too
// large.
func suffix(messages []chat.Message, limit int) []chat.Message {
	from := len(messages)
	for i, m := range slices.Backward(messages) {
		for _, c := range m.ToolCalls {
			limit -= len(c.Arguments)
		}
		if limit -= len(m.Text()); limit < 0 {
			break
		}
		if m.Role == llm.User {
			from = i
		}
	}
	return messages[from:]
}

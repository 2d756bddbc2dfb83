package wire

import (
	"iter"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
)

// ReadMessage reads one message; at is its place in the body, for errors. ok is false for a message to leave
// out of the conversation.
type ReadMessage func(v Value, at Element) (m chat.Message, ok bool, err error)

// Messages reads "messages", a list of at most most messages with "role" and "content". The user's last
// message is the question, which must have text.
func Messages(v Value, most int, read ReadMessage) ([]chat.Message, error) {
	elements, ok := v.Elements()
	if !ok {
		return nil, Invalidf(`"messages" must be a list of messages, each with "role" and "content"`)
	}
	return MessagesIn(elements, "messages", most, read)
}

// MessagesIn is like Messages, for the elements of a list with another name.
func MessagesIn(elements iter.Seq[Value], name string, most int, read ReadMessage) ([]chat.Message, error) {
	count, ok := AtMost(most, elements)
	if !ok {
		return nil, Invalidf(`%q may hold %d messages at most`, name, most)
	}
	messages, question, i := make([]chat.Message, 0, count), "", 0
	for v := range elements {
		m, ok, err := read(v, At(name, i))
		if err != nil {
			return nil, err
		}
		if i++; !ok {
			continue
		}
		if m.Role == llm.User {
			question = m.Text()
		}
		messages = append(messages, m)
	}
	if strings.TrimSpace(question) == "" {
		return nil, Invalidf(`%q has no question: the last message with the role "user" is missing or empty`, name)
	}
	return messages, nil
}

package responses

import (
	"slices"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// memory is the conversation of one connection up to the end of its last response. It allows a client to
// continue a response that is not stored. A nil memory is always empty. It is not safe for concurrent use.
type memory struct {
	id       string // of the last response; "" if there is none
	messages []chat.Message
	most     int // maximum number of messages; leaves room for the next request
	readable
}

func (m *memory) recall(id string) ([]chat.Message, bool) {
	if m == nil || m.id == "" || m.id != id {
		return nil, false
	}
	return m.messages, true
}

// keep replaces the content of the memory with the conversation of an exchange, including its response.
func (m *memory) keep(x *exchange) {
	if m == nil {
		return
	}
	m.id, m.messages = x.res.ID, x.req.Messages
	if x.instructions != "" {
		m.messages = m.messages[1:] // instructions apply to one request only
	}
	var output []wire.Value
	for _, item := range x.res.Output {
		output = append(output, wire.Value(mustJSON(item)))
	}
	// The server's own output is always readable.
	answer, _ := messagesOf(output, "output", m.readable)
	m.messages = newest(append(m.messages[:len(m.messages):len(m.messages)], answer...), m.most)
}

// newest returns a copy of the last messages: at most the given number, and at most maxHistoryBytes. The last message may
// exceed maxHistoryBytes.
func newest(messages []chat.Message, most int) []chat.Message {
	from, size := len(messages), 0
	for from > 0 && len(messages)-from < most {
		for _, p := range messages[from-1].Parts {
			size += len(p.Text) + len(p.Image)
		}
		for _, f := range messages[from-1].Files {
			size += len(f.Data) / fileShare
		}
		if size > maxHistoryBytes && from < len(messages) {
			break
		}
		from--
	}
	return slices.Clone(withoutOrphans(messages[from:]))
}

// withoutOrphans removes tool results at the beginning, because their calls are missing.
func withoutOrphans(messages []chat.Message) []chat.Message {
	for len(messages) > 0 && messages[0].Role == llm.ToolRole {
		messages = messages[1:]
	}
	return messages
}

// forget clears the memory if it holds the response with the id.
func (m *memory) forget(id string) {
	if m != nil && m.id == id {
		*m = memory{most: m.most, readable: m.readable}
	}
}

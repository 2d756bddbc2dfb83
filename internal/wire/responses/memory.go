package responses

import (
	"parley/internal/chat"
	"parley/internal/wire"
)

// memory is what one connection remembers: what was said up to the end of its last response, so that a response
// which is kept nowhere can be continued. A nil memory remembers nothing. It is used by one goroutine.
type memory struct {
	id       string // of the response; "" for none
	messages []chat.Message
	vision   bool
}

func (m *memory) recall(id string) ([]chat.Message, bool) {
	if m == nil || m.id == "" || m.id != id {
		return nil, false
	}
	return m.messages, true
}

// keep remembers the response of an exchange in place of what was remembered.
func (m *memory) keep(x *exchange) {
	if m == nil {
		return
	}
	m.id, m.messages = x.res.ID, x.req.Messages
	if x.instructions != "" {
		m.messages = m.messages[1:] // they are those of one request
	}
	var output []wire.Value
	for _, item := range x.res.Output {
		output = append(output, wire.Value(mustJSON(item)))
	}
	// What the server has made itself can be read.
	answer, _ := messagesOf(output, "output", m.vision)
	m.messages = append(m.messages[:len(m.messages):len(m.messages)], answer...)
}

// forget forgets a response.
func (m *memory) forget(id string) {
	if m != nil && m.id == id {
		*m = memory{vision: m.vision}
	}
}

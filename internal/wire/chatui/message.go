package chatui

import (
	"cmp"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
)

// status is the state of a message.
type status string

// The statuses of the protocol.
const (
	processing status = "processing"
	completed  status = "completed"
	failed     status = "failed"
)

// message is one message of a reply. It is written in two forms: with only the fields of the protocol,
// for processing events, and with the fields of all generations of the client.
type message struct {
	id           string
	conversation string
	agent        string // "" in standard mode, which has no agents
	status       status
	content      []byte // JSON string, including the quotes
	markdown     bool
	sources      []source
	failure      *wire.Failure // only with the status failed
	at           time.Time
}

// source is a citation of a message.
type source struct {
	id, title, url, snippet string
}

func sourcesOf(base string, citations []chat.Citation) []source {
	var list []source
	for _, c := range citations {
		list = append(list, source{
			id: c.Label, title: cmp.Or(c.Title, c.Name), url: wire.ContentURL(base, c.Label), snippet: c.Snippet,
		})
	}
	return list
}

// appendNarrow appends the fields of the protocol. It does not close the object.
func (m *message) appendNarrow(dst []byte) []byte {
	dst = wire.AppendString(append(dst, `{"messageId":`...), m.id)
	if m.conversation != "" {
		dst = wire.AppendString(append(dst, `,"conversationId":`...), m.conversation)
	}
	dst = append(append(dst, `,"status":"`...), m.status...)
	dst = append(append(dst, `","role":"assistant","content":`...), m.content...)
	if m.markdown {
		dst = append(dst, `,"contentType":"markdown"`...)
	} else {
		dst = append(dst, `,"contentType":"text"`...)
	}
	dst = appendName(dst, "agentName", m.agent)
	dst = append(dst, `,"sources":[`...)
	for i, s := range m.sources {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(append(dst, `{"id":`...), s.id)
		dst = wire.AppendString(append(dst, `,"title":`...), s.title)
		dst = wire.AppendString(append(dst, `,"url":`...), s.url)
		dst = append(wire.AppendString(append(dst, `,"snippet":`...), s.snippet), '}')
	}
	dst = append(dst, `],"error":`...)
	if m.failure == nil {
		dst = append(dst, `null`...)
	} else {
		dst = wire.AppendString(append(dst, `{"message":`...), m.failure.Text)
		dst = append(wire.AppendString(append(dst, `,"code":`...), codeOf(*m.failure)), '}')
	}
	dst = append(dst, `,"createdAt":"`...)
	return append(appendTime(dst, m.at), '"')
}

// appendWide appends the fields of the protocol and those of all generations of the client. It does not
// close the object.
func (m *message) appendWide(dst []byte) []byte {
	dst = m.appendNarrow(dst)
	dst = wire.AppendString(append(dst, `,"id":`...), m.id)
	dst = appendName(dst, "agentIdentifier", m.agent)
	dst = append(dst, `,"authorRole":"ASSISTANT"`...)
	dst = appendName(dst, "authorName", m.agent)
	dst = wire.AppendString(append(dst, `,"metadata":{"id":`...), m.id)
	dst = append(appendName(dst, "authorName", m.agent), `},"Role":{"Label":"Assistant"}`...)
	dst = appendName(dst, "AuthorName", m.agent)
	dst = append(append(dst, `,"Content":`...), m.content...)
	if m.conversation != "" {
		dst = wire.AppendString(append(dst, `,"ConversationId":`...), m.conversation)
	}
	dst = append(append(dst, `,"Items":[{"$type":"TextContent","Text":`...), m.content...)
	dst = wire.AppendString(append(dst, `}],"Metadata":{"Id":`...), m.id)
	dst = append(dst, `,"CreatedAt":"`...)
	return append(appendTime(dst, m.at), `"}`...)
}

// appendName appends a member with the agent's name, if there is one.
func appendName(dst []byte, key, name string) []byte {
	if name == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	return wire.AppendString(dst, name)
}

// appendTime appends a time in UTC with three decimals.
func appendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// codeOf returns a failure's code in the spelling of the protocol.
func codeOf(f wire.Failure) string { return strings.ToUpper(f.Code) }

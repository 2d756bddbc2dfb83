package chatui

import (
	"cmp"
	"encoding/json"
	"strings"

	"parley/internal/transcript"
	"parley/internal/wire"
)

// item is a message in a client's list.
type item struct {
	transcript.Message
	fields
}

// fields are the members of a message that the server reads; "" if missing or not a string.
type fields struct {
	id      string // messageId, or id
	role    string
	content string
	agent   string // agentName, or agentIdentifier
}

// pairs are members that two generations of the client name differently. A message with one of them is
// stored with both, so that each generation can read the chats of the other.
var pairs = [][2]string{{"messageId", "id"}, {"agentName", "agentIdentifier"}}

// changes are a client's changes to a chat.
type changes struct {
	pinned   *bool   // nil to leave it as it is
	folder   *string // nil to leave it as it is; "" for none
	messages []item
	title    string // "" means no change
}

// changesOf reads a body {"messages":[…], "title"?, "pinned"?, "folder"?}. "messages" may be missing only if another
// member changes something.
func changesOf(body []byte) (c changes, err error) {
	object, err := wire.ParseObject(body)
	if err != nil {
		return c, err
	}
	if v, _ := object.Get("title"); v.IsGiven() {
		if c.title, err = titleOf(v); err != nil {
			return c, err
		}
		c.title = strings.TrimSpace(c.title)
	}
	if v, _ := object.Get("pinned"); v.IsGiven() {
		pinned, ok := v.Flag()
		if !ok {
			return c, wire.Invalidf(`"pinned" must be true or false`)
		}
		c.pinned = &pinned
	}
	if v, _ := object.Get("folder"); v.IsGiven() {
		folder, ok := v.Text()
		if !ok || len(folder) > maxFolder {
			return c, wire.Invalidf(`"folder" must be the id of a folder, or ""`)
		}
		c.folder = &folder
	}
	list, given := object.Get("messages")
	if !given && (c.title != "" || c.pinned != nil || c.folder != nil) {
		return c, nil
	}
	c.messages, err = itemsOf(list)
	return c, err
}

// itemsOf reads a list of messages. It skips null.
func itemsOf(list wire.Value) ([]item, error) {
	elements, ok := list.Elements()
	if !ok {
		return nil, wire.Invalidf(`"messages" must be a list of messages`)
	}
	count := 0
	for range elements {
		if count++; count > maxStored {
			return nil, wire.Invalidf(`"messages" may hold %d messages at most`, maxStored)
		}
	}
	items, i := make([]item, 0, count), 0
	for v := range elements {
		if i++; v.IsNull() {
			continue
		}
		object, ok := v.Object()
		if !ok {
			return nil, wire.Invalidf(`"messages[%d]" must be an object`, i-1)
		}
		it := item{fields: fieldsOf(object)}
		it.Message = transcript.Message{ID: it.id, Body: complete(object, v.Compact())}
		items = append(items, it)
	}
	return items, nil
}

func fieldsOf(object wire.Object) (f fields) {
	var id, agent string
	for key, v := range object.Members() {
		switch key {
		case "messageId":
			f.id = idOf(v)
		case "id":
			id = idOf(v)
		case "role":
			f.role, _ = v.Text()
		case "content":
			f.content, _ = v.Text()
		case "agentName":
			f.agent, _ = v.Text()
		case "agentIdentifier":
			agent, _ = v.Text()
		}
	}
	f.id = cmp.Or(f.id, id)
	f.agent = cmp.Or(f.agent, agent)
	return f
}

// idOf returns an id, which may be a string or a number; "" for other values.
func idOf(v wire.Value) string {
	if text, ok := v.Text(); ok {
		return text
	}
	if _, ok := v.Number(); ok {
		return string(v)
	}
	return ""
}

// readFields reads the fields of a stored message.
func readFields(body json.RawMessage) fields {
	object, err := wire.ParseObject(body)
	if err != nil {
		return fields{} // the message was checked before it was stored
	}
	return fieldsOf(object)
}

// complete adds the members to a message that other generations of the client read in place of the sent ones.
func complete(object wire.Object, body json.RawMessage) json.RawMessage {
	for _, pair := range pairs {
		for i, key := range pair {
			have, sent := object.Get(key)
			if _, both := object.Get(pair[1-i]); !sent || both || have.IsNull() {
				continue
			}
			body = append(append(body[:len(body)-1], `,"`+pair[1-i]+`":`...), have...)
			body = append(body, '}')
		}
	}
	return body
}

// merge returns the messages to store after a client sent a list. A message with the id of a stored one
// replaces it; other messages are appended. If some have no id and the list begins with all stored
// messages, the list replaces all of them, because the client evidently sends the whole chat each time.
func merge(stored []transcript.Message, list []item) []transcript.Message {
	at := make(map[string]int, len(stored))
	for i, m := range stored {
		if m.ID != "" {
			at[m.ID] = i
		}
	}
	if !allHaveIDs(list) && continues(stored, list) {
		stored, at = nil, map[string]int{}
	}
	for _, it := range list {
		i, known := at[it.ID]
		if known && it.ID != "" {
			stored[i] = it.Message
			continue
		}
		if it.ID != "" {
			at[it.ID] = len(stored)
		}
		stored = append(stored, it.Message)
	}
	return stored
}

func allHaveIDs(list []item) bool {
	for _, it := range list {
		if it.ID == "" {
			return false
		}
	}
	return true
}

// continues reports whether a list begins with the stored messages: with the same ids, or for messages
// without an id, with the same text of the same role.
func continues(stored []transcript.Message, list []item) bool {
	if len(list) < len(stored) {
		return false
	}
	for i, m := range stored {
		it := list[i]
		if m.ID != "" && it.ID != "" {
			if m.ID != it.ID {
				return false
			}
			continue
		}
		f := readFields(m.Body)
		if f.role != it.role || f.content != it.content || f.agent != it.agent {
			return false
		}
	}
	return true
}

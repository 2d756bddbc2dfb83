package chatui

import (
	"slices"
	"strings"

	"parley/internal/transcript"
	"parley/internal/wire"
)

// Values of tree.parents that are not indexes of messages.
const (
	beginning = -1 // the message has no parent
	nowhere   = -2 // the parent is not in the chat
)

// tree is a chat as clients show it. An edited question or a regenerated answer has the same parent as its earlier
// version. Clients show only the last version, and the messages that follow it.
type tree struct {
	ids     []string // of the messages, in order; "" for roles that are never shown
	parents []int    // index of each message's parent, or beginning or nowhere
}

// treeOf returns the tree of a chat. The parent of a message that names none is the message before it. ok is false if a
// message has no id, or the id of another message.
func treeOf(messages []transcript.Message) (t tree, ok bool) {
	at := make(map[string]int, len(messages))
	named := make([]string, len(messages)) // the parents' ids
	before := ""
	for i, m := range messages {
		id := m.ID
		role, parent := placeOf(m)
		if role = strings.ToLower(role); role != "user" && role != "assistant" {
			t.ids = append(t.ids, "")
			continue
		}
		if _, known := at[id]; known || id == "" {
			return tree{}, false
		}
		at[id] = i
		if named[i] = before; parent != nil {
			named[i] = *parent
		}
		t.ids, before = append(t.ids, id), id
	}
	t.parents = make([]int, len(messages))
	for i, id := range named {
		place, known := at[id]
		switch {
		case id == "":
			place = beginning
		case !known:
			place = nowhere
		}
		t.parents[i] = place
	}
	return t, true
}

// placeOf returns the role of a message and the id of its parent; nil if the message names none.
func placeOf(m transcript.Message) (role string, parent *string) {
	object, err := wire.ParseObject(m.Body)
	if err != nil {
		return "", nil // the message was checked before it was stored
	}
	if v, _ := object.Get("role"); v.IsGiven() {
		role, _ = v.Text()
	}
	if v, _ := object.Get("parentId"); v.IsGiven() {
		_, isText := v.Text()
		if _, isNumber := v.Number(); isText || isNumber {
			named := idOf(v)
			parent = &named
		}
	}
	return role, parent
}

// shown reports for each message whether clients show it.
func (t tree) shown() []bool {
	last := map[int]int{} // the last child of each message
	for i, id := range t.ids {
		if id != "" {
			last[t.parents[i]] = i
		}
	}
	shown := make([]bool, len(t.ids))
	for at, found := last[beginning]; found && !shown[at]; at, found = last[at] {
		shown[at] = true
	}
	return shown
}

// cuts reports for each message whether a page can begin with it: it is shown, it has no other version, and no other
// message has its parent on the other side of the cut.
func (t tree) cuts() []bool {
	n := len(t.ids)
	least := make([]int, n+1) // lowest parent of the messages from this index on
	least[n] = n
	for i := n - 1; i >= 0; i-- {
		if least[i] = least[i+1]; t.ids[i] != "" {
			least[i] = min(least[i], t.parents[i])
		}
	}
	versions := map[int]int{}
	for i, id := range t.ids {
		if id != "" {
			versions[t.parents[i]]++
		}
	}
	cuts := t.shown()
	highest := nowhere // highest parent of the messages so far
	for i, id := range t.ids {
		if id == "" {
			continue
		}
		parent := t.parents[i]
		cuts[i] = cuts[i] && parent >= 0 && parent < i && versions[parent] == 1 && highest < i && least[i+1] >= i
		highest = max(highest, parent)
	}
	return cuts
}

// pageBefore returns the last messages before the one with an id, or the last of all if id is "": at least limit of
// them, beginning where the chat can be cut. next is the id for the page before that; "" if there is none. ok is false
// if the chat has no message with the id.
func pageBefore(all []transcript.Message, id string, limit int) (page []transcript.Message, next string, ok bool) {
	end := len(all)
	if id != "" {
		if end = slices.IndexFunc(all, func(m transcript.Message) bool { return m.ID == id }); end < 0 {
			return nil, "", false
		}
	}
	t, cuttable := treeOf(all)
	if !cuttable {
		return all[:end], "", true
	}
	cuts := t.cuts()
	for i := end - limit; i > 0; i-- {
		if cuts[i] {
			return all[i:end], t.ids[i], true
		}
	}
	return all[:end], "", true
}

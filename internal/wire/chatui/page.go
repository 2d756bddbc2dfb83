package chatui

import (
	"slices"
	"strings"

	"parley/internal/transcript"
	"parley/internal/wire"
)

// Places of parents that are not messages of the chat.
const (
	beginning = -1 // the message is a first one
	nowhere   = -2
)

// tree is a chat as clients show it: an edited question, or an answer that was asked for again, has the parent of the
// former one. Of all versions the last one is shown, and what follows it.
type tree struct {
	ids     []string // of the messages, by their places; "" for messages that are not shown
	parents []int
}

// treeOf reads the tree of a chat. A message that names no parent follows the one before it. It reports false if some
// message has no id of its own.
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

// placeOf reads what the place of a message in its chat depends on. parent is nil if the message does not name any.
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

// shown reports for each message whether it is among those that are shown.
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

// cuts reports for each message whether the chat can be cut before it: it is shown, it has no other version, and its link to its parent
// is the only one across the cut.
func (t tree) cuts() []bool {
	n := len(t.ids)
	least := make([]int, n+1) // place of a parent of what is there or later
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
	highest := nowhere // place of a parent of what was before
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

// pageBefore returns the last messages before the one with an id, or before the end if the id is "": at least limit,
// from where the chat can be cut. next is the id for the page before it; "" if there is none. It reports false if the
// chat has no such message.
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

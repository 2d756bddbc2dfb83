package turn

import (
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
)

// Snapshot holds the events of a turn up to a point in time.
type Snapshot struct {
	Events []chat.Event // deltas are merged
	Ended  bool
	Err    error // the error that ended the turn; nil for a completed turn
}

// Snapshot returns the events of the turn so far, without waiting.
func (l *Log) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Snapshot{Events: make([]chat.Event, 0, len(l.entries)), Ended: l.ended, Err: l.err}
	for i := range l.entries {
		switch e := &l.entries[i]; {
		case e.event != nil:
			s.Events = append(s.Events, e.event)
		case e.thought:
			s.Events = append(s.Events, chat.ReasoningDelta{ID: e.message, Text: string(e.text)})
		default:
			s.Events = append(s.Events, chat.TextDelta{ID: e.message, Text: string(e.text)})
		}
	}
	return s
}

// Began returns the time that a turn's id contains, or the zero time if id is not valid.
func Began(id string) time.Time {
	began, _ := ident.Time(id)
	return began
}

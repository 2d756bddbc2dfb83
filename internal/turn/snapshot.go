package turn

import (
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
)

// Snapshot is what a turn has said up to a point in time.
type Snapshot struct {
	Events []chat.Event // deltas run together
	Ended  bool
	Err    error // that ended it; nil for a completed turn
}

// Snapshot returns what the turn has said so far, without waiting.
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

// Began returns the time that is part of a turn's id; zero for an id of another form.
func Began(id string) time.Time {
	began, _ := ident.Time(id)
	return began
}

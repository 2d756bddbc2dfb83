package turn

import (
	"context"
	"iter"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/llm"
)

// Log holds the events of a turn so far. It is safe for concurrent use. Readers never block the turn.
//
// Each event has a position: the sum of its own length and the lengths of all events before it. The
// length of a delta is its number of bytes; the length of any other event, and of the error that ends a
// turn, is one. Deltas can thus be stored and sent merged, and a client that has seen a position still
// gets exactly what follows it.
type Log struct {
	id    string
	scope Scope
	stop  func(error) // cancels the turn with a cause; nil before the turn runs, and if the log was stored

	mu      sync.Mutex
	entries []entry
	at      int // the position of the last entry
	bytes   int // approximate size of the entries in memory
	begun   bool
	ended   bool
	err     error         // the error that ended the turn
	changed chan struct{} // closed at the next change; nil when no reader waits
}

// entry is an event, or a sequence of deltas of one message.
type entry struct {
	event   chat.Event // nil for deltas
	at      int64      // for an event: its time, in microseconds of Unix time
	thought bool       // for deltas: they are reasoning
	message string     // for deltas: the id of the message
	vendor  *llm.Vendor
	text    []byte // for deltas
	end     int    // position of the end of the entry
}

// Limits in bytes: of a log, and of a merged delta.
const (
	maxLog   = 16 << 20
	maxDelta = 64 << 10
)

// blockSize is the size in bytes of the blocks that store the text of a running turn. Growing by blocks
// avoids copying the existing text again and again for many streams.
const blockSize = 1 << 10

var errTooLong = &chat.Error{Kind: chat.TooLarge, Msg: "The answer is too long."}

func newLog(id string, scope Scope) *Log { return &Log{id: id, scope: scope} }

// NewLog returns the log of a turn that has not begun, for use with Logged.
func NewLog(id string) *Log { return newLog(id, Scope{}) }

// Logged runs a turn that writes to the given log, so that a protocol can show the turn while it runs. A
// Runner writes to this log instead of a new one. For any other runner, Logged itself writes the events,
// with the times that now returns. Unless the turn is kept (Options.Keep), the log has ended when the
// sequence ends.
func Logged(ctx context.Context, runner chat.Runner, req *chat.Request, log *Log, now func() time.Time) iter.Seq2[chat.Event, error] {
	if r, ok := runner.(*Runner); ok {
		return r.runInto(ctx, req, log)
	}
	return func(yield func(chat.Event, error) bool) {
		log.begin()
		defer log.End(errUnfinished)
		for e, err := range runner.Run(ctx, req) {
			if err != nil {
				log.End(err)
			} else {
				log.add(e, now())
			}
			if !yield(e, err) {
				return
			}
			if _, last := e.(chat.TurnFinished); last {
				log.End(nil)
			}
		}
	}
}

// Scope returns the owner of the turn and its namespace.
func (l *Log) Scope() Scope { return l.scope }

// add appends an event with its time. It reports whether there was room for the event.
func (l *Log) add(e chat.Event, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes += sizeOf(e); l.bytes > maxLog {
		return false
	}
	switch e := e.(type) {
	case chat.TextDelta:
		l.addText(entry{message: e.ID, vendor: e.Vendor}, e.Text)
	case chat.ReasoningDelta:
		l.addText(entry{message: e.ID, thought: true}, e.Text)
	default:
		l.at++
		l.entries = append(l.entries, entry{event: e, at: at.UnixMicro(), end: l.at})
	}
	l.wake()
	return true
}

// addText appends a delta. It merges the delta with the previous entry if possible.
func (l *Log) addText(delta entry, text string) {
	l.at += len(text)
	if n := len(l.entries); n > 0 && l.entries[n-1].joins(delta) && l.entries[n-1].extend(text, l.at) {
		return
	}
	delta.text, delta.end = []byte(text), l.at
	l.entries = append(l.entries, delta)
}

// joins reports whether a delta can be merged with e.
func (e *entry) joins(delta entry) bool {
	return e.event == nil && delta.event == nil && e.message == delta.message && e.thought == delta.thought && e.vendor == delta.vendor
}

// extend appends a text if the entry's block has room for it, and reports whether it has. An entry gets a block
// with its second text.
func (e *entry) extend(text string, end int) bool {
	size := len(e.text) + len(text)
	if size > max(blockSize, cap(e.text)) {
		return false
	}
	if size > cap(e.text) {
		e.text = append(make([]byte, 0, blockSize), e.text...)
	}
	e.text, e.end = append(e.text, text...), end
	return true
}

// text returns the text of a message so far.
func (l *Log) text(message string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for i := range l.entries {
		if e := &l.entries[i]; e.event == nil && !e.thought && e.message == message {
			b.Write(e.text)
		}
	}
	return b.String()
}

// length returns the number of positions that the entry covers.
func (e *entry) length() int {
	if e.event != nil {
		return 1
	}
	return len(e.text)
}

// begin marks the turn as begun. Refuse has no effect afterwards.
func (l *Log) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

// Refuse ends the log with an error if its turn has not begun. A turn that has begun ends its log
// itself, which may be long after its client left.
func (l *Log) Refuse(err error) {
	l.mu.Lock()
	begun := l.begun
	l.mu.Unlock()
	if !begun {
		l.End(err)
	}
}

// End ends the log with the error that ended the turn, or nil. Only the first call has an effect.
func (l *Log) End(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended, l.err = true, err
		l.wake()
	}
}

// wake wakes the waiting readers. The caller must hold l.mu.
func (l *Log) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Stop cancels the turn, and reports whether it was still running.
func (l *Log) Stop() bool {
	l.mu.Lock()
	stop := l.stop
	running := stop != nil && !l.ended
	l.mu.Unlock()
	if running {
		stop(errStopped)
	}
	return running
}

// Over reports whether the turn has ended and nothing follows the position after.
func (l *Log) Over(after int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended && (after > l.at || after == l.at && l.err == nil)
}

// Ended reports whether the turn has ended.
func (l *Log) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// Follow yields the events after a position until the turn has ended. A slow reader gets fewer, longer
// deltas. If idle is not 0, a nil event is yielded whenever nothing has happened for that long. An error is
// the last item: either the turn's error, with its number, or that of ctx, without one.
func (l *Log) Follow(ctx context.Context, after int, idle time.Duration) iter.Seq2[chat.Numbered, error] {
	return func(yield func(chat.Numbered, error) bool) {
		for {
			n, changed, err := l.Behind(after)
			switch {
			case err != nil:
				yield(n, err)
				return
			case n.Event == nil && changed == nil:
				return
			case n.Event == nil:
				late, err := wait(ctx, changed, idle)
				if err != nil {
					yield(n, err)
					return
				}
				if !late {
					continue
				}
			default:
				after = n.Seq
			}
			if !yield(n, nil) {
				return
			}
		}
	}
}

// wait waits for a change. late means that there was none for the duration idle; 0 means no limit.
func wait(ctx context.Context, changed <-chan struct{}, idle time.Duration) (late bool, err error) {
	var expired <-chan time.Time
	if idle > 0 {
		timer := time.NewTimer(idle)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-changed:
		return false, nil
	case <-expired:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Behind returns the event after a position without waiting. If there is none, it returns the error that
// ended the turn, or a channel that is closed at the next change, or neither when the turn has ended.
func (l *Log) Behind(after int) (n chat.Numbered, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].end > after }); i < len(l.entries); i++ {
		if n, ok := l.entries[i].behind(after); ok {
			n.Turn = l.id
			return n, nil, nil
		}
	}
	if !l.ended {
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		return n, l.changed, nil
	}
	if l.err != nil && after <= l.at {
		return chat.Numbered{Turn: l.id, Seq: l.at + 1}, nil, l.err
	}
	return n, nil, nil
}

// behind returns the part of the entry after a position, up to the maximum length of a delta. A position
// that was not handed out may be inside a character; that character is left out.
func (e *entry) behind(after int) (n chat.Numbered, ok bool) {
	if e.event != nil {
		return chat.Numbered{Seq: e.end, Event: e.event, At: time.UnixMicro(e.at).UTC()}, true
	}
	rest := e.text[max(0, after-(e.end-len(e.text))):]
	for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
		rest = rest[1:]
	}
	end := e.end
	if len(rest) > maxDelta {
		cut := maxDelta
		for cut > maxDelta-utf8.UTFMax && !utf8.RuneStart(rest[cut]) {
			cut--
		}
		end -= len(rest) - cut
		rest = rest[:cut]
	}
	if len(rest) == 0 {
		return n, false
	}
	n.Seq = end
	if e.thought {
		n.Event = chat.ReasoningDelta{ID: e.message, Text: string(rest)}
	} else {
		n.Event = chat.TextDelta{ID: e.message, Text: string(rest), Vendor: e.vendor}
	}
	return n, true
}

// sizeOf returns the approximate size of an event in memory, in bytes.
func sizeOf(e chat.Event) int {
	const least = 256
	switch e := e.(type) {
	case chat.TextDelta:
		if e.Vendor == nil {
			return len(e.Text)
		}
		return least + len(e.Text)
	case chat.ReasoningDelta:
		return len(e.Text)
	case chat.PassagesRetrieved:
		n := least
		for _, p := range e.Passages {
			n += least + len(p.Chunk.Text)
		}
		return n
	case chat.PromptBuilt:
		n := least
		for _, s := range e.Sources {
			n += len(s)
		}
		for _, m := range e.Messages {
			n += partsSize(m)
		}
		return n
	case chat.ToolReturned:
		return least + len(e.Text)
	case chat.MessageFinished:
		return least*(1+len(e.Citations)) + len(e.Text)
	}
	return least
}

func partsSize(m llm.Message) (n int) {
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Image)
	}
	return n
}

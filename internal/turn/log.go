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

// Log is what a turn has said so far. Its methods may be called concurrently, and readers never hold up the
// turn.
//
// Each event has a position: the sum of what it and the events before it count. A delta counts its bytes; any
// other event, and the error that ends a turn, counts one. So deltas can be stored and sent merged, and a
// client that has seen a position still gets exactly what follows it.
type Log struct {
	id    string
	scope Scope
	stop  func(error) // cancels the turn with a cause; nil for one that has ended

	mu      sync.Mutex
	entries []entry
	at      int // the position of the last entry
	bytes   int // about what the entries take
	begun   bool
	ended   bool
	err     error         // with which the turn ended
	changed chan struct{} // closed at the next change; nil when nobody waits
}

// entry is an event, or a run of deltas of one message.
type entry struct {
	event   chat.Event // nil for deltas
	at      int64      // of an event: when it came, in microseconds of Unix time
	thought bool       // of deltas: they are reasoning
	message string     // of deltas: its id
	vendor  *llm.Vendor
	text    []byte // of deltas
	end     int    // position
}

// The bounds of a log, in bytes: of the whole, and of a delta that is run together.
const (
	maxLog   = 16 << 20
	maxDelta = 64 << 10
)

// blockSize is the size of the pieces in which the text of a turn that runs is kept, in bytes. It grows by
// pieces, so that what is there already is not copied again and again: there are many streams.
const blockSize = 1 << 10

var errTooLong = &chat.Error{Kind: chat.TooLarge, Msg: "The answer is too long."}

func newLog(id string, scope Scope) *Log { return &Log{id: id, scope: scope} }

// NewLog returns the log of a turn that has not begun, for Logged.
func NewLog(id string) *Log { return newLog(id, Scope{}) }

// Logged runs a turn whose log is the given one, so that a protocol can show it while the turn runs. A Runner
// writes to it what it would write to a log of its own; of any other runner Logged writes the events, with
// the times of now. The log of a turn that is not kept (Options.Keep) has ended when the sequence has.
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

// Scope says whose turn it is.
func (l *Log) Scope() Scope { return l.scope }

// add appends an event that came at a time, and reports whether there was room for it.
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

// addText appends a delta, to the one before it if that is alike.
func (l *Log) addText(delta entry, text string) {
	l.at += len(text)
	if n := len(l.entries); n > 0 && l.entries[n-1].joins(delta) && l.entries[n-1].extend(text, l.at) {
		return
	}
	delta.text, delta.end = []byte(text), l.at
	l.entries = append(l.entries, delta)
}

// joins reports whether a delta can be run together with those of e.
func (e *entry) joins(delta entry) bool {
	return e.event == nil && delta.event == nil && e.message == delta.message && e.thought == delta.thought && e.vendor == delta.vendor
}

// extend appends a text where its block has room for it, which a block gets with its second text.
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

// text returns what a message has said.
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

// length returns how many positions the entry takes.
func (e *entry) length() int {
	if e.event != nil {
		return 1
	}
	return len(e.text)
}

// begin says that the turn has begun, so that Refuse is too late.
func (l *Log) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

// Refuse ends the log with an error if its turn has not begun. A turn that has ends its log itself, which may
// be long after its client left.
func (l *Log) Refuse(err error) {
	l.mu.Lock()
	begun := l.begun
	l.mu.Unlock()
	if !begun {
		l.End(err)
	}
}

// End ends the log with the error that ended the turn, nil for none. Only the first call counts.
func (l *Log) End(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended, l.err = true, err
		l.wake()
	}
}

// wake wakes the waiting readers. The caller holds l.mu.
func (l *Log) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Stop ends the turn, and reports whether it was still running.
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

// Over reports whether the turn has ended and nothing follows a position.
func (l *Log) Over(after int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended && (after > l.at || after == l.at && l.err == nil)
}

// Follow yields the events after a position, numbered by their own, until the turn has ended. A slow
// reader gets fewer, longer deltas. With idle set, a nil event says that nothing has happened for that
// long. An error is the last item: the turn's, with its number, or that of ctx, without one.
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

// wait waits for a change, and says that it is late when there was none for long.
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

// Behind returns the event after a position without waiting. Without one it returns the error with which
// the turn ended, or a channel that is closed at the next change; nil when there will be no change.
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

// behind returns the part of the entry after a position, at most as long as one delta may be. A position
// that no client was given may be inside a character; that character is left out.
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

// sizeOf returns about what an event takes, in bytes.
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

package chatui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
)

// board holds the state of a reply. The goroutine that ranges over the turn writes to it and never
// waits for the client; who answers the request reads from it when it is time to send something.
// So a token costs the same whether or not it gets an event of its own, and a slow client slows
// neither its turn nor anything else.
type board struct {
	now     func() time.Time
	changed chan struct{} // of capacity 1: something is new
	ended   chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	entries  []*entry // in the order of their beginning
	byID     map[string]*entry
	over     bool  // the turn has ended, err says how
	err      error // nil when it ended well
	panicked any   // what the turn panicked with
}

// entry is a message as far as it came.
type entry struct {
	id      string // of the message, which it keeps when its agent takes it back for another one
	current string // id of the message of the turn that it shows
	agent   string
	text    strings.Builder
	content []byte // text as JSON, without the quote behind it
	sniffer sniffer
	ended   *chat.MessageFinished
	err     error // why it failed
	at      time.Time

	shown  int  // bytes of content in the last processing event
	closed bool // its terminal event was sent
}

// start ranges over a turn in a goroutine that ends with the turn.
func start(ctx context.Context, now func() time.Time, events iter.Seq2[chat.Event, error]) *board {
	b := &board{now: now, changed: make(chan struct{}, 1), ended: make(chan struct{}), byID: map[string]*entry{}}
	go b.follow(ctx, events)
	return b
}

func (b *board) follow(ctx context.Context, events iter.Seq2[chat.Event, error]) {
	defer close(b.ended)
	defer func() {
		if v := recover(); v != nil {
			b.mu.Lock()
			b.panicked = fmt.Errorf("panic in a turn: %v\n%s", v, debug.Stack())
			b.mu.Unlock()
			b.end(wire.ErrEndedEarly)
		}
	}()
	for e, err := range events {
		if err != nil {
			b.end(causeOf(ctx, err))
			return
		}
		b.add(e)
		if _, last := e.(chat.TurnFinished); last {
			b.end(nil)
			return
		}
	}
	b.end(wire.ErrEndedEarly)
}

// causeOf returns why a turn ended in words for its client.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && chat.KindOf(err) == chat.Internal {
		return errTooLong
	}
	return wire.CauseOf(ctx, err)
}

func (b *board) add(e chat.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	switch e := e.(type) {
	case chat.MessageStarted:
		b.begin(e)
	case chat.TextDelta:
		m := b.byID[e.ID]
		if m == nil || m.current != e.ID {
			return
		}
		m.text.WriteString(e.Text)
		m.content = appendContent(m.content, e.Text)
	case chat.MessageFinished:
		m := b.byID[e.ID]
		if m == nil || m.current != e.ID {
			return // taken back
		}
		m.ended, m.err, m.at = &e, wire.MessageError(e), b.now()
	default:
		return
	}
	b.tell()
}

// begin adds a message, or empties the one whose place it takes.
func (b *board) begin(e chat.MessageStarted) {
	m := b.byID[e.Replaces]
	if m == nil {
		m = &entry{id: e.ID}
		b.entries = append(b.entries, m)
	}
	m.current, m.agent = e.ID, e.Agent
	m.text.Reset()
	m.content, m.sniffer, m.shown = []byte{'"'}, sniffer{}, 0
	b.byID[e.ID] = m
}

// appendContent appends a text to an open JSON string.
func appendContent(dst []byte, text string) []byte {
	from := len(dst)
	dst = wire.AppendString(dst, text)
	return append(dst[:from], dst[from+1:len(dst)-1]...)
}

// end fixes the reply: the turn has ended, or is not waited for any more. Messages that are open
// fail with its error. Where none is, something failed behind the last one, which is then not
// known to stay. Only the first call counts.
func (b *board) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.over, b.err = true, err
	open := false
	for _, m := range b.entries {
		if m.ended == nil {
			open = true
			m.fail(err, b.now())
		}
	}
	if last := len(b.entries) - 1; err != nil && !open && last >= 0 && !b.entries[last].closed {
		b.entries[last].fail(err, b.now())
	}
	b.tell()
}

func (m *entry) fail(err error, at time.Time) {
	if err == nil {
		err = wire.ErrEndedEarly
	}
	m.ended, m.err, m.at = &chat.MessageFinished{Status: chat.StatusFailed}, err, at
}

func (b *board) tell() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// message returns an entry as it is now. Its content is the entry's own buffer.
func (m *entry) message(x *exchange, now time.Time) message {
	out := message{
		id: m.id, conversation: x.conversation, status: processing, at: now,
		content: append(m.content, '"'), markdown: m.sniffer.look(m.text.String()),
	}
	if x.team {
		out.agent = m.agent
	}
	if m.ended == nil {
		return out
	}
	out.status, out.at, out.sources = completed, m.at, sourcesOf(x.base, m.ended.Citations)
	if m.err != nil {
		f := wire.FailureOf(m.err)
		out.status, out.failure = failed, &f
	}
	return out
}

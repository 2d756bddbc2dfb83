package chatui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire"
)

// board is the state of a reply: a view of the turn's log, which is updated whenever something may be
// sent. A token thus costs the same whether or not it gets its own event, and a slow client delays
// neither its turn nor anything else. Only the goroutine that answers the request uses it.
type board struct {
	log  *turn.Log
	seen int // position in the log

	entries []*entry // in the order in which they began; see arrange
	byID    map[string]*entry
	over    bool  // the reply is final, and err says how it ended
	err     error // nil for success

	ended chan struct{} // closed when the turn has ended, after which turn may be read
	turn  outcome
}

// outcome is how a turn ended.
type outcome struct {
	err      error // nil when it completed
	panicked error // the value of its panic
	at       time.Time
}

// entry is a message, as far as it has arrived.
type entry struct {
	id      string // of the message; stays the same when another message of the turn replaces it
	current string // id of the turn's message that it shows
	agent   string
	text    strings.Builder
	content []byte // text as JSON, without the closing quote
	sniffer sniffer
	ended   *chat.MessageFinished
	err     error // why the message failed
	at      time.Time

	shown  int  // bytes of content in the last processing event
	closed bool // its terminal event was sent
}

// start runs a turn in a new goroutine, which ends with the turn.
func start(ctx context.Context, now func() time.Time, runner chat.Runner, req *chat.Request) *board {
	b := newBoard(turn.NewLog(req.TurnID))
	go func() {
		defer close(b.ended)
		defer func() {
			if v := recover(); v != nil {
				b.turn.panicked = fmt.Errorf("panic in a turn: %v\n%s", v, debug.Stack())
			}
			b.turn.at = now()
		}()
		b.turn.err = wire.ErrEndedEarly
		for e, err := range turn.Logged(ctx, runner, req, b.log, now) {
			_, last := e.(chat.TurnFinished)
			if err != nil {
				err = causeOf(ctx, err)
			}
			if err != nil || last {
				b.turn.err = err
				return
			}
		}
	}()
	return b
}

func newBoard(log *turn.Log) *board {
	return &board{log: log, ended: make(chan struct{}), byID: map[string]*entry{}}
}

// causeOf returns why a turn ended, for its client.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && chat.KindOf(err) == chat.Internal {
		return errTooLong
	}
	return wire.CauseOf(ctx, err)
}

// update reads new events from the log, and makes the reply final when the turn has ended. It returns a
// channel that is closed when there is more to read, or nil when the log is complete.
func (b *board) update() (changed <-chan struct{}) {
	ended := false
	select {
	case <-b.ended: // the log is complete
		ended = true
	default:
	}
	for !b.over {
		n, more, _ := b.log.Behind(b.seen) // the error is that of the turn
		if n.Event == nil {
			changed = more
			break
		}
		b.add(n)
		b.seen = n.Seq
	}
	if ended {
		b.end(b.turn.err, b.turn.at)
	}
	return changed
}

func (b *board) add(n chat.Numbered) {
	switch e := n.Event.(type) {
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
			return // it was replaced
		}
		m.ended, m.err, m.at = &e, wire.MessageError(e), n.At
	}
}

// begin adds a message, or clears the message that it replaces.
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

// end makes the reply final: the turn has ended, or took too long. Open messages fail with err. If
// none is open, err occurred after the last message, which may then not have been saved, so that message fails,
// unless its terminal event was sent. Only the first call has an effect.
func (b *board) end(err error, at time.Time) {
	if b.over {
		return
	}
	b.over, b.err = true, err
	open := false
	for _, m := range b.entries {
		if m.ended == nil {
			open = true
			m.fail(err, at)
		}
	}
	if last := len(b.entries) - 1; err != nil && !open && last >= 0 && !b.entries[last].closed {
		b.entries[last].fail(err, at)
	}
}

func (m *entry) fail(err error, at time.Time) {
	if err == nil {
		err = wire.ErrEndedEarly
	}
	m.ended, m.err, m.at = &chat.MessageFinished{Status: chat.StatusFailed}, err, at
}

// message returns the current state of an entry. Its content shares the entry's buffer.
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

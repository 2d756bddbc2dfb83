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

// board is the state of a reply: a view of the turn's log, which is brought up to date when something may
// be sent. So a token costs the same whether or not it gets an event of its own, and a slow client slows
// neither its turn nor anything else. It is used by the goroutine that answers the request.
type board struct {
	log  *turn.Log
	seen int // position in the log

	entries []*entry // in the order of their beginning
	byID    map[string]*entry
	over    bool  // the reply is fixed, err says how it ended
	err     error // nil when it ended well

	ended chan struct{} // closed when the turn has ended, after which the following may be read
	turn  outcome
}

// outcome is how a turn ended.
type outcome struct {
	err      error // nil when it completed
	panicked error // what it panicked with
	at       time.Time
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

// start runs a turn in a goroutine that ends with the turn.
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

// causeOf returns why a turn ended in words for its client.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && chat.KindOf(err) == chat.Internal {
		return errTooLong
	}
	return wire.CauseOf(ctx, err)
}

// update reads what is new in the log, and fixes the reply when the turn has ended. It returns a channel
// that is closed when there is more to read, nil when there will be nothing.
func (b *board) update() (changed <-chan struct{}) {
	ended := false
	select {
	case <-b.ended: // so the log is complete
		ended = true
	default:
	}
	for !b.over {
		n, more, _ := b.log.Behind(b.seen) // its error is that of the turn
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
			return // taken back
		}
		m.ended, m.err, m.at = &e, wire.MessageError(e), n.At
	}
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

// end fixes the reply: the turn has ended, or is not waited for any longer. Messages that are open
// fail with its error. If none is open, something failed after the last one, which is then not
// known to stay. Only the first call counts.
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

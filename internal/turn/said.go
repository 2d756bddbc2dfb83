package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Said is the log of a turn in its stored form.
type Said struct {
	Scope  Scope
	Events []byte      // the events that clients may see, and the prompt, which only the turn's owner may see; see packer
	Err    *chat.Error // the error that ended the turn, without its cause; nil for a completed turn
}

// SaidLifetime is how long Said is stored. The messages of the turn are stored longer.
const SaidLifetime = 24 * time.Hour

// maxSaid limits the stored events of one turn, in bytes. If there are more, none are stored.
const maxSaid = 4 << 20

// Public returns the part of an event that clients may see, which is the same in every protocol. It
// omits the prompt, the owners and readers of documents, and data that concerns only a provider.
func Public(e chat.Event) chat.Event {
	switch e := e.(type) {
	case chat.PromptBuilt:
		e.Messages, e.Sources = nil, nil
		return e
	case chat.PassagesRetrieved:
		passages := make([]retrieval.Passage, len(e.Passages))
		for i, p := range e.Passages {
			d := &p.Document
			p.Document = retrieval.Document{ID: d.ID, Namespace: d.Namespace, Name: d.Name, Title: d.Title, URL: d.URL,
				Category: d.Category, MediaType: d.MediaType, Pages: d.Pages}
			passages[i] = p
		}
		e.Passages = passages
		return e
	case chat.CompletionStarted:
		e.Vendor = nil
		return e
	case chat.TextDelta:
		e.Vendor = nil
		return e
	case chat.ToolCalled:
		e.Call.Signature = ""
		return e
	case chat.ToolStarted:
		e.Call.Signature = ""
		return e
	case chat.MessageFinished:
		e.Vendor = nil
		e.ToolCalls = append(e.ToolCalls[:0:0], e.ToolCalls...)
		for i := range e.ToolCalls {
			e.ToolCalls[i].Signature = ""
		}
		return e
	}
	return e
}

// kept returns the part of an event that is stored: the public part, and the messages of the prompt, which
// the turn's owner may read. It replaces pictures, which are in the documents, by PictureLeftOut.
func kept(e chat.Event) chat.Event {
	built, ok := e.(chat.PromptBuilt)
	if !ok {
		return Public(e)
	}
	built.Sources = nil
	messages := make([]llm.Message, len(built.Messages))
	for i, m := range built.Messages {
		m.Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			if m.Parts[j].Image != "" {
				m.Parts[j].Image = PictureLeftOut
			}
		}
		messages[i] = m
	}
	built.Messages = messages
	return built
}

// PictureLeftOut replaces a picture in the stored messages of a prompt.
const PictureLeftOut = "data:,"

// said packs the events of the turn for the store, followed by last unless that is nil. The result is valid
// until p is used again.
func (t *running) said(p *packer, last chat.Event, ended error) (*Said, error) {
	said := &Said{Scope: t.record.Scope, Err: told(ended)}
	if last != nil {
		said.Err = nil
	}
	events, err := t.log.pack(p, last, t.seen)
	if err != nil {
		return nil, fmt.Errorf("pack what was said: %w", err)
	}
	if len(events) > maxSaid {
		events, said.Err = nil, errTooLong
	}
	said.Events = events
	return said, nil
}

// told returns the part of an error that clients may see.
func told(err error) *chat.Error {
	if err == nil {
		return nil
	}
	e := &chat.Error{Kind: chat.KindOf(err)}
	if known, ok := errors.AsType[*chat.Error](err); ok && e.Kind != chat.Internal {
		e.Msg = known.Msg
	}
	return e
}

// pack packs the events for the store with p. It merges deltas, and appends last with its time, unless last
// is nil.
func (l *Log) pack(p *packer, last chat.Event, at time.Time) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := 0; i < len(l.entries); {
		e, n := l.run(i)
		i += n
		for after := e.end - e.length(); after < e.end; {
			next, ok := e.behind(after)
			if !ok {
				break
			}
			p.add(next.Seq, kept(next.Event), next.At)
			after = next.Seq
		}
	}
	if last != nil {
		p.add(l.at+1, kept(last), at)
	}
	return p.bytes()
}

// run returns the entry at i, merged with the n-1 entries after it that differ only in provider data.
func (l *Log) run(i int) (e entry, n int) {
	e = l.entries[i]
	e.vendor = nil
	for n = 1; i+n < len(l.entries) && e.event == nil; n++ {
		next := l.entries[i+n]
		next.vendor = nil
		if !e.joins(next) {
			break
		}
		if n == 1 {
			e.text = bytes.Clone(e.text)
		}
		e.text, e.end = append(e.text, next.text...), next.end
	}
	return e, n
}

// unpackLog returns the log of a turn that has ended.
func unpackLog(id string, said Said) (*Log, error) {
	l := newLog(id, said.Scope)
	for n, err := range unpack(said.Events) {
		if err != nil {
			return nil, err
		}
		l.add(n.Event, n.At)
	}
	if said.Err != nil {
		l.End(said.Err)
	} else {
		l.End(nil)
	}
	return l, nil
}

// Log returns the log of a turn: while the turn runs, from memory or from the server that runs it, and afterwards from
// the store. The error is ErrNotFound for an unknown turn, a turn that is too old, and another owner's turn.
func (r *Runner) Log(ctx context.Context, owner, id string) (*Log, error) {
	if l := r.live.find(id); l != nil {
		if l.scope.Owner != owner {
			return nil, ErrNotFound
		}
		return l, nil
	}
	said, err := r.store.Said(ctx, id)
	if errors.Is(err, ErrNotFound) {
		if l, err := r.elsewhere(ctx, id); err == nil && l.scope.Owner == owner {
			return l, nil
		} else if err == nil {
			return nil, ErrNotFound
		} else if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read what turn %s said: %w", id, err)
	}
	if said.Scope.Owner != owner {
		return nil, ErrNotFound
	}
	return unpackLog(id, said)
}

// Forget deletes logs that are older than SaidLifetime, and returns how many.
func (r *Runner) Forget(ctx context.Context) (int, error) {
	before := r.opts.Now().Add(-SaidLifetime)
	return inBatches("forget what turns said", func() (int, error) { return r.store.ForgetSaid(ctx, before, purgeBatch) })
}

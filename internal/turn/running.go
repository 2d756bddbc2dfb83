package turn

import (
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
)

// running is a turn that is under way: the fold of the events so far. It is used by one
// goroutine.
type running struct {
	record  Record
	meta    *meta
	started bool // an event has come, so this is a turn and no rejection
	saved   bool
	turn    chat.Turn
	open    []*partial // answers in order of their beginning
	total   *llm.Usage // of TurnFinished
}

// partial is an answer as far as it has come.
type partial struct {
	Answer
	text strings.Builder
	done bool
}

// begin returns the fold of a turn before its first event.
func (r *Runner) begin(scope Scope, req chat.Request) *running {
	now := trim(r.opts.Now())
	q := question(req.Messages)
	if q.ID == "" {
		q.ID = newID(now)
	}
	if q.CreatedAt.IsZero() {
		q.CreatedAt = now
	}
	q.CreatedAt = trim(q.CreatedAt)
	return &running{
		record: Record{
			ID: req.TurnID, Scope: scope, ConversationID: req.ConversationID,
			Question: q, StartedAt: now,
		},
		meta: &meta{turnID: req.TurnID, conversationID: req.ConversationID, scope: scope},
	}
}

// add folds one event into the turn.
func (t *running) add(e chat.Event, now time.Time) {
	t.started = true
	t.turn.Add(e)
	switch e := e.(type) {
	case chat.StageStarted:
		t.meta.enter(e.Stage)
	case chat.StageFinished:
		t.meta.leave(e.Stage)
	case chat.MessageStarted:
		a := t.answer(e.ID, now)
		a.Agent, a.Model = e.Agent, e.Model
	case chat.CompletionStarted:
		t.answer(e.ID, now).Model = e.Model
	case chat.TextDelta:
		if t.record.FirstToken == 0 {
			t.record.FirstToken = max(now.Sub(t.record.StartedAt), time.Microsecond).Truncate(time.Microsecond)
		}
		t.answer(e.ID, now).text.WriteString(e.Text)
	case chat.MessageFinished:
		t.answer(e.ID, now).close(e)
	case chat.TurnFinished:
		t.total = &e.Usage
	}
}

// answer returns the answer with that id, a new one if need be.
func (t *running) answer(id string, now time.Time) *partial {
	for _, a := range t.open {
		if a.ID == id {
			return a
		}
	}
	a := &partial{Answer: Answer{Message: chat.Message{ID: id, Role: llm.Assistant, CreatedAt: trim(now)}}}
	t.open = append(t.open, a)
	return a
}

// close takes over what the finished message says.
func (a *partial) close(e chat.MessageFinished) {
	a.done = true
	a.text.Reset()
	a.text.WriteString(e.Text)
	a.Status, a.FinishReason, a.Usage, a.Citations = e.Status, e.FinishReason, e.Usage, e.Citations
	if e.Model != "" {
		a.Model = e.Model
	}
	if e.Agent != "" {
		a.Agent = e.Agent
	}
}

// end says how the turn ended.
func (t *running) end(status chat.Status, kind chat.Kind) {
	t.record.Status, t.record.ErrorKind = status, kind
}

// finish brings the record up to date for saving. It may be called again.
func (t *running) finish(now time.Time, count func(string) int) {
	rec := &t.record
	rec.FinishedAt = trim(now)
	rec.Query = t.turn.Rewrite.Query
	rec.Requested = t.turn.Requested
	rec.Stages = t.turn.Stages
	rec.Question.Tokens = count(rec.Question.Text())
	rec.Answers = nil
	for _, a := range t.open {
		if !a.done {
			a.Status = rec.Status
		}
		text := a.text.String()
		a.Parts = []llm.Part{{Text: text}}
		a.Tokens = count(text)
		rec.Answers = append(rec.Answers, a.Answer)
		rec.Model = a.Model
	}
	rec.Usage = t.usage()
}

// usage is what the turn took: what the engine says of a finished one, else the sum of its
// finished stages, of the metered calls in the others, and of the text of answers that no meter
// watched.
func (t *running) usage() llm.Usage {
	if t.total != nil {
		return *t.total
	}
	var sum llm.Usage
	for _, s := range t.turn.Stages {
		sum = sum.Add(s.Usage)
	}
	metered, calls := t.meta.unfinished()
	if calls > 0 {
		return sum.Add(metered)
	}
	for _, a := range t.open {
		if !a.done && a.Tokens > 0 {
			sum = sum.Add(llm.Usage{Output: a.Tokens, Estimated: true})
		}
	}
	return sum
}

// trim returns a time as the store keeps it.
func trim(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

package turn

import (
	"fmt"
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/llm"
)

// running is a turn in progress: the fold of its events so far. Only one goroutine uses it.
type running struct {
	record  Record
	tab     *ledger.Tab
	started bool // an event has arrived, so this is a turn and not a rejection
	saved   bool
	turn    chat.Turn
	began   []time.Time // times at which turn.Messages began
	total   *llm.Usage  // usage of TurnFinished
	log     *Log
	claim   *Claim    // for the request's key; nil without one
	packed  *packer   // events of a turn with a claim
	seq     int       // number of the last packed event
	seen    time.Time // time of the last event
}

// begin returns the fold of a turn before its first event.
func (r *Runner) begin(scope Scope, req *chat.Request) *running {
	now := trim(r.opts.Now())
	rec := Record{
		ID: req.TurnID, Scope: scope, ConversationID: req.ConversationID, Home: req.Home, Kind: req.Kind,
		Results: results(req.Messages), StartedAt: now, Account: req.Account,
	}
	for i := range rec.Results {
		identify(&rec.Results[i], now)
	}
	// The question that the results belong to is stored with the turn that called the tools.
	if len(rec.Results) == 0 || req.ConversationID == "" {
		rec.Question = question(req.Messages)
		identify(&rec.Question, now)
	}
	return &running{
		record: rec,
		tab:    ledger.NewTab(req.TurnID, req.ConversationID, scope, req.Account, r.opts.Budgets),
	}
}

// identify adds the id and the time that a message of the request needs for being stored.
func identify(m *chat.Message, now time.Time) {
	if m.ID == "" {
		m.ID = ident.At(now)
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = now
	}
	m.CreatedAt = trim(m.CreatedAt)
}

// add folds one event into the turn.
func (t *running) add(e chat.Event, now time.Time) {
	t.started, t.seen = true, now
	t.tab.Note(e)
	t.fold(e)
	if t.packed != nil {
		t.seq++
		t.packed.add(t.seq, e, time.Time{})
	}
	for len(t.began) < len(t.turn.Messages) {
		t.began = append(t.began, trim(now))
	}
	switch e := e.(type) {
	case chat.TextDelta:
		if t.record.FirstToken == 0 {
			t.record.FirstToken = max(now.Sub(t.record.StartedAt), time.Microsecond).Truncate(time.Microsecond)
		}
	case chat.TurnFinished:
		t.total = &e.Usage
	}
}

// fold folds an event into t.turn. It omits the text of deltas, which the log has.
func (t *running) fold(e chat.Event) {
	switch e := e.(type) {
	case chat.TextDelta:
		t.turn.Add(chat.TextDelta{ID: e.ID})
	case chat.ReasoningDelta:
	default:
		t.turn.Add(e)
	}
}

// took returns the spending of the turn that counts against budgets. A rejected request spends nothing.
func (t *running) took() ledger.Amount {
	if !t.started {
		return ledger.Amount{}
	}
	total := t.tab.Took()
	total.Requests = 1
	return total
}

// answer completes the record of the request's key, if there is one.
func (t *running) answer(now time.Time) error {
	if t.claim == nil {
		return nil
	}
	events, err := t.packed.bytes()
	if err != nil {
		return fmt.Errorf("pack events: %w", err)
	}
	a := t.claim.answered
	a.TurnID, a.Events, a.At = t.record.ID, events, trim(now)
	t.record.Answered = &a
	return nil
}

// end sets the status of the turn and of answers that are still open.
func (t *running) end(status chat.Status, kind chat.Kind) {
	t.record.Status, t.record.ErrorKind = status, kind
	for i := range t.turn.Messages {
		if m := &t.turn.Messages[i]; m.Status == "" {
			m.Text = t.log.text(m.ID)
		}
	}
	t.turn.End(status)
}

// finish updates the record for saving. It may be called again.
func (t *running) finish(now time.Time, count func(string) int) {
	rec := &t.record
	rec.FinishedAt = trim(now)
	rec.Query = t.turn.Rewrite.Query
	rec.Requested = t.turn.Requested
	rec.Stages = t.turn.Stages
	rec.Question.Tokens = count(rec.Question.Text())
	for i := range rec.Results {
		rec.Results[i].Tokens = count(rec.Results[i].Text())
	}
	rec.Answers = make([]Answer, len(t.turn.Messages))
	for i, m := range t.turn.Messages {
		rec.Answers[i] = Answer{
			Message: chat.Message{
				ID: m.ID, Role: llm.Assistant, Agent: m.Agent, Parts: []llm.Part{{Text: m.Text}},
				Citations: m.Citations, Tokens: tokensOf(m, count), CreatedAt: t.began[i], ToolCalls: m.ToolCalls,
				ToolsUsed: t.turn.ToolsUsed(m.ID),
			},
			Doubts: m.Doubts,
			Status: m.Status, FinishReason: m.FinishReason, Model: m.Model, Usage: m.Usage,
		}
		if m.Agent != "" && m.Status != chat.StatusCompleted && m.Usage == (llm.Usage{}) {
			rec.Answers[i].Usage = t.tab.SpentBy(m.Agent)
		}
		rec.Model = m.Model
	}
	rec.Usage = t.usage()
	rec.Free, rec.Ended = t.tab.Entries()
}

// tokensOf counts the tokens of an answer, including its tool calls.
func tokensOf(m chat.MessageFinished, count func(string) int) int {
	n := count(m.Text)
	for _, c := range m.ToolCalls {
		n += count(c.Name) + count(c.Arguments)
	}
	return n
}

// usage returns the usage of the turn. For a completed turn it is the engine's total plus the metered calls of
// agents that failed. Otherwise it is the sum of the finished stages and of the metered calls in unfinished
// stages. If there are no such calls, the text of unfinished answers is counted instead.
func (t *running) usage() llm.Usage {
	metered, calls := t.tab.Unfinished()
	if t.total != nil {
		return t.total.Add(metered)
	}
	var sum llm.Usage
	for _, s := range t.turn.Stages {
		sum = sum.Add(s.Usage)
	}
	if calls > 0 {
		return sum.Add(metered)
	}
	for _, a := range t.record.Answers {
		if a.Status != chat.StatusCompleted && a.Tokens > 0 && a.Usage == (llm.Usage{}) {
			sum = sum.Add(llm.Usage{Output: a.Tokens, Estimated: true})
		}
	}
	return sum
}

// trim converts a time to the precision of the store.
func trim(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

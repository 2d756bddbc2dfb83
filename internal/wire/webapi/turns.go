package webapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// turnShown is a turn in responses.
type turnShown struct {
	ID             string          `json:"id"`
	ConversationID string          `json:"conversation_id"`
	Namespace      string          `json:"namespace"`
	Status         string          `json:"status"`
	Error          *failure        `json:"error"`
	Question       string          `json:"question"`
	Answer         string          `json:"answer"`
	Messages       []messageShown  `json:"messages"`
	Model          string          `json:"model"`
	Requested      string          `json:"requested_model"`
	StartedAt      string          `json:"started_at"`
	FinishedAt     *string         `json:"finished_at"`
	Duration       milliseconds    `json:"duration"`
	FirstToken     milliseconds    `json:"first_token"`
	Stages         []stageShown    `json:"stages"`
	Thoughts       *thoughts       `json:"thoughts"`
	Citations      []citationShown `json:"citations"`
	Unsupported    []chat.Doubt    `json:"unsupported"`
	FollowUps      []string        `json:"follow_ups"`
	Usage          usage           `json:"usage"`
	Cost           *wire.USD       `json:"cost"`
	Calls          []callShown     `json:"calls"`
	Conversation   *totals         `json:"conversation"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type messageShown struct {
	ID     string `json:"id"`
	Agent  string `json:"agent"`
	Status string `json:"status"`
	Text   string `json:"text"`
}

type stageShown struct {
	Stage    chat.Stage   `json:"stage"`
	Agent    string       `json:"agent"`
	Status   string       `json:"status"` // running, finished
	Duration milliseconds `json:"duration"`
	Model    string       `json:"model"`
	Note     string       `json:"note"`
	Usage    usage        `json:"usage"`
	Cost     *wire.USD    `json:"cost"`
}

type callShown struct {
	Stage    chat.Stage    `json:"stage"`
	Provider string        `json:"provider"`
	Model    string        `json:"model"`
	Status   ledger.Status `json:"status"`
	Duration milliseconds  `json:"duration"`
	Usage    usage         `json:"usage"`
	Cost     *wire.USD     `json:"cost"`
}

type usage struct {
	Input     int  `json:"input_tokens"`
	Output    int  `json:"output_tokens"`
	Cached    int  `json:"cached_tokens"`
	Reasoning int  `json:"reasoning_tokens"`
	Estimated bool `json:"estimated"`
}

type totals struct {
	Turns  int64     `json:"turns"`
	Tokens int64     `json:"tokens"`
	Cost   *wire.USD `json:"cost"`
}

// milliseconds is a duration. Its JSON is a number of milliseconds with up to three decimals.
type milliseconds time.Duration

// MarshalJSON writes the duration in milliseconds.
func (m milliseconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// Statuses of a stage. Turns and messages can also be running.
const (
	statusRunning  = "running"
	statusFinished = "finished"
)

// turn handles GET /api/turns/{id}.
func (h *Handler) turn(w http.ResponseWriter, r *wire.Request) error {
	who := r.Who
	v, err := h.view(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := v.shown()
	if out.Citations, err = h.citations(r.Context(), who, v); err != nil {
		return err
	}
	if out.Thoughts != nil {
		out.Thoughts.Passages = h.passages(v)
	}
	if err := h.bill(r.Context(), who, v, out); err != nil {
		return err
	}
	if out.Status == statusRunning {
		return wire.Reply(w, http.StatusOK, out)
	}
	return sendTagged(w, r, out)
}

// view is what is known about a turn: its log, while the server still has it, and its record, once the turn has
// ended. At least one of said and record is set.
type view struct {
	id      string
	scope   turn.Scope
	record  *turn.Record            // the saved turn
	said    *turn.Snapshot          // the log
	folded  chat.Turn               // the sum of the events in said
	first   *chat.PassagesRetrieved // before reranking
	running []chat.StageStarted     // unfinished stages
	calls   map[string]llm.ToolCall // of tools, by id
}

// view finds one of the caller's own turns, in a namespace that the caller may use. Otherwise it returns
// errNoTurn.
func (h *Handler) view(ctx context.Context, who access.Principal, id string) (*view, error) {
	const longest = 64
	if id == "" || len(id) > longest {
		return nil, errNoTurn
	}
	v := &view{id: id, calls: map[string]llm.ToolCall{}}
	l, err := h.log(ctx, who, id)
	switch {
	case err == nil:
		v.scope = l.Scope()
		said := l.Snapshot()
		v.said = &said
		v.fold()
	case !errors.Is(err, errNoTurn):
		return nil, err
	}
	if err := h.findRecord(ctx, who, v); err != nil {
		return nil, err
	}
	if v.said == nil && v.record == nil {
		return nil, errNoTurn
	}
	v.endMessages()
	return v, nil
}

// endMessages completes messages that were interrupted by the end of the turn. No event reports their end,
// but the saved turn contains their status and citations.
func (v *view) endMessages() {
	if v.record == nil {
		return
	}
	for i := range v.folded.Messages {
		m := &v.folded.Messages[i]
		saved := slices.IndexFunc(v.record.Answers, func(a turn.Answer) bool { return a.ID == m.ID })
		if m.Status == "" && saved >= 0 {
			a := v.record.Answers[saved]
			m.Status, m.Citations, m.Doubts = a.Status, a.Citations, a.Doubts
		}
	}
}

// findRecord looks for the saved turn in its namespace or, if that is unknown, in all namespaces that the
// caller may use. It sets v.record and v.scope if it finds the turn.
func (h *Handler) findRecord(ctx context.Context, who access.Principal, v *view) error {
	namespaces := []string{v.scope.Namespace}
	if v.said == nil {
		names, err := h.cfg.Namespaces(ctx, who)
		if err != nil {
			return fmt.Errorf("list the namespaces: %w", err)
		}
		namespaces = append([]string{h.cfg.Namespace}, names...)
	}
	for _, namespace := range namespaces {
		scope := turn.Scope{Namespace: namespace, Owner: who.Subject}
		rec, err := h.cfg.Records.Turn(ctx, scope, v.id)
		if errors.Is(err, turn.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read turn %s: %w", v.id, err)
		}
		v.record, v.scope = &rec, scope
		return nil
	}
	return nil
}

// fold processes the events of the log.
func (v *view) fold() {
	for _, e := range v.said.Events {
		v.folded.Add(e)
		switch e := e.(type) {
		case chat.PassagesRetrieved:
			if v.first == nil {
				v.first = &e
			}
		case chat.StageStarted:
			v.running = append(v.running, e)
		case chat.StageFinished:
			i := slices.Index(v.running, chat.StageStarted{Stage: e.Stage, Agent: e.Agent})
			if i >= 0 {
				v.running = slices.Delete(v.running, i, i+1)
			}
		case chat.ToolStarted:
			v.calls[e.Call.ID] = e.Call
		}
	}
	if v.said.Ended {
		v.running = nil
	}
}

// shown returns the response without the parts that need other stores: citations, passages and costs.
func (v *view) shown() *turnShown {
	out := &turnShown{
		ID: v.id, Namespace: v.scope.Namespace, Status: statusRunning, StartedAt: instant(turn.Began(v.id)),
		Messages: []messageShown{}, Stages: []stageShown{}, Unsupported: []chat.Doubt{}, FollowUps: wire.ListOf(v.folded.FollowUps),
		Calls: []callShown{},
	}
	v.addSaid(out)
	v.addRecord(out)
	for _, m := range out.Messages {
		out.Answer = m.Text
	}
	return out
}

// addSaid adds the content of the log, if there is one.
func (v *view) addSaid(out *turnShown) {
	if v.said == nil {
		return
	}
	t := &v.folded
	out.Question, out.Requested = t.Rewrite.Original, t.Requested
	out.Duration, out.Usage = milliseconds(t.Duration), usageOf(t.Usage)
	for _, m := range t.Messages {
		out.Messages = append(out.Messages, messageShown{m.ID, m.Agent, cmp.Or(string(m.Status), statusRunning), m.Text})
		out.Model = m.Model
		out.Unsupported = append(out.Unsupported, m.Doubts...)
	}
	for _, s := range t.Stages {
		out.Stages = append(out.Stages, stageOf(s))
	}
	for _, s := range v.running {
		out.Stages = append(out.Stages, stageShown{Stage: s.Stage, Agent: s.Agent, Status: statusRunning})
	}
	if v.said.Ended {
		out.Status = string(chat.StatusCompleted)
		if v.said.Err != nil {
			out.Status = string(chat.StatusFailed)
			out.Error = failureOf(v.said.Err)
		}
	}
	out.Thoughts = v.thoughts()
}

func failureOf(err error) *failure {
	f := wire.FailureOf(err)
	return &failure{f.Code, f.Text}
}

// addRecord adds the content of the saved turn, if there is one. It takes precedence over the log.
func (v *view) addRecord(out *turnShown) {
	rec := v.record
	if rec == nil {
		return
	}
	out.ConversationID, out.Status = rec.ConversationID, string(rec.Status)
	out.Question = cmp.Or(rec.Question.Text(), out.Question)
	out.Requested, out.Model = rec.Requested, rec.Model
	out.StartedAt = instant(rec.StartedAt)
	finished := instant(rec.FinishedAt)
	out.FinishedAt = &finished
	out.Duration, out.FirstToken = milliseconds(rec.FinishedAt.Sub(rec.StartedAt)), milliseconds(rec.FirstToken)
	out.Usage = usageOf(rec.Usage)
	if rec.Status == chat.StatusFailed && out.Error == nil {
		out.Error = failureOf(&chat.Error{Kind: rec.ErrorKind})
	}
	if v.said != nil {
		return // the log contains the same messages and stages, and more
	}
	for _, a := range rec.Answers {
		out.Messages = append(out.Messages, messageShown{a.ID, a.Agent, string(a.Status), a.Text()})
		out.Unsupported = append(out.Unsupported, a.Doubts...)
	}
	for _, s := range rec.Stages {
		out.Stages = append(out.Stages, stageOf(s))
	}
}

func stageOf(s chat.StageFinished) stageShown {
	return stageShown{
		Stage: s.Stage, Agent: s.Agent, Status: statusFinished, Duration: milliseconds(s.Duration), Model: s.Model,
		Note: s.Note, Usage: usageOf(s.Usage),
	}
}

func usageOf(u llm.Usage) usage {
	return usage{Input: u.Input, Output: u.Output, Cached: u.Cached, Reasoning: u.Reasoning, Estimated: u.Estimated}
}

// bill adds data from the ledger: the model calls with their costs, and the totals of the conversation.
func (h *Handler) bill(ctx context.Context, who access.Principal, v *view, out *turnShown) error {
	entries, err := h.cfg.Records.Entries(ctx, v.id)
	if err != nil {
		return fmt.Errorf("read the ledger of turn %s: %w", v.id, err)
	}
	byStage := map[chat.Stage]*wire.USD{}
	sum, known := wire.USD(0), true
	for _, e := range entries {
		c := callShown{Stage: e.Stage, Provider: e.Provider, Model: e.Model, Status: e.Status, Usage: usageOf(e.Usage)}
		if !e.SettledAt.IsZero() {
			c.Duration = milliseconds(e.SettledAt.Sub(e.CreatedAt))
		}
		if amount := wire.USD(e.Cost.Micros); e.Cost.Known {
			c.Cost = &amount
			sum += amount
		} else {
			known = false
		}
		byStage[e.Stage] = plus(byStage, e.Stage, c.Cost)
		out.Calls = append(out.Calls, c)
	}
	if known {
		out.Cost = &sum
	}
	shared := map[chat.Stage]int{}
	for _, s := range out.Stages {
		shared[s.Stage]++
	}
	for i := range out.Stages {
		s := &out.Stages[i]
		cost, called := byStage[s.Stage]
		switch {
		case !called:
			s.Cost = new(wire.USD) // a stage without model calls costs nothing
		case shared[s.Stage] == 1:
			s.Cost = cost
		} // if several agents ran the stage, the ledger does not say which of them made a call
	}
	return h.billConversation(ctx, who, v, entries, out)
}

// plus returns the cost of a stage so far plus the cost of another call; nil means unknown.
func plus(sums map[chat.Stage]*wire.USD, stage chat.Stage, cost *wire.USD) *wire.USD {
	before, ok := sums[stage]
	if !ok {
		return cost
	}
	if before == nil || cost == nil {
		return nil
	}
	sum := *before + *cost
	return &sum
}

func (h *Handler) billConversation(ctx context.Context, who access.Principal, v *view, entries []ledger.Entry, out *turnShown) error {
	var account chat.Account
	if len(entries) > 0 {
		account = entries[0].Account
	}
	key := ledger.AccountOf(who.Subject, out.ConversationID, account)
	if key.IsZero() {
		return nil
	}
	t, err := h.cfg.Records.Totals(ctx, key)
	if err != nil {
		return fmt.Errorf("read the totals of turn %s: %w", v.id, err)
	}
	out.Conversation = &totals{Turns: t.Turns, Tokens: t.EmbeddingTokens + t.InputTokens + t.OutputTokens}
	if t.Unpriced == 0 {
		cost := wire.USD(t.Micros + t.EmbeddingMicros)
		out.Conversation.Cost = &cost
	}
	return nil
}

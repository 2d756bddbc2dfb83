package ledger

import (
	"context"
	"slices"
	"sync"

	"parley/internal/chat"
	"parley/internal/llm"
)

// Tab collects the calls of one turn. The runner creates it, records the stage events of the turn in it,
// and passes it to the models in a context, so that the engine between them needs no ledger. It is safe
// for concurrent use, because an engine may call models concurrently.
type Tab struct {
	turnID         string
	conversationID string
	scope          Scope
	account        chat.Account
	budgets        *Budgets // nil for none

	mu     sync.Mutex
	stages []place    // running stages
	spent  []spending // by unfinished stages
	total  Amount     // of all calls
	free   []Entry    // entries of calls of built-in models
	ended  []ended    // calls whose end is written with the turn
	over   bool       // the turn has been saved, or will never be
}

// ended is a call that has ended but is not yet written to its ledger.
type ended struct {
	ledger *Ledger
	entry  Entry
}

// place is a stage of an agent. Without agents, agent is "".
type place struct {
	agent string
	stage chat.Stage
}

// spending is the usage of a settled call in a stage.
type spending struct {
	at    place
	usage llm.Usage
}

// NewTab returns a tab for a turn. Its calls count against the budgets, which may be nil.
func NewTab(turnID, conversationID string, scope Scope, account chat.Account, budgets *Budgets) *Tab {
	return &Tab{turnID: turnID, conversationID: conversationID, scope: scope, account: account, budgets: budgets}
}

// charge is the tab for model calls in a context, and the agent that makes them.
type charge struct {
	*Tab
	agent string
	stage chat.Stage // of completions outside of a turn
}

type chargeKey struct{}

// WithTab returns a context whose model calls are collected on a tab.
func WithTab(ctx context.Context, t *Tab) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{Tab: t})
}

// WithAgent returns a context for the work of one agent of a team, so that calls of concurrent agents
// are recorded under the right stage. The agent's stage events must have the same name in Agent.
func WithAgent(ctx context.Context, agent string) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{Tab: chargeOf(ctx).Tab, agent: agent})
}

// WithStage returns a context for completions outside of a turn, which are recorded under that stage.
func WithStage(ctx context.Context, stage chat.Stage) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{Tab: &Tab{}, stage: stage})
}

// chargeOf returns the charge of ctx. Outside of a turn its tab is empty.
func chargeOf(ctx context.Context) charge {
	if c, ok := ctx.Value(chargeKey{}).(charge); ok {
		return c
	}
	return charge{Tab: &Tab{}}
}

// Note follows the stage events of the turn and ignores others. Calls are recorded under the running stage.
func (t *Tab) Note(e chat.Event) {
	switch e := e.(type) {
	case chat.StageStarted:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.stages = append(t.stages, place{e.Agent, e.Stage})
	case chat.StageFinished:
		t.leave(place{e.Agent, e.Stage})
	}
}

// leave ends the innermost stage of that name and drops its spending, because the event that ended the
// stage contains the usage.
func (t *Tab) leave(at place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, p := range slices.Backward(t.stages) {
		if p == at {
			t.stages = slices.Delete(t.stages, i, i+1)
			break
		}
	}
	t.spent = slices.DeleteFunc(t.spent, func(sp spending) bool { return sp.at == at })
}

// at returns the innermost running stage of an agent, or a place without a stage.
func (t *Tab) at(agent string) place {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range slices.Backward(t.stages) {
		if p.agent == agent {
			return p
		}
	}
	return place{agent: agent}
}

// spend records a call that has ended.
func (t *Tab) spend(at place, e Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = append(t.spent, spending{at, e.Usage})
	tokens := int64(e.Usage.Input + e.Usage.Output)
	took := Amount{Tokens: tokens, Micros: e.Cost.Micros}
	if t.budgets != nil {
		took.Micros = t.budgets.Micros(e.Provider, e.Cost, tokens)
	}
	t.total.add(took, 1)
	if e.Provider == Builtin {
		t.free = append(t.free, e)
	}
}

// keep stores an entry that will be written with the turn in one transaction. It returns false when no
// turn is left to be saved.
func (t *Tab) keep(l *Ledger, e Entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turnID == "" || t.over {
		return false
	}
	t.ended = append(t.ended, ended{l, e})
	return true
}

// Entries returns the entries to commit with the turn: new entries of free calls, and entries of ended
// calls for Store.Settle.
func (t *Tab) Entries() (free, settled []Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled = make([]Entry, len(t.ended))
	for i, e := range t.ended {
		settled[i] = e.entry
	}
	return slices.Clone(t.free), settled
}

// Committed records that the entries have been saved with the turn.
func (t *Tab) Committed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = nil
}

// Close writes the entries that were not saved with the turn one by one. Calls that end later are
// written immediately.
func (t *Tab) Close(ctx context.Context) {
	t.mu.Lock()
	rest := t.ended
	t.ended, t.over = nil, true
	t.mu.Unlock()
	for _, e := range rest {
		e.ledger.end(ctx, e.entry)
	}
}

// Took returns the spending of the turn so far.
func (t *Tab) Took() Amount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Unfinished returns the usage of the calls in unfinished stages, and their number.
func (t *Tab) Unfinished() (sum llm.Usage, calls int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spent {
		sum = sum.Add(s.usage)
	}
	return sum, len(t.spent)
}

// SpentBy returns the usage of an agent's calls in unfinished stages.
func (t *Tab) SpentBy(agent string) (sum llm.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spent {
		if s.at.agent == agent {
			sum = sum.Add(s.usage)
		}
	}
	return sum
}

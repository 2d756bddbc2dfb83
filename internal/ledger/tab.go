package ledger

import (
	"context"
	"slices"
	"sync"

	"parley/internal/chat"
	"parley/internal/llm"
)

// Tab collects the calls of one turn. The runner makes it, notes the turn's stage events in it, and passes it
// to the models in a context, so the engine between them needs no ledger. It is safe for concurrent use,
// because an engine may call models concurrently.
type Tab struct {
	turnID         string
	conversationID string
	scope          Scope
	account        chat.Account
	budgets        *Budgets // nil for none

	mu     sync.Mutex
	stages []place    // that are running
	spent  []spending // by stages that have not finished
	total  Amount     // of all calls
	free   []Entry    // of built-in models
	ended  []ended    // calls whose end is written with the turn
	over   bool       // the turn has been saved, or never will be
}

// ended is a call that has ended, and the ledger in which its end is still to be written.
type ended struct {
	ledger *Ledger
	entry  Entry
}

// place is a stage of an agent, which is "" where there are no agents.
type place struct {
	agent string
	stage chat.Stage
}

// spending is what a settled call of a stage took.
type spending struct {
	at    place
	usage llm.Usage
}

// NewTab returns a tab for a turn. Its calls count against the budgets; nil is none.
func NewTab(turnID, conversationID string, scope Scope, account chat.Account, budgets *Budgets) *Tab {
	return &Tab{turnID: turnID, conversationID: conversationID, scope: scope, account: account, budgets: budgets}
}

// charge is the tab that a call of a model goes on, and the agent that makes the call.
type charge struct {
	*Tab
	agent string
}

type chargeKey struct{}

// WithTab returns a context in which model calls are collected on a tab.
func WithTab(ctx context.Context, t *Tab) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{Tab: t})
}

// WithAgent returns a context for the work of one agent of a team, so that the calls of agents that run at
// the same time are entered under the right stage. The agent's stage events must have the same name in
// Agent.
func WithAgent(ctx context.Context, agent string) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{chargeOf(ctx).Tab, agent})
}

// chargeOf returns where calls in ctx go; outside a turn the tab is empty.
func chargeOf(ctx context.Context) charge {
	if c, ok := ctx.Value(chargeKey{}).(charge); ok {
		return c
	}
	return charge{Tab: &Tab{}}
}

// Note follows the turn's stage events: calls are entered under the stage that is running.
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

// leave ends the innermost stage of that name and forgets what it spent, because the event that ended
// it has the usage.
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

// at returns the innermost running stage of an agent, without a stage when there is none.
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

// spend takes note of a call that has ended.
func (t *Tab) spend(at place, e Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = append(t.spent, spending{at, e.Usage})
	tokens := int64(e.Usage.Input + e.Usage.Output)
	took := Amount{Micros: e.Cost.Micros}
	if t.budgets != nil {
		took.Micros = t.budgets.Micros(e.Provider, e.Cost, tokens)
	}
	t.total.add(took, 1)
	if e.Provider == Builtin {
		t.free = append(t.free, e)
	}
}

// keep takes over an entry that is to be written with the turn in one transaction. It returns false
// when no turn is left to be saved.
func (t *Tab) keep(l *Ledger, e Entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turnID == "" || t.over {
		return false
	}
	t.ended = append(t.ended, ended{l, e})
	return true
}

// Entries returns what is to be committed with the turn: new entries of calls that cost nothing, and
// entries of calls that have ended, as for Store.Settle.
func (t *Tab) Entries() (free, settled []Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled = make([]Entry, len(t.ended))
	for i, e := range t.ended {
		settled[i] = e.entry
	}
	return slices.Clone(t.free), settled
}

// Committed says that the entries have been saved with the turn.
func (t *Tab) Committed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = nil
}

// Close writes the entries that were not saved with the turn, one by one. Calls that end later are
// written at once.
func (t *Tab) Close(ctx context.Context) {
	t.mu.Lock()
	rest := t.ended
	t.ended, t.over = nil, true
	t.mu.Unlock()
	for _, e := range rest {
		e.ledger.end(ctx, e.entry)
	}
}

// Took returns what the calls of the turn took so far.
func (t *Tab) Took() Amount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Unfinished returns the sum of the calls in stages that have not finished, and their number.
func (t *Tab) Unfinished() (sum llm.Usage, calls int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spent {
		sum = sum.Add(s.usage)
	}
	return sum, len(t.spent)
}

// SpentBy returns the sum of an agent's calls in stages that have not finished.
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

package turn

import (
	"context"
	"slices"
	"sync"

	"parley/internal/chat"
	"parley/internal/llm"
)

// meta is what a meter must know of the turn that a model call belongs to. It is the one value
// that travels in a context: the engine, which stands between the runner and the models, knows
// nothing of ledgers and hands its context on. The runner keeps the stage up to date from the
// events that pass by, which the engine emits before it calls a model.
type meta struct {
	budgets *Budgets // against which the calls count; nil for none

	turnID         string
	conversationID string
	scope          Scope
	account        chat.Account

	mu     sync.Mutex // an engine may call models concurrently
	stages []place
	spent  []spending // of stages that have not finished
	total  spent      // of all calls
	free   []Entry    // calls that cost nothing
	ended  []ended    // calls whose end is written with the turn
	over   bool       // the turn has been saved, or never will be
}

// ended is a call that has ended, and the ledger in which that is still to be written.
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

// charge is the turn that a call of a model is charged to, and the agent that makes it.
type charge struct {
	*meta
	agent string // "" where there are no agents
}

type chargeKey struct{}

// WithAgent returns a context for what an agent of a team does in a turn, so that the calls of
// agents that work side by side are entered under the right stage. Their stage events have Agent
// set to the same name.
func WithAgent(ctx context.Context, agent string) context.Context {
	c := chargeOf(ctx)
	c.agent = agent
	return context.WithValue(ctx, chargeKey{}, c)
}

func withMeta(ctx context.Context, m *meta) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{meta: m})
}

// chargeOf returns what calls in ctx are charged to; outside a turn its meta is empty.
func chargeOf(ctx context.Context) charge {
	if c, ok := ctx.Value(chargeKey{}).(charge); ok {
		return c
	}
	return charge{meta: &meta{}}
}

func (m *meta) enter(at place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stages = append(m.stages, at)
}

// leave ends the innermost stage of that name, and forgets what it spent: its usage is in the
// event that ended it.
func (m *meta) leave(at place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range slices.Backward(m.stages) {
		if p == at {
			m.stages = slices.Delete(m.stages, i, i+1)
			break
		}
	}
	m.spent = slices.DeleteFunc(m.spent, func(sp spending) bool { return sp.at == at })
}

// at returns the innermost stage of an agent that is running, with no stage when there is none.
func (m *meta) at(agent string) place {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range slices.Backward(m.stages) {
		if p.agent == agent {
			return p
		}
	}
	return place{agent: agent}
}

// spend takes note of a call that has ended.
func (m *meta) spend(at place, e Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = append(m.spent, spending{at, e.Usage})
	m.total.add(spent{tokens: int64(e.Usage.Input + e.Usage.Output), micros: m.micros(e)}, 1)
	if e.Provider == Builtin {
		m.free = append(m.free, e)
	}
}

// micros returns what a call counts against budgets of money.
func (m *meta) micros(e Entry) int64 {
	if m.budgets == nil || e.Provider == Builtin {
		return e.Cost.Micros
	}
	return m.budgets.opts.micros(e.Cost, int64(e.Usage.Input+e.Usage.Output))
}

// keep takes over an entry, to be written with the turn in one transaction. It reports false when
// there is no turn that still will be.
func (m *meta) keep(l *Ledger, e Entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turnID == "" || m.over {
		return false
	}
	m.ended = append(m.ended, ended{l, e})
	return true
}

// kept returns the entries that keep has taken over.
func (m *meta) kept() []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := make([]Entry, len(m.ended))
	for i, e := range m.ended {
		entries[i] = e.entry
	}
	return entries
}

// written forgets the entries that keep has taken over: they have been saved with the turn.
func (m *meta) written() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = nil
}

// finish writes what was not saved with the turn, one by one. Calls that end later are written at
// once.
func (m *meta) finish(ctx context.Context) {
	m.mu.Lock()
	rest := m.ended
	m.ended, m.over = nil, true
	m.mu.Unlock()
	for _, e := range rest {
		e.ledger.end(ctx, e.entry)
	}
}

// took returns what the calls of the turn took so far, and those of them that cost nothing.
func (m *meta) took() (spent, []Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total, slices.Clone(m.free)
}

// unfinished returns the sum of the calls in stages that have not finished, and their number.
func (m *meta) unfinished() (sum llm.Usage, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.spent {
		sum = sum.Add(s.usage)
	}
	return sum, len(m.spent)
}

// spentBy returns the sum of an agent's calls in stages that have not finished.
func (m *meta) spentBy(agent string) (sum llm.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.spent {
		if s.at.agent == agent {
			sum = sum.Add(s.usage)
		}
	}
	return sum
}

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
	turnID         string
	conversationID string
	scope          Scope
	account        chat.Account

	mu     sync.Mutex // an engine may call models concurrently
	stages []chat.Stage
	spent  []spending // of stages that have not finished
	total  spent      // of all calls
	free   []Entry    // calls that cost nothing
}

// spending is what the settled calls of a stage took.
type spending struct {
	stage chat.Stage
	usage llm.Usage
}

type metaKey struct{}

func withMeta(ctx context.Context, m *meta) context.Context {
	return context.WithValue(ctx, metaKey{}, m)
}

// metaOf returns the turn that ctx belongs to, an empty one outside a turn.
func metaOf(ctx context.Context) *meta {
	if m, ok := ctx.Value(metaKey{}).(*meta); ok {
		return m
	}
	return &meta{}
}

func (m *meta) enter(s chat.Stage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stages = append(m.stages, s)
}

// leave ends the innermost stage of that name, and forgets what it spent: its usage is in the
// event that ended it.
func (m *meta) leave(s chat.Stage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, at := range slices.Backward(m.stages) {
		if at == s {
			m.stages = slices.Delete(m.stages, i, i+1)
			break
		}
	}
	m.spent = slices.DeleteFunc(m.spent, func(sp spending) bool { return sp.stage == s })
}

// stage returns the innermost stage that is running, "" when there is none.
func (m *meta) stage() chat.Stage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stages) == 0 {
		return ""
	}
	return m.stages[len(m.stages)-1]
}

// spend takes note of a call that has ended.
func (m *meta) spend(e Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = append(m.spent, spending{e.Stage, e.Usage})
	m.total.add(spent{tokens: int64(e.Usage.Input + e.Usage.Output), micros: e.Cost.Micros}, 1)
	if e.Provider == Builtin {
		m.free = append(m.free, e)
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

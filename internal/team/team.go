// Package team answers a turn with several agents. Each agent is a run of the engine with its own
// instructions. A Team sits between the turn runner and the engine, and is an engine itself: it emits one
// stream, in which each message has the name of its agent.
//
//	t, err := team.New(engine, team.Config{Agents: team.Default(false)})
//	runner := turn.NewRunner(t, store, turn.Options{})
//
// # Order
//
// An agent begins when all agents that it hears have ended; agents that do not hear each other run at the
// same time. An agent may hear only agents that are listed before it, so there are no cycles. It receives
// their messages. An agent that does not retrieve answers from the passages that those agents cite, and its
// own citations are verified against these passages.
//
// # Failures
//
// A failure ends one agent's message, and the others continue: an agent that would have heard it gets the
// passages that the failed agent had found, or searches itself if there are none. The turn ends with an error
// only if no agent has completed; it is the error of the first agent that failed.
//
// # Time
//
// The team keeps to the deadline of the context, if there is one. An agent that begins gets a share of the
// remaining time, according to its weight relative to the agents that wait for it, and fails when its share is
// used up. Agents with SkipBelow are not counted: they get the time that remains, and are skipped if it is short.
//
// # Review
//
// An agent that Reviews another one checks that agent's answer before it is final. It may send the answer back
// once: the agent then writes a new message, which replaces the first one.
package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"parley/internal/chat"
)

// Agent is a member of a team.
type Agent struct {
	Name         string
	Instructions string   // added to the engine's instructions; a reviewer's replace them
	Model        string   // "provider:model"; "" means the engine's default
	Tools        []string // names of the server's tools that it may call
	Retrieves    bool     // it searches; otherwise it answers from passages of the agents that it hears
	// Hears names agents before it in the list whose messages it receives. Nil means all of them except
	// reviewers; an empty list means none.
	Hears     []string
	Reviews   string        // the agent before it whose answer it checks; "" for none
	Share     float64       // weight of its share of the time; 0 means 1
	SkipBelow time.Duration // it is skipped if less time remains; 0 means never
}

// Config configures a Team.
type Config struct {
	Agents []Agent // at least one that does not review
	// Builtin reports whether a model ignores prompts. A reviewer with such a model checks by rules only.
	// Nil means that no model does.
	Builtin func(model string) bool
	Log     *slog.Logger // nil discards
}

// Limits of a team.
const (
	maxAgents       = 16
	maxName         = 64      // bytes
	maxInstructions = 6 << 10 // bytes; must stay below the engine's limit of a template
)

// reserve is the time before the deadline that the team keeps for an orderly end.
const reserve = 500 * time.Millisecond

// Team is an engine with several agents. It is safe for concurrent use.
type Team struct {
	engine chat.Runner
	cfg    Config
	crew   []member // in the order of Config.Agents, without reviewers
}

// member is an agent with values derived from the other agents.
type member struct {
	Agent
	hears    []int   // into crew
	found    bool    // an agent that it hears, directly or through others, retrieves
	reviewer *Agent  // the agent that checks its answer; nil for none
	tail     float64 // its weight plus the largest sum of weights along a chain of agents that wait for it
}

// New returns a team of cfg.Agents, or an error if they are not valid.
func New(engine chat.Runner, cfg Config) (*Team, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Builtin == nil {
		cfg.Builtin = func(string) bool { return false }
	}
	t := &Team{engine: engine, cfg: cfg}
	if len(cfg.Agents) > maxAgents {
		return nil, fmt.Errorf("there are %d agents, more than %d", len(cfg.Agents), maxAgents)
	}
	for i := range cfg.Agents {
		if err := t.add(cfg.Agents[i]); err != nil {
			return nil, fmt.Errorf("agent %d (%q): %w", i+1, cfg.Agents[i].Name, err)
		}
	}
	if len(t.crew) == 0 {
		return nil, errors.New("there is no agent that answers")
	}
	t.weigh()
	return t, nil
}

func (t *Team) add(a Agent) error {
	switch {
	case a.Name == "" || len(a.Name) > maxName:
		return fmt.Errorf("an agent needs a name of 1 to %d bytes", maxName)
	case len(a.Instructions) > maxInstructions:
		return fmt.Errorf("its instructions are longer than %d bytes", maxInstructions)
	case a.Share < 0:
		return errors.New("its share must not be negative")
	case a.SkipBelow < 0:
		return errors.New("the time below which it is skipped must not be negative")
	}
	if t.index(a.Name) >= 0 || t.reviews(a.Name) {
		return errors.New("another agent has that name")
	}
	if a.Reviews != "" {
		return t.addReviewer(a)
	}
	m := member{Agent: a}
	m.Share = cmp.Or(m.Share, 1)
	if a.Hears == nil {
		for i := range t.crew {
			m.hears = append(m.hears, i)
		}
	}
	for _, name := range a.Hears {
		i := t.index(name)
		if i < 0 {
			return fmt.Errorf("it hears %q, but no agent of that name that answers is listed before it", name)
		}
		m.hears = append(m.hears, i)
	}
	for _, i := range m.hears {
		m.found = m.found || t.crew[i].Retrieves || t.crew[i].found
	}
	t.crew = append(t.crew, m)
	return nil
}

func (t *Team) addReviewer(a Agent) error {
	i := t.index(a.Reviews)
	switch {
	case i < 0:
		return fmt.Errorf("it reviews %q, but no agent of that name that answers is listed before it", a.Reviews)
	case t.crew[i].reviewer != nil:
		return fmt.Errorf("%q has a reviewer already", a.Reviews)
	case a.Retrieves || len(a.Hears) > 0 || len(a.Tools) > 0:
		return errors.New("an agent that reviews neither retrieves nor hears others, and calls no tools: it sees the answer and its sources")
	}
	t.crew[i].reviewer = &a
	return nil
}

// index returns the index in the crew of the agent with that name, or -1.
func (t *Team) index(name string) int {
	return slices.IndexFunc(t.crew, func(m member) bool { return m.Name == name })
}

func (t *Team) reviews(name string) bool {
	return slices.ContainsFunc(t.crew, func(m member) bool { return m.reviewer != nil && m.reviewer.Name == name })
}

// weigh sets the tails, from the last agent to the first.
func (t *Team) weigh() {
	for i := range slices.Backward(t.crew) {
		longest := 0.0
		for _, later := range t.crew[i+1:] {
			if later.SkipBelow == 0 && slices.Contains(later.hears, i) {
				longest = max(longest, later.tail)
			}
		}
		t.crew[i].tail = t.crew[i].Share + longest
	}
}

// Run runs one turn, with the team if the request asks for it, and otherwise with the engine. The stream
// keeps the contract of package chat.
func (t *Team) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if !req.Team {
		return t.engine.Run(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) { t.run(ctx, req, yield) }
}

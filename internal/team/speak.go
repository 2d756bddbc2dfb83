package team

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// said is the result of one run of the engine.
type said struct {
	message  chat.MessageFinished // its Status is "" if no message began
	query    chat.QueryRewritten
	terms    []retrieval.Term
	passages []retrieval.Passage // the passages that the message may cite
}

// part is one run of the engine for an agent.
type part struct {
	*run
	agent    string
	searches bool                  // the agent searches for its own passages
	draft    *chat.MessageFinished // the message that this one replaces; nil for none
	hold     bool                  // do not emit MessageFinished
	fold     chat.Turn
	terms    []retrieval.Term
	id       string // of the message; "" until it begins
	finished bool
}

// speak runs the engine for an agent and emits its events under the agent's name. If the engine fails,
// it ends the agent's message as failed and returns the cause. The error errLeft means that the turn is
// over.
func (p *part) speak(ctx context.Context, req *chat.Request) (s said, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = p.fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			s = p.said()
		}
	}()
	p.searches = req.Material == nil
	if !p.searches {
		p.terms = req.Material.Terms
		p.fold.Add(req.Material.Query)
		p.fold.Add(chat.PassagesRetrieved{Passages: req.Material.Passages})
	}
	for e, err := range p.engine.Run(ledger.WithAgent(ctx, p.agent), req) {
		if err == nil {
			err = p.pass(e)
		}
		if err != nil {
			err = p.fail(err)
			return p.said(), err
		}
	}
	if !p.finished {
		err = p.fail(errors.New("the engine's stream ended without a message"))
	}
	return p.said(), err
}

// pass records an event, and emits it if it belongs to the team's stream.
func (p *part) pass(e chat.Event) error {
	p.fold.Add(e)
	switch e := e.(type) {
	case chat.StageStarted:
		e.Agent = p.agent
		return p.emit(e)
	case chat.StageFinished:
		e.Agent = p.agent
		p.spend(e.Usage)
		return p.emit(e)
	case chat.PassagesRetrieved:
		p.terms = e.Terms
	case chat.PromptBuilt:
		if !p.searches { // its sources are passages of other agents
			return nil
		}
	case chat.MessageStarted:
		return p.start(e)
	case chat.MessageFinished:
		p.finished = true
		if p.hold {
			return nil
		}
		e.Agent = p.agent
		return p.emit(e)
	case chat.FollowUpsSuggested, chat.TurnFinished:
		return nil // these belong to the turn, not to an agent
	}
	return p.emit(e)
}

// start begins the agent's message, and ends the draft that it replaces.
func (p *part) start(e chat.MessageStarted) error {
	p.id, e.Agent = e.ID, p.agent
	if p.draft == nil {
		return p.emit(e)
	}
	e.Replaces = p.draft.ID
	if err := p.emit(e); err != nil {
		return err
	}
	old := *p.draft
	old.Status, old.Err = chat.StatusFailed, &chat.Error{Kind: chat.Conflict, Msg: "The reviewer has sent this answer back."}
	return p.emit(old)
}

// fail ends the agent's message after an error of the engine. If the request is invalid and nothing has
// been emitted, it rejects the whole turn.
func (p *part) fail(err error) error {
	if p.ctx.Err() != nil || errors.Is(err, errLeft) {
		return errLeft
	}
	if p.finished { // the message is complete
		p.cfg.Log.WarnContext(p.ctx, "agent failed after its answer", "turn_id", p.req.TurnID, "agent", p.agent, "error", err)
		return nil
	}
	if p.id == "" && isRefusal(err) && p.reject(err) {
		return errLeft
	}
	p.cfg.Log.WarnContext(p.ctx, "agent failed", "turn_id", p.req.TurnID, "agent", p.agent, "error", err)
	if p.id == "" {
		e := chat.MessageStarted{ID: ident.New()}
		p.fold.Add(e)
		if err := p.start(e); err != nil {
			return err
		}
	}
	p.fold.End(chat.StatusFailed)
	m := p.message()
	m.Err = asError(err)
	if left := p.emit(m); left != nil {
		return left
	}
	return err
}

// isRefusal reports whether an error means that the request is invalid.
func isRefusal(err error) bool {
	switch chat.KindOf(err) {
	case chat.Invalid, chat.Unauthorized, chat.Forbidden, chat.NotFound, chat.TooLarge, chat.PromptTooLong:
		return true
	}
	return false
}

func asError(err error) *chat.Error {
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return e
	}
	return &chat.Error{Kind: chat.Internal, Err: err}
}

// message returns the agent's message as far as it has arrived.
func (p *part) message() chat.MessageFinished {
	if len(p.fold.Messages) == 0 {
		return chat.MessageFinished{Agent: p.agent}
	}
	m := p.fold.Messages[len(p.fold.Messages)-1]
	m.Agent = p.agent
	return m
}

func (p *part) said() said {
	m := p.message()
	return said{message: m, query: p.fold.Rewrite, terms: p.terms, passages: p.fold.Citable(m.ID)}
}

// requestOf returns the request for one agent.
func (r *run) requestOf(m *member) chat.Request {
	req := *r.req
	req.Team, req.ConversationID = false, ""
	req.Options.FollowUps = false
	req.Options.UseTools, req.Options.OnlyTools = len(m.Tools) > 0, m.Tools
	if m.Model != "" {
		req.Options.Models.Inference, req.Configured = m.Model, true
	}
	req.Options.PromptTemplate = instruct(req.Options.PromptTemplate, m.Instructions)
	req.Material, req.Heard = r.material(m), r.heard(m)
	return req
}

// instruct adds instructions to a prompt template, which may replace the default instructions or, with
// the prefix ">>>", extend them.
func instruct(template, instructions string) string {
	const added = ">>>"
	if template == "" {
		return added + instructions
	}
	return template + "\n\n" + instructions
}

// heard returns the messages of the agents that m hears.
func (r *run) heard(m *member) (messages []chat.Message) {
	for _, i := range m.hears {
		w := &r.agents[i].result
		if w.err == nil && !w.skipped {
			messages = append(messages, utterance(r.crew[i].Name, w.said.message.Text))
		}
	}
	return messages
}

func utterance(agent, text string) chat.Message {
	m := chat.TextMessage(llm.Assistant, strings.TrimSpace(text))
	m.Agent = agent
	return m
}

// material returns the passages of an agent that does not search: for each agent that it hears, the
// passages that this agent cited, or all its passages if it cited none. It returns nil if the agent
// searches, either because it should or because the agents that should have searched failed and found
// nothing.
func (r *run) material(m *member) *chat.Material {
	if m.Retrieves {
		return nil
	}
	all := &chat.Material{}
	seen := map[retrieval.ChunkKey]bool{}
	complete := true
	for _, i := range m.hears {
		w := &r.agents[i].result
		complete = complete && w.err == nil && !w.skipped
		if all.Query.Query == "" {
			all.Query, all.Terms = w.said.query, w.said.terms
		}
		for _, p := range w.said.material() {
			if !seen[p.Chunk.Key] {
				seen[p.Chunk.Key] = true
				all.Passages = append(all.Passages, p)
			}
		}
	}
	if m.found && !complete && len(all.Passages) == 0 {
		return nil
	}
	return all
}

// material returns the passages that the message cites, or all passages if it cites none.
func (s *said) material() []retrieval.Passage {
	var cited []retrieval.Passage
	for i := range s.passages {
		for _, c := range s.message.Citations {
			if c.Passage == i {
				cited = append(cited, s.passages[i])
				break
			}
		}
	}
	if len(cited) == 0 {
		return s.passages
	}
	return cited
}

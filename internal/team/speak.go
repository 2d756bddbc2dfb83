package team

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// said is what one run of the engine came to.
type said struct {
	message  chat.MessageFinished // its Status is "" when no message began
	query    chat.QueryRewritten
	terms    []retrieval.Term
	passages []retrieval.Passage // that the message may cite
}

// part is one run of the engine for an agent.
type part struct {
	*run
	agent    string
	searches bool                  // the agent finds its own passages
	draft    *chat.MessageFinished // the message that the agent takes back; nil for none
	hold     bool                  // MessageFinished is not emitted
	fold     chat.Turn
	terms    []retrieval.Term
	looked   []retrieval.Passage // that tools returned
	id       string              // of the message; "" until it begins
	finished bool
}

// speak runs the engine for an agent and emits what it does under the agent's name. When the
// engine fails, the agent's message has failed, and the error says why; an error that is errLeft
// says that nobody listens any more.
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

// pass notes an event and emits it if it belongs into the team's stream.
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
		if !p.searches { // its sources are another agent's
			return nil
		}
	case chat.ToolReturned:
		p.looked = append(p.looked, e.Found...)
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
		return nil // of the turn, not of an agent
	}
	return p.emit(e)
}

// start begins the agent's message, and ends the one that it takes back.
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

// fail ends the agent's message for an error of the engine. Where a request is refused before
// anything has happened, the whole turn is.
func (p *part) fail(err error) error {
	if p.ctx.Err() != nil || errors.Is(err, errLeft) {
		return errLeft
	}
	if p.finished { // nothing of the message is missing
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

// isRefusal reports whether an error says that the request is at fault.
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

// message returns the agent's message as far as it came.
func (p *part) message() chat.MessageFinished {
	if len(p.fold.Messages) == 0 {
		return chat.MessageFinished{Agent: p.agent}
	}
	m := p.fold.Messages[len(p.fold.Messages)-1]
	m.Agent = p.agent
	return m
}

func (p *part) said() said {
	return said{message: p.message(), query: p.fold.Rewrite, terms: p.terms, passages: p.citable()}
}

// citable returns the passages that the message may cite, at the indices that its citations have:
// those of the prompt, and those that tools returned, each once.
func (p *part) citable() []retrieval.Passage {
	found := p.fold.Retrieved.Passages
	all := slices.Clip(found[:min(len(found), len(p.fold.Prompt.Sources))])
	for _, looked := range p.looked {
		same := func(have retrieval.Passage) bool { return have.Chunk.Key == looked.Chunk.Key }
		if len(looked.Chunk.Spans) > 0 && !slices.ContainsFunc(all, same) {
			all = append(all, looked)
		}
	}
	return all
}

// requestOf returns the request of one agent.
func (r *run) requestOf(m *member) chat.Request {
	req := *r.req
	req.Team, req.ConversationID = false, ""
	req.Options.FollowUps = false
	req.Options.UseTools, req.Options.OnlyTools = len(m.Tools) > 0, m.Tools
	if m.Model != "" {
		req.Options.Models.Inference = m.Model
	}
	req.Options.PromptTemplate = instruct(req.Options.PromptTemplate, m.Instructions)
	req.Material, req.Heard = r.material(m), r.heard(m)
	return req
}

// instruct adds instructions to a prompt template, which may replace the default instructions or,
// with ">>>" in front, be added to them.
func instruct(template, instructions string) string {
	const added = ">>>"
	if template == "" {
		return added + instructions
	}
	return template + "\n\n" + instructions
}

// heard returns what those whom an agent hears have said.
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

// material returns what an agent that does not search answers from: the passages that those whom
// it hears have cited, and where one has cited none, all that it had. It is nil when the agent
// searches: because it is to, or because those who were to have found nothing by a failure.
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

// material returns the passages that the message cites, all where it cites none.
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

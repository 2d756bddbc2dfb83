package ledger

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/llm"
)

// Builtin is the provider whose models run in this process and cost nothing.
const Builtin = "builtin"

// Of returns what enters calls of a provider's models in the ledger. The turn and the stage come
// from the context (see WithTab).
//
// A call is not made when its intent cannot be committed: nothing is spent off the record. A
// model of Builtin spends nothing: its completions need no intent, and their entries are committed with the
// turn; what it embeds or reranks is not entered.
func (l *Ledger) Of(provider string) llm.Meter { return meter{l, provider} }

// Meter returns a model that enters each call of m in the ledger, see Of.
func (l *Ledger) Meter(provider string, m llm.Model) llm.Model {
	return llm.Guards{Meter: l.Of(provider)}.Model(m)
}

type meter struct {
	*Ledger
	provider string
}

// Completion commits the intent of a completion.
func (m meter) Completion(ctx context.Context, req *llm.Request) (llm.Metering, error) {
	c, err := m.begin(ctx, Entry{Provider: m.provider, Model: req.Model, EstimatedInput: llm.EstimateInput(*req)})
	if err != nil {
		return nil, err
	}
	c.input = func() int { return countInput(*req, c.counter()) }
	return c, nil
}

// Embedding commits the intent of an embedding. Outside a turn, its stage is chat.StageEmbed.
func (m meter) Embedding(ctx context.Context, req *llm.EmbedRequest) (llm.Metering, error) {
	if m.provider == Builtin {
		return llm.Unmetered, nil
	}
	estimate := llm.EmbedUsage(*req, llm.Usage{})
	c, err := m.begin(ctx, Entry{Provider: m.provider, Model: req.Model, Stage: chat.StageEmbed, EstimatedInput: estimate.Input})
	if err != nil {
		return nil, err
	}
	c.recount = func(u llm.Usage) llm.Usage { return m.count(llm.EmbedUsage(*req, u), req.Texts, "") }
	return c, nil
}

// Ranking commits the intent of a reranking.
func (m meter) Ranking(ctx context.Context, req *llm.RerankRequest) (llm.Metering, error) {
	if m.provider == Builtin {
		return llm.Unmetered, nil
	}
	estimate := llm.RerankUsage(*req, llm.Usage{})
	c, err := m.begin(ctx, Entry{Provider: m.provider, Model: req.Model, EstimatedInput: estimate.Input})
	if err != nil {
		return nil, err
	}
	c.recount = func(u llm.Usage) llm.Usage { return m.count(llm.RerankUsage(*req, u), req.Documents, req.Query) }
	return c, nil
}

// count returns a usage that an upstream reported, or a better count than an estimate: of the
// texts, with each of which the query is read.
func (l *Ledger) count(u llm.Usage, texts []string, query string) llm.Usage {
	if !u.Estimated {
		return u
	}
	room := maxCounted - len(query)
	u.Input = len(texts) * l.opts.Count(query)
	for _, text := range texts {
		if room -= len(text); room < 0 {
			u.Input += llm.EstimateTokens(text)
			continue
		}
		u.Input += l.opts.Count(text)
	}
	return u
}

// call is a model call that is being made.
type call struct {
	ledger   *Ledger
	tab      *Tab
	at       place
	entry    Entry
	status   Status                    // how it would end now
	refused  bool                      // the upstream answered with an error and nothing else
	received bool                      // a chunk has come
	input    func() int                // counts the prompt; nil for a call that is answered in one piece
	recount  func(llm.Usage) llm.Usage // of such a call
	text     tally
	thought  tally      // reasoning
	usage    *llm.Usage // the upstream's last word
	stale    bool       // text came after it
}

// begin commits the intent of a call. e says which model is called and how much it reads, and may
// name a stage for a call outside of a turn.
func (l *Ledger) begin(ctx context.Context, e Entry) (*call, error) {
	turn := chargeOf(ctx)
	at := turn.at(turn.agent)
	now := l.opts.Now()
	e.ID, e.Status, e.CreatedAt = ident.At(now), Intent, trim(now)
	e.TurnID, e.ConversationID, e.Scope, e.Account = turn.turnID, turn.conversationID, turn.scope, turn.account
	if e.TurnID != "" {
		e.Stage = at.stage
	}
	c := &call{ledger: l, tab: turn.Tab, at: at, status: Cancelled, entry: e}
	if e.Provider == Builtin {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.WriteTimeout)
	defer cancel()
	if err := l.store.Intend(ctx, e); err != nil {
		if ctx.Err() != nil { // it may have been committed all the same, and the next start would bill it
			l.end(ctx, l.settled(e, Cancelled))
		}
		return nil, fmt.Errorf("enter call of %s:%s in the ledger: %w", e.Provider, e.Model, err)
	}
	return c, nil
}

// Add takes note of a chunk. A usage that cannot be true does not count, so that nobody stores or
// bills it, and one that the provider has estimated gives way to a better count.
func (c *call) Add(chunk llm.Chunk) *llm.Usage {
	c.received = true
	c.text.add(chunk.Text)
	c.thought.add(chunk.Reasoning)
	for _, t := range chunk.ToolCalls {
		c.text.add(t.Name)
		c.text.add(t.Arguments)
	}
	if chunk.Text != "" || chunk.Reasoning != "" || len(chunk.ToolCalls) > 0 {
		c.stale = true
	}
	usage := chunk.Usage
	switch {
	case usage == nil || !plausible(*usage):
		return nil
	case usage.Estimated:
		counted := c.count()
		usage = &counted
	}
	c.usage, c.stale = usage, false
	return usage
}

// Answer takes note of the usage of a call that is answered in one piece.
func (c *call) Answer(u llm.Usage) llm.Usage {
	u = c.recount(u)
	c.usage = &u
	return u
}

// Complete says that the answer is complete.
func (c *call) Complete() { c.status = Completed }

// maxTokens is more than any call can have.
const maxTokens = 100_000_000

func plausible(u llm.Usage) bool {
	return u.Input >= 0 && u.Input <= maxTokens && u.Output >= 0 && u.Output <= maxTokens &&
		u.Cached >= 0 && u.Cached <= u.Input && u.Reasoning >= 0 && u.Reasoning <= u.Output
}

// Fail says that the call ended with an error.
func (c *call) Fail(ctx context.Context, err error) {
	c.status = Failed
	if errors.Is(ctx.Err(), context.Canceled) {
		c.status = Cancelled
	}
	e, ok := errors.AsType[*llm.Error](err)
	c.refused = ok && e.Status >= 400 && !c.received
}

// Settle writes the end of the call, or leaves it to the turn, which is saved in a moment: one
// transaction does for both. The client may be gone, so writing has a context of its own. An entry
// that cannot be settled stays an intent, which the next start makes an estimate.
func (c *call) Settle(ctx context.Context) {
	c.entry.Usage = c.total()
	c.entry = c.ledger.settled(c.entry, c.status)
	c.tab.spend(c.at, c.entry)
	if c.entry.Provider != Builtin && !c.tab.keep(c.ledger, c.entry) {
		c.ledger.end(ctx, c.entry)
	}
}

// end writes the end of a call.
func (l *Ledger) end(ctx context.Context, e Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opts.WriteTimeout)
	defer cancel()
	if err := l.write(ctx, e); err != nil {
		l.opts.Log.ErrorContext(ctx, "settle model call", "turn_id", e.TurnID,
			"stage", e.Stage, "model", e.Model, "error", err)
	}
}

// total is the upstream's own figure if it covers all that was received, else an estimate of
// that. A refused call costs nothing; one that was cut before its first chunk costs its input,
// since the upstream may have read it.
func (c *call) total() llm.Usage {
	if c.usage != nil && !c.stale {
		return *c.usage
	}
	if c.refused {
		return llm.Usage{}
	}
	u := c.count()
	if c.usage != nil {
		u.Input, u.Cached = c.usage.Input, c.usage.Cached
		u.Output, u.Reasoning = max(u.Output, c.usage.Output), max(u.Reasoning, c.usage.Reasoning)
	}
	return u
}

// counter returns what counts the call's texts. What the built-in model takes costs nothing, and is
// not worth loading a vocabulary.
func (c *call) counter() Count {
	if c.entry.Provider == Builtin {
		return llm.EstimateTokens
	}
	return c.ledger.opts.Count
}

// count returns an estimate of what the call took so far, by the ledger's own count.
func (c *call) count() llm.Usage {
	count := c.counter()
	thought := c.thought.tokens(count)
	u := llm.Usage{Input: c.entry.EstimatedInput, Output: c.text.tokens(count) + thought, Reasoning: thought, Estimated: true}
	if c.input != nil {
		u.Input = c.input()
	}
	return u
}

package ledger

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/llm"
)

// Builtin is the provider of the models that run in this process and cost nothing.
const Builtin = "builtin"

// Of returns the meter that records calls of a provider's models in the ledger. It takes the turn and the stage
// from the context (see WithTab).
//
// If the intent cannot be committed, the call is not made: nothing is spent off the record. Completions
// of Builtin need no intent, and their entries are committed with the turn; embeddings and rankings of
// Builtin are not recorded.
func (l *Ledger) Of(provider string) llm.Meter { return meter{l, provider} }

// Meter returns a model that records each call of m in the ledger, see Of.
func (l *Ledger) Meter(provider string, m llm.Model) llm.Model {
	return llm.Guards{Endpoint: provider, Meter: l.Of(provider)}.Model(m)
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

// Transcription commits the intent of a transcription.
func (m meter) Transcription(ctx context.Context, model string) (llm.Metering, error) {
	c, err := m.begin(ctx, Entry{Provider: m.provider, Model: model, Stage: chat.StageTranscribe})
	if err != nil {
		return nil, err
	}
	c.recount = func(u llm.Usage) llm.Usage { return u }
	return c, nil
}

// count returns the usage if the upstream reported it. Otherwise it replaces the estimate by a count of
// the texts, adding the query for each of them.
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

// call is a model call in progress.
type call struct {
	ledger   *Ledger
	tab      *Tab
	at       place
	entry    Entry
	status   Status                    // the status if the call ended now
	refused  bool                      // the upstream answered only with an error
	received bool                      // a chunk has arrived
	input    func() int                // counts the prompt; nil for a call with a reply in one piece
	recount  func(llm.Usage) llm.Usage // counts the usage of a call with a reply in one piece
	text     tally
	thought  tally      // reasoning
	usage    *llm.Usage // the last usage that the upstream reported
	stale    bool       // text arrived after usage
}

// begin commits the intent of a call. e contains the model and the estimated input, and may contain the
// stage for a call outside of a turn.
func (l *Ledger) begin(ctx context.Context, e Entry) (*call, error) {
	turn := chargeOf(ctx)
	at := turn.at(turn.agent)
	now := l.opts.Now()
	e.ID, e.Status, e.CreatedAt = ident.At(now), Intent, trim(now)
	e.TurnID, e.ConversationID, e.Scope, e.Account = turn.turnID, turn.conversationID, turn.scope, turn.account
	switch {
	case e.TurnID != "":
		e.Stage = at.stage
	case e.Stage == "":
		e.Stage = turn.stage
	}
	c := &call{ledger: l, tab: turn.Tab, at: at, status: Cancelled, entry: e}
	if e.Provider == Builtin {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.WriteTimeout)
	defer cancel()
	if err := l.store.Intend(ctx, e); err != nil {
		if ctx.Err() != nil { // the intent may have been committed nevertheless, and the next start would bill it
			l.end(ctx, l.settled(e, Cancelled))
		}
		return nil, fmt.Errorf("enter call of %s:%s in the ledger: %w", e.Provider, e.Model, err)
	}
	return c, nil
}

// Add records a chunk and returns its usage, or nil. It ignores an implausible usage, so that it is neither
// stored nor billed, and replaces a usage that the provider estimated by a better count.
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

// Answer records the usage of a call with a reply in one piece.
func (c *call) Answer(u llm.Usage) llm.Usage {
	u = c.recount(u)
	c.usage = &u
	return u
}

// Complete marks the call as completed.
func (c *call) Complete() { c.status = Completed }

// maxTokens is more than any call can use.
const maxTokens = 100_000_000

func plausible(u llm.Usage) bool {
	return u.Input >= 0 && u.Input <= maxTokens && u.Output >= 0 && u.Output <= maxTokens &&
		u.Cached >= 0 && u.Cached <= u.Input && u.Reasoning >= 0 && u.Reasoning <= u.Output
}

// Fail records that the call ended with an error.
func (c *call) Fail(ctx context.Context, err error) {
	c.status = Failed
	if errors.Is(ctx.Err(), context.Canceled) {
		c.status = Cancelled
	}
	e, ok := errors.AsType[*llm.Error](err)
	c.refused = ok && e.Status >= 400 && !c.received
}

// Settle writes the end of the call, or leaves that to the turn, which is saved soon after in one
// transaction. Writing uses its own context, since the client may be gone. An entry that cannot be
// settled remains an intent, which the next start settles with an estimate.
func (c *call) Settle(ctx context.Context) {
	c.entry.Usage = c.total()
	c.entry = c.ledger.settled(c.entry, c.status)
	c.tab.spend(c.at, c.entry)
	if c.entry.Provider != Builtin && !c.tab.keep(c.ledger, c.entry) {
		c.ledger.end(ctx, c.entry)
	}
}

// end writes the entry of an ended call, and logs an error.
func (l *Ledger) end(ctx context.Context, e Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opts.WriteTimeout)
	defer cancel()
	if err := l.write(ctx, e); err != nil {
		l.opts.Log.ErrorContext(ctx, "settle model call", "turn_id", e.TurnID,
			"stage", e.Stage, "model", e.Model, "error", err)
	}
}

// total returns the upstream's usage if it covers everything received, and otherwise an estimate. A
// refused call costs nothing. A call that was cut before its first chunk costs its input, since the
// upstream may have read it.
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

// counter returns the function that counts the call's texts. Built-in models cost nothing, so they do
// not justify loading a vocabulary.
func (c *call) counter() Count {
	if c.entry.Provider == Builtin {
		return llm.EstimateTokens
	}
	return c.ledger.opts.Count
}

// count returns the usage so far as counted by the ledger, marked as estimated.
func (c *call) count() llm.Usage {
	count := c.counter()
	thought := c.thought.tokens(count)
	u := llm.Usage{Input: c.entry.EstimatedInput, Output: c.text.tokens(count) + thought, Reasoning: thought, Estimated: true}
	if c.input != nil {
		u.Input = c.input()
	}
	return u
}

package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"parley/internal/chat/cite"
	"parley/internal/ident"
	"parley/internal/llm"
)

// runGenerate lets the model answer. The configured fallback replaces a model that fails before its
// first token; after that, nothing is retried.
func (t *turn) runGenerate(ctx context.Context, out *output) (StageFinished, error) {
	a, err := t.open(out)
	if err != nil {
		return StageFinished{}, err
	}
	note := ""
	if err = a.complete(ctx); err != nil && t.mayFallBack(ctx, a, err) {
		if a, note, err = t.fallBack(a, err); err == nil {
			err = a.complete(ctx)
		}
	}
	if err != nil {
		return StageFinished{Note: note}, err
	}
	return a.conclude(ctx, note)
}

// open starts the message.
func (t *turn) open(out *output) (*answer, error) {
	a := t.newAnswer(ident.New(), t.model, out)
	return a, out.emit(MessageStarted{ID: a.done.ID, Model: cmp.Or(t.model.given(), t.model.name)})
}

// fallBack returns a new answer by the fallback model, with the id of the failed message, and a note about
// the fallback.
func (t *turn) fallBack(failed *answer, err error) (a *answer, note string, _ error) {
	m, fallbackErr := t.resolve(StageGenerate, t.cfg.Fallback)
	if fallbackErr != nil {
		return nil, "", fmt.Errorf("%w (fallback: %w)", err, fallbackErr)
	}
	t.cfg.Logger.Warn("model failed, falling back", "turn_id", t.req.TurnID, "model", t.model.key, "error", err)
	return t.newAnswer(failed.done.ID, m, failed.out), fmt.Sprintf("answered by %s, because %s failed", m.key, t.model.key), nil
}

// conclude runs the tools that the completion asked for, and ends the message.
func (a *answer) conclude(ctx context.Context, note string) (StageFinished, error) {
	t, done := a.turn, StageFinished{Note: note}
	if len(a.wanted) > 0 || a.calledInVain() {
		done.Model, done.Usage = a.done.Model, a.spent()
		if err := a.useTools(ctx); err != nil {
			return done, err
		}
	}
	finished, err := a.finish(ctx)
	if err != nil {
		return done, err
	}
	t.answer, t.suggested, t.called = finished.Text, a.hold.questions(), len(finished.ToolCalls) > 0
	if len(a.behind) == 0 {
		done.Model, done.Usage = finished.Model, finished.Usage
	}
	if left := a.left + a.refused; left > 0 {
		done.Note = strings.TrimPrefix(fmt.Sprintf("%s; %d tool calls were dropped", done.Note, left), "; ")
	}
	if a.lost {
		done.Note += "; the model kept calling tools and did not answer"
	}
	return done, a.out.emit(finished)
}

func (t *turn) mayFallBack(ctx context.Context, a *answer, err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && !e.Filtered && !a.begun && ctx.Err() == nil &&
		t.cfg.Fallback != "" && t.cfg.Fallback != t.model.key
}

// answer is a message while it is being written.
type answer struct {
	*turn
	out     *output
	model   resolved
	holding bool // follow-ups arrive in the text
	hold    holdBack
	stream  *cite.Stream // checks the text before it leaves
	thought *cite.Stream // checks the reasoning; nil for a model that answers in the words of the passages

	begun     bool               // CompletionStarted has been emitted
	left      int                // number of tool calls dropped in earlier completions
	refused   int                // the same for the current completion
	refusal   string             // what was wrong with the last of those calls, in sentences for the model
	offered   []llm.Tool         // tools that the server runs and the model may call
	wanted    []llm.ToolCall     // the current completion's calls to offered tools
	asking    []llm.ToolCall     // calls that the user must confirm
	faults    map[string]string  // what is wrong with calls in wanted, by call id
	ran       map[string]ranCall // calls that have run, by tool name and canonical arguments
	round     int                // number of the current round of tool calls, from 1; 0 before the first
	last      int                // offset in text at which the current completion begins, after a line break
	lost      bool               // the last completion called tools again and wrote no text
	behind    []llm.Message      // calls and results of earlier completions, which follow the prompt
	said      string             // the text of the previous completion
	from      int                // offset in text at which the previous completion ended
	total     llm.Usage          // of the completions that have ended
	delta     TextDelta
	text      strings.Builder
	reasoning llm.TokenEstimate
	done      MessageFinished
	usage     *llm.Usage // of the current completion, if the provider reported it
}

func (t *turn) newAnswer(id string, m resolved, out *output) *answer {
	a := &answer{
		turn:    t,
		out:     out,
		model:   m,
		holding: t.req.Options.FollowUps && !m.grounded,
		delta:   TextDelta{ID: id},
		done:    MessageFinished{ID: id, Status: StatusCompleted, Model: m.given()},
		offered: t.offer(),
	}
	form, seen := cite.Quotes, cite.Seen{Given: t.wasGiven, Shown: a.wasTold}
	if !m.grounded {
		form = cite.Prose
		if t.req.Options.Schema != nil {
			form = cite.JSON
		}
		a.thought = cite.NewStream(cite.Reasoning, t.sent, seen)
	}
	a.stream = cite.NewStream(form, t.sent, seen)
	return a
}

// complete runs the model and emits its output.
func (a *answer) complete(ctx context.Context) error {
	for c, err := range a.completion(ctx) {
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Miscalled {
			a.refused, a.refusal, a.done.FinishReason = a.refused+1, a.noSuchTool("", a.tools()), "tool_calls"
			return a.begin()
		}
		if err != nil {
			if ctx.Err() == nil { // the text still held back is part of the partial answer
				if left := a.say(a.stream.End(), nil); left != nil {
					return left
				}
			}
			return a.blame(fmt.Errorf("complete with %s: %w", a.model.key, err))
		}
		if err := a.add(&c); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// completion starts a completion of the model.
func (a *answer) completion(ctx context.Context) iter.Seq2[llm.Chunk, error] {
	o := &a.req.Options
	return a.model.Stream(ctx, llm.Request{
		Model:           a.model.name,
		Messages:        slices.Concat(a.prompt.Messages, a.behind),
		Temperature:     o.Temperature,
		TopP:            o.TopP,
		MaxOutputTokens: a.window.output(o.MaxOutputTokens),
		Within:          a.narrower(ctx),
		Stop:            o.Stop,
		Effort:          o.Effort,
		Schema:          o.Schema,
		Tools:           a.tools(),
		ToolChoice:      o.ToolChoice,
		Evidence:        a.evidence(a.sent),
		Whole:           a.req.Whole,
	})
}

// tools returns the tools that the model may call.
func (a *answer) tools() []llm.Tool { return slices.Concat(a.req.Options.Tools, a.offered) }

func (a *answer) add(c *llm.Chunk) error {
	a.done.Model = cmp.Or(a.done.Model, c.Model)
	if c.Vendor != nil {
		a.done.Vendor = mergeVendor(a.done.Vendor, c.Vendor)
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
	if c.FinishReason != "" {
		a.done.FinishReason = c.FinishReason
	}
	if c.Text == "" && c.Reasoning == "" && c.FinishReason == "" && len(c.ToolCalls) == 0 {
		return nil
	}
	if err := a.begin(); err != nil {
		return err
	}
	if c.Reasoning != "" {
		a.reasoning.Add(c.Reasoning)
		if err := a.think(c.Reasoning, false); err != nil {
			return err
		}
	}
	text := c.Text
	if a.holding && text != "" {
		text = a.hold.add(text)
	}
	if err := a.say(a.stream.Add(text), c.Vendor); err != nil {
		return err
	}
	return a.call(c.ToolCalls)
}

// begin emits CompletionStarted, once for each completion. It is not called before the model's first output
// or the end of the message, because another model can take over until then.
func (a *answer) begin() error {
	if a.begun {
		return nil
	}
	a.begun = true
	a.done.Model = cmp.Or(a.done.Model, a.model.name)
	return a.out.emit(CompletionStarted{ID: a.done.ID, Model: a.done.Model, Vendor: a.done.Vendor})
}

// think emits the reasoning that has been checked so far; with last, all that is left.
func (a *answer) think(text string, last bool) error {
	if a.thought != nil {
		if text = a.thought.Add(text); last {
			text += a.thought.End()
		}
	}
	if text == "" {
		return nil
	}
	return a.out.emit(ReasoningDelta{ID: a.done.ID, Text: text})
}

func (a *answer) say(text string, vendor *llm.Vendor) error {
	if text == "" {
		return nil
	}
	a.text.WriteString(text)
	a.delta.Text, a.delta.Vendor = text, vendor
	return a.out.emit(a.delta)
}

// finish emits the rest of the message, checks its citations, and returns the event that ends it.
func (a *answer) finish(ctx context.Context) (MessageFinished, error) {
	if err := a.begin(); err != nil {
		return a.done, err
	}
	if err := a.think("", true); err != nil {
		return a.done, err
	}
	if err := a.say(a.stream.Add(a.hold.end())+a.stream.End()+a.confirmations(), nil); err != nil {
		return a.done, err
	}
	if err := a.ownUp(); err != nil {
		return a.done, err
	}
	a.done.Text = a.text.String()
	a.done.FinishReason = cmp.Or(a.done.FinishReason, "stop")
	if err := a.settleCalls(); err != nil {
		return a.done, err
	}
	if a.done.FinishReason == "content_filter" && a.done.Text == "" {
		return a.done, &llm.Error{Filtered: true, Err: errors.New("the content filter removed the whole answer")}
	}
	if err := a.verify(ctx); err != nil {
		return a.done, err
	}
	if len(a.behind) == 0 {
		a.spent()
	}
	a.done.Usage = a.total
	return a.done, nil
}

func (a *answer) estimate() *llm.Usage {
	u := &llm.Usage{Reasoning: a.reasoning.Tokens(), Estimated: true}
	for _, m := range slices.Concat(a.prompt.Messages, a.behind) {
		u.Input += a.cfg.Count(m.Text()) + messageTokens
	}
	for _, c := range slices.Concat(a.done.ToolCalls, a.wanted) {
		u.Output += a.cfg.Count(c.Name) + a.cfg.Count(c.Arguments)
	}
	u.Output += u.Reasoning + a.cfg.Count(a.text.String()[a.from:]) + a.cfg.Count(string(a.hold.held))
	return u
}

// mergeVendor returns a copy of b, completed with fields that only a has. a may be nil.
func mergeVendor(a, b *llm.Vendor) *llm.Vendor {
	if a == nil {
		return b
	}
	merged := *b
	merged.ID = cmp.Or(merged.ID, a.ID)
	merged.SystemFingerprint = cmp.Or(merged.SystemFingerprint, a.SystemFingerprint)
	if merged.ContentFilter == nil {
		merged.ContentFilter = a.ContentFilter
	}
	if merged.PromptFilterResults == nil {
		merged.PromptFilterResults = a.PromptFilterResults
	}
	return &merged
}

package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/trace"
)

// Toolbox holds the tools that the server runs. A tool runs with the rights of the caller.
type Toolbox interface {
	// Offer returns the tools that a model may call in a namespace.
	Offer(namespace string) []llm.Tool
	// Call runs a tool. The text is for the model; on an error it says what went wrong. The answer may cite
	// the passages.
	Call(ctx context.Context, f retrieval.Filter, call llm.ToolCall) (text string, passages []retrieval.Passage, err error)
}

// maxToolRounds is the number of rounds of tool calls that a model may make before it must answer.
const maxToolRounds = 4

// offer returns the server's tools that the model of the turn may call. It returns none for a client
// with its own tools, which runs its own loop.
func (t *turn) offer() []llm.Tool {
	o := &t.req.Options
	if t.cfg.Tools == nil || !o.UseTools && len(o.MoreTools) == 0 || len(o.Tools) > 0 || t.model.grounded {
		return nil
	}
	tools := slices.Clone(t.cfg.Tools.Offer(t.req.Namespace))
	return slices.DeleteFunc(tools, func(tool llm.Tool) bool { return !t.mayCall(tool.Name) })
}

// mayCall reports whether the options let the model call a tool that the toolbox offers.
func (t *turn) mayCall(name string) bool {
	o := &t.req.Options
	if slices.Contains(o.MoreTools, name) {
		return true
	}
	return o.UseTools && !slices.Contains(t.cfg.OnRequest, name) && (o.OnlyTools == nil || slices.Contains(o.OnlyTools, name))
}

// useTools runs the tools that the model asked for and lets a model answer with the results, until it asks
// for no more. All completions write to the same message. A model that writes no text and makes only
// invalid calls is told so and tries again, but only once if the server runs no tools. In the last round the
// model is offered no tools, and its text is the answer, whatever it says.
func (a *answer) useTools(ctx context.Context) error {
	for len(a.wanted) > 0 || a.calledInVain() && (a.round == 0 || len(a.offered) > 0) {
		if a.round++; a.round == maxToolRounds {
			a.offered = nil
		}
		if len(a.wanted) == 0 {
			a.behind = append(a.behind, llm.Text(llm.User, a.refusal+a.lastWord()))
		} else if err := a.nest(ctx, StageTools, a.runTools); err != nil {
			return err
		}
		if err := a.nest(ctx, StageSynthesize, a.synthesize); err != nil {
			return err
		}
	}
	return nil
}

// lastWord returns the note to the model before the completion that must end the answer, or "" in earlier
// rounds.
func (a *answer) lastWord() string {
	if a.round < maxToolRounds {
		return ""
	}
	return "\n\nNo tool can be called any more. Answer now, with what you know."
}

// nest runs a stage within the generate stage.
func (a *answer) nest(ctx context.Context, name Stage, run func(context.Context) (StageFinished, error)) error {
	return a.runStage(ctx, a.out, stage{name: name, run: func(ctx context.Context, _ *output) (StageFinished, error) { return run(ctx) }})
}

// calledInVain reports whether the completion has no text and only calls that cannot run.
func (a *answer) calledInVain() bool {
	return a.refusal != "" && len(a.done.ToolCalls) == 0 && a.done.FinishReason != "content_filter" && a.silent(a.last)
}

// silent reports whether the message has no text after an offset, and the model has written no follow-ups.
func (a *answer) silent(from int) bool {
	return strings.TrimSpace(a.text.String()[from:]) == "" && len(a.hold.held) == 0
}

// ownUp says in the answer that the model kept calling tools and did not answer, if that is so. A client that
// offers its own tools, or expects JSON, gets an error instead.
func (a *answer) ownUp() error {
	o := &a.req.Options
	if len(a.behind) == 0 || a.refused == 0 || len(o.Tools) > 0 || o.Schema != nil || a.done.FinishReason == "content_filter" || !a.silent(a.last) {
		return nil
	}
	a.lost = true
	return a.say("The model kept calling tools and did not answer.", nil)
}

// runTools runs the calls of one round one after another, and appends the calls and results to the prompt. A
// call that is invalid or not confirmed is not run; its result says why.
func (a *answer) runTools(ctx context.Context) (StageFinished, error) {
	calls := a.wanted
	a.wanted = nil
	a.behind = append(a.behind, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: a.said}}, ToolCalls: calls})
	var called, wrong, unconfirmed []string
	for i, c := range calls {
		told, names := a.faults[c.ID], &wrong
		if told == "" {
			told, names = a.notConfirmed(&c), &unconfirmed
		}
		if told == "" {
			var err error
			if told, err = a.runOnce(ctx, c); err != nil {
				return StageFinished{}, err
			}
			names = &called
		}
		*names = append(*names, c.Name)
		if i == len(calls)-1 {
			told += a.lastWord()
		}
		a.behind = append(a.behind, llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Parts: []llm.Part{{Text: told}}})
	}
	a.faults = nil
	var notes []string
	if len(called) > 0 {
		notes = append(notes, "called "+strings.Join(called, ", "))
	}
	if len(wrong) > 0 {
		notes = append(notes, "told the model what is wrong with its calls to "+strings.Join(wrong, ", "))
	}
	if len(unconfirmed) > 0 {
		notes = append(notes, "the user has to confirm "+strings.Join(unconfirmed, ", "))
	}
	return StageFinished{Note: strings.Join(notes, "; ")}, nil
}

// ranCall is a call that the server ran.
type ranCall struct {
	round int
	told  string // the result as the model read it
}

// runOnce is like runTool, but handles repeated calls. Of equal calls in one round, only the first runs. If a
// later round repeats a call, it runs again, and a remark precedes the result if that has not changed.
func (a *answer) runOnce(ctx context.Context, c llm.ToolCall) (string, error) {
	key := c.Name + " " + canonical(c.Arguments)
	before, again := a.ran[key]
	if again && before.round == a.round {
		return "This is the same call as another one. Its result is the same.", nil
	}
	told, err := a.runTool(ctx, c)
	if err != nil {
		return "", err
	}
	if a.ran == nil {
		a.ran = map[string]ranCall{}
	}
	a.ran[key] = ranCall{a.round, told}
	if again && before.told == told {
		told = "You have called this tool with these arguments before, and the result is still the same:\n" + told
	}
	return told, nil
}

// canonical returns a JSON text in a form that is the same for equal values: {"a":1.0} becomes {"a":1}.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

// runTool runs one call and returns the result for the model.
func (a *answer) runTool(ctx context.Context, c llm.ToolCall) (string, error) {
	if err := a.out.emit(ToolStarted{ID: a.done.ID, Call: c}); err != nil {
		return "", err
	}
	start := time.Now()
	within, span := trace.Tool(ctx, c.Name, c.ID)
	text, passages, err := a.cfg.Tools.Call(within, a.filter(), c)
	span.End(err)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		a.cfg.Logger.WarnContext(ctx, "tool failed", "turn_id", a.req.TurnID, "tool", c.Name, "error", err)
	}
	told, shown := a.tell(text, passages)
	return told, a.out.emit(ToolReturned{
		ID: a.done.ID, CallID: c.ID, Name: c.Name, Text: told, Passages: len(passages), Failed: err != nil, Duration: time.Since(start),
		Found: shown,
	})
}

// tell formats a tool's result for the model: the text as lines that cannot pass for a source or a message,
// and the passages as sources, which the answer may cite from then on. It also returns the passages for which there was room.
func (a *answer) tell(text string, passages []retrieval.Passage) (told string, shown []retrieval.Passage) {
	room := a.toolRoom()
	var lines []string
	for line := range strings.Lines(a.resultWithin(text, room)) {
		lines = append(lines, prompt.Neutral(line))
		room -= a.count(line)
	}
	for i := range passages {
		p := &passages[i]
		if len(p.Chunk.Spans) == 0 {
			continue
		}
		source, cost := a.source(p)
		if room -= cost; room < 0 && a.window.declared {
			lines = append(lines, "(There is no room for more.)")
			break
		}
		lines = append(lines, source)
		a.sent, shown = withPassage(a.sent, p), append(shown, *p)
	}
	a.stream.Learn(a.sent)
	return strings.Join(lines, "\n"), shown
}

// resultWithin shortens a result to room tokens if the window of the model is known.
func (a *answer) resultWithin(text string, room int) string {
	if !a.window.declared {
		return text
	}
	return a.within(text, room)
}

// synthesize lets the model of the stage continue the answer with the results of the tools.
func (a *answer) synthesize(ctx context.Context) (StageFinished, error) {
	m, err := a.synthesizer()
	if err != nil {
		return StageFinished{}, err
	}
	if said := a.text.String(); said != "" && !strings.HasSuffix(said, "\n") {
		if err := a.say(a.stream.Add("\n\n"), nil); err != nil {
			return StageFinished{}, err
		}
	}
	a.model, a.begun, a.done.Model, a.done.FinishReason = m, false, m.given(), ""
	a.left, a.refused, a.refusal, a.last = a.left+a.refused, 0, "", a.text.Len()
	if err := a.complete(ctx); err != nil {
		return StageFinished{}, err
	}
	u := a.spent()
	return StageFinished{Model: cmp.Or(a.done.Model, m.name), Usage: u}, nil
}

// synthesizer returns the model that answers with the results of tools.
func (t *turn) synthesizer() (resolved, error) {
	key := cmp.Or(t.req.Options.Models.Synthesis, t.cfg.Defaults.Models.Synthesis)
	if key == "" {
		return t.model, nil
	}
	m, err := t.resolve(StageSynthesize, key)
	if err != nil {
		return m, fmt.Errorf("resolve the model that answers with tools: %w", err)
	}
	return m, nil
}

// spent returns the usage of the completion that has ended, and resets the counters for the next one.
func (a *answer) spent() llm.Usage {
	u := a.usage
	if u == nil {
		u = a.estimate()
	}
	a.total = a.total.Add(*u)
	a.usage, a.reasoning = nil, llm.TokenEstimate{}
	a.said, a.from = a.text.String()[a.from:], a.text.Len()
	return *u
}

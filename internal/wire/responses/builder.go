package responses

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// sink receives the events of a response.
type sink interface {
	// event returns a buffer for an event of that name. The caller appends the JSON and passes it to next or soon.
	event(name string) []byte
	// next sends an event that is followed immediately by another; soon sends an event that may be
	// delayed a little.
	next(line []byte) error
	soon(line []byte) error
}

// builder makes the items of one response from the events of its turn, and sends each step to a sink in
// the order that the API prescribes: an item is added; its parts are added, grow and are done; then the
// item is done. It is not safe for concurrent use.
type builder struct {
	h   *Handler
	x   *exchange
	out sink // nil if only the response is needed

	quiet bool // only the last event reports an error

	seq       int
	begun     bool
	advanced  bool // it is stored that the response has begun
	requested string
	query     chat.QueryRewritten
	found     chat.PassagesRetrieved
	message   chat.MessageFinished
	files     map[string]library.Member // by document id; those of vector stores also by document name

	reasoning *reasoningItem // the open item, or nil
	reasoned  strings.Builder
	text      *messageItem // nil until the answer has text
	said      strings.Builder
	delta     []byte // the constant part of a text event between its number and its text
}

// run runs the turn with ctx, makes its response and stores it. If the response has begun, the builder
// also reports an error as its last events. The returned error is for the log, or for a client that has
// received nothing yet.
func (b *builder) run(ctx context.Context) error {
	err := b.answer(ctx)
	if err == nil {
		err = b.complete(ctx)
	}
	if err != nil {
		err = wire.CauseOf(ctx, err)
		b.fail(ctx, err)
	}
	return err
}

func (b *builder) answer(ctx context.Context) error {
	return wire.SendTurn(b.h.cfg.Runner.Run(ctx, &b.x.req), func(e chat.Event) error {
		if found, ok := e.(chat.PassagesRetrieved); ok {
			if err := b.findFiles(ctx, found); err != nil {
				return err
			}
		}
		if err := b.add(e); err != nil {
			return err
		}
		return b.advance(ctx)
	})
}

// complete stores the response, and only then tells the client that it is complete.
func (b *builder) complete(ctx context.Context) error {
	res, name := &b.x.res, "response.incomplete"
	if res.Status == completed {
		now := b.h.cfg.Now().Unix()
		res.CompletedAt, name = &now, "response.completed"
	}
	if err := b.h.save(ctx, b.x); err != nil {
		return err
	}
	b.x.memory.keep(b.x)
	return b.emit(stateEvent{b.head(name), res})
}

// fail ends and stores a response after an error. Open items are kept, with the status incomplete.
func (b *builder) fail(ctx context.Context, err error) {
	res := &b.x.res
	res.Status = failed
	if stopped := errors.Is(err, errCancelled) || turn.IsStopped(err); stopped || errors.Is(err, context.Canceled) || errors.Is(err, wire.ErrClientGone) {
		res.Status = cancelled
		if stopped {
			_ = b.begin(b.requested) // if this fails, the client is gone
		}
	}
	if !b.begun && !res.Background {
		return
	}
	seq, out := b.seq, b.out
	b.out = nil // no events for the items: the final event of the response implies their end
	_ = b.closeAll(unfinished)
	b.seq, b.out = seq, out
	p, _ := problemOf(err)
	res.Error, res.CompletedAt = p.cause(), nil
	_ = b.h.save(ctx, b.x) // an error here must not hide the error of the turn
	// If these fail, the client is gone.
	if !b.quiet {
		_ = b.emit(errorEvent{b.head("error"), p.Code, p.Message, p.Param, p})
	}
	_ = b.emit(stateEvent{b.head("response.failed"), res})
}

// add processes an event of the turn.
func (b *builder) add(e chat.Event) error {
	switch e := e.(type) {
	case chat.TextDelta:
		return b.say(e.Text)
	case chat.QueryRewritten:
		b.query = e
	case chat.PassagesRetrieved:
		b.found = e
	case chat.MessageStarted:
		b.requested = e.Model
	case chat.CompletionStarted:
		return b.begin(openai.Fingerprint(e.Model, e.Vendor))
	case chat.ReasoningDelta:
		return b.reason(e.Text)
	case chat.ToolCalled, chat.ToolStarted:
		return b.begin(b.requested)
	case chat.MessageFinished:
		b.message = e
		return wire.MessageError(e)
	case chat.TurnFinished:
		return b.finish(e.Usage)
	}
	return nil
}

// begin sends the first events of the response, once. It is called when a model has begun to answer, so
// that an earlier error can still be reported with its own HTTP status.
func (b *builder) begin(answering string) error {
	if b.begun {
		return nil
	}
	b.begun = true
	b.x.res.Fingerprint = answering
	if b.x.res.Status == waiting {
		b.x.res.Status = inProgress
	}
	if !b.x.res.Background { // otherwise wait has sent it
		if err := b.emit(stateEvent{b.head("response.created"), &b.x.res}); err != nil {
			return err
		}
	}
	if err := b.emit(stateEvent{b.head("response.in_progress"), &b.x.res}); err != nil {
		return err
	}
	return b.search()
}

// wait sends the first events of a background response. The response must already be stored.
func (b *builder) wait() error {
	for _, name := range []string{"response.created", "response.queued"} {
		if err := b.emit(stateEvent{b.head(name), &b.x.res}); err != nil {
			return err
		}
	}
	return nil
}

// advance stores, once, that a background response is in progress.
func (b *builder) advance(ctx context.Context) error {
	if !b.x.res.Background || !b.begun || b.advanced {
		return nil
	}
	b.advanced = true
	return b.h.save(ctx, b.x)
}

// named is an event with a name.
type named interface{ name() string }

// head returns the head of the next event, and counts it.
func (b *builder) head(name string) head {
	b.seq++
	return head{Type: name, Seq: b.seq - 1}
}

func (b *builder) emit(e named) error {
	if b.out == nil {
		return nil
	}
	line, err := wire.AppendJSON(b.out.event(e.name()), e)
	if err != nil {
		return err
	}
	return b.out.next(line)
}

// open adds an item to the output.
func (b *builder) open(item any) error {
	index := len(b.x.res.Output)
	b.x.res.Output = append(b.x.res.Output, item)
	return b.emit(itemEvent{b.head("response.output_item.added"), index, item})
}

// close ends the last item of the output, with its final value.
func (b *builder) close(item any) error {
	last := len(b.x.res.Output) - 1
	b.x.res.Output[last] = item
	return b.emit(itemEvent{b.head("response.output_item.done"), last, item})
}

func (b *builder) newID(prefix string) string {
	return prefix + b.x.req.TurnID + "_" + strconv.Itoa(len(b.x.res.Output))
}

// say adds a piece of the answer.
func (b *builder) say(text string) error {
	if b.text == nil {
		if err := b.openText(); err != nil {
			return err
		}
	}
	b.said.WriteString(text)
	if b.out == nil {
		return nil
	}
	const name = "response.output_text.delta"
	line := append(b.out.event(name), `{"type":"`+name+`","sequence_number":`...)
	line = append(strconv.AppendInt(line, int64(b.seq), 10), b.delta...)
	b.seq++
	return b.out.soon(append(wire.AppendString(line, text), `,"logprobs":[]}`...))
}

func (b *builder) openText() error {
	if err := b.begin(b.requested); err != nil {
		return err
	}
	if err := b.closeReasoning(completed); err != nil {
		return err
	}
	b.text = &messageItem{ID: b.newID(messagePrefix), Type: messageType, Status: inProgress, Role: "assistant", Content: []textPart{}}
	if err := b.open(b.text); err != nil {
		return err
	}
	at := b.at()
	b.delta = wire.AppendString(append(b.delta[:0], `,"item_id":`...), at.Item)
	b.delta = strconv.AppendInt(append(b.delta, `,"output_index":`...), int64(at.Output), 10)
	b.delta = append(b.delta, `,"content_index":0,"delta":`...)
	return b.emit(partEvent{b.head("response.content_part.added"), at, newText("")})
}

// at returns the place of the answer's text.
func (b *builder) at() place { return place{Item: b.text.ID, Output: len(b.x.res.Output) - 1} }

func newText(text string) textPart {
	return textPart{Type: textType, Text: text, Annotations: []any{}, Logprobs: []any{}}
}

// closeText ends the text of the answer and adds its citations, which are known only when the text is
// complete.
func (b *builder) closeText(status string) error {
	if b.text == nil {
		return nil
	}
	at, part := b.at(), newText(b.said.String())
	for i, a := range b.h.catalog.Annotations(b.message, b.x.base, b.x.req.Namespace) {
		c := b.citation(a)
		part.Annotations = append(part.Annotations, c)
		if err := b.emit(annotationEvent{b.head("response.output_text.annotation.added"), at, i, c}); err != nil {
			return err
		}
	}
	part.Unsupported = b.message.Unsupported()
	if err := b.emit(textDoneEvent{b.head("response.output_text.done"), at, part.Text, part.Logprobs}); err != nil {
		return err
	}
	if err := b.emit(partEvent{b.head("response.content_part.done"), at, part}); err != nil {
		return err
	}
	item := *b.text
	item.Status, item.Content = status, []textPart{part}
	b.text = nil
	return b.close(&item)
}

// citation returns the annotation for the client: a file citation if the passage comes from a file in a
// vector store or in the request, otherwise a URL citation.
func (b *builder) citation(a openai.Annotation) any {
	if m, ok := b.files[cmp.Or(a.Document, a.Name)]; ok {
		return fileCitation{Type: "file_citation", FileID: m.File, Filename: m.Filename, Index: a.Start, Page: a.Page, URL: a.URL, Start: a.Start, End: a.End}
	}
	return urlCitation{Type: "url_citation", Start: a.Start, End: a.End, Title: a.Title, URL: a.URL}
}

// call adds a complete call of a client's tool.
func (b *builder) call(c llm.ToolCall) error {
	item := callItem{ID: b.newID(callPrefix), Type: "function_call", Status: inProgress, CallID: c.ID, Name: c.Name}
	if c.Signature != "" {
		item.Extra = &extra{}
		item.Extra.Parley.Signature = c.Signature
	}
	if err := b.open(&item); err != nil {
		return err
	}
	index := len(b.x.res.Output) - 1
	if err := b.emit(argumentsDeltaEvent{b.head("response.function_call_arguments.delta"), item.ID, index, c.Arguments}); err != nil {
		return err
	}
	if err := b.emit(argumentsDoneEvent{b.head("response.function_call_arguments.done"), item.ID, index, c.Name, c.Arguments}); err != nil {
		return err
	}
	whole := item
	whole.Status, whole.Arguments = completed, c.Arguments
	return b.close(&whole)
}

// finish closes the open items at the end of the turn. Until then, the answer could still be withdrawn.
func (b *builder) finish(u llm.Usage) error {
	if err := wire.MessageError(b.message); err != nil {
		return err
	}
	if err := b.begin(openai.Fingerprint(b.message.Model, b.message.Vendor)); err != nil {
		return err
	}
	status := completed
	switch b.message.FinishReason {
	case "length":
		status, b.x.res.IncompleteDetails = unfinished, &incomplete{Reason: "max_output_tokens"}
	case "content_filter":
		status, b.x.res.IncompleteDetails = unfinished, &incomplete{Reason: "content_filter"}
	}
	if b.text == nil && len(b.message.ToolCalls) == 0 {
		if err := b.openText(); err != nil { // every answer has an item, even an empty one
			return err
		}
	}
	if err := b.closeAll(status); err != nil {
		return err
	}
	for _, c := range b.message.ToolCalls {
		if err := b.call(c); err != nil {
			return err
		}
	}
	b.x.res.Usage = usageOf(u)
	b.x.res.Status = status
	return nil
}

func (b *builder) closeAll(status string) error {
	if err := b.closeReasoning(status); err != nil {
		return err
	}
	return b.closeText(status)
}

func usageOf(u llm.Usage) *usage {
	return &usage{
		Input: u.Input, InputDetails: inputDetails{Cached: u.Cached},
		Output: u.Output, OutputDetails: outputDetails{Reasoning: u.Reasoning},
		Total: u.Input + u.Output, Estimated: u.Estimated,
	}
}

package agui

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// session sends the events of one turn as the events of a run.
type session struct {
	h      *Handler
	x      *exchange
	stream *wire.Stream

	steps    []chat.Stage // open ones, in order of their start
	open     string       // the kind of the open message: textMessage or reasoningMessage; "" for none
	message  string       // id of the open or last message
	messages int          // number of ids that were given out
	delta    []byte       // the beginning of each delta of the open message
	said     string       // id of the assistant's current message, to which calls and citations belong; "" for none
	pending  bool         // the page has tools to run
	answer   chat.MessageFinished
	asks     []string // follow-up questions
}

// The kinds of messages that are sent in deltas. The names of their events begin with these.
const (
	textMessage      = "TEXT_MESSAGE"
	reasoningMessage = "REASONING_MESSAGE"
)

// run runs the turn and sends its events. An error before the first event is returned, so that it gets an HTTP
// status; a later one is also sent as an event.
func (s *session) run(ctx context.Context) error {
	return s.stream.SendTurn(ctx, s.h.cfg.Runner.Run(ctx, &s.x.req), s.event, s.fail)
}

func (s *session) event(e chat.Event) error {
	if err := s.begin(); err != nil {
		return err
	}
	switch e := e.(type) {
	case chat.TextDelta:
		return s.say(textMessage, e.Text)
	case chat.ReasoningDelta:
		return s.say(reasoningMessage, e.Text)
	case chat.StageStarted:
		return s.step(e.Stage)
	case chat.StageFinished:
		return s.stepped(e.Stage)
	case chat.ToolStarted:
		return s.call(e.Call)
	case chat.ToolReturned:
		return s.result(e)
	case chat.ToolCalled:
		s.pending = true
		return s.call(e.Call)
	case chat.FollowUpsSuggested:
		s.asks = e.Questions
	case chat.MessageFinished:
		s.answer = e
		return wire.MessageError(e)
	case chat.TurnFinished:
		return s.last(e.Usage)
	}
	return nil
}

// begin sends the first event, once.
func (s *session) begin() error {
	if s.stream.Begun() {
		return nil
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"RUN_STARTED","threadId":`...), s.x.thread)
	line = wire.AppendString(append(line, `,"runId":`...), s.x.run)
	return s.stream.SendWithNext(append(line, '}'))
}

// step opens a step unless one with the same name is open: AG-UI does not allow two.
func (s *session) step(stage chat.Stage) error {
	if slices.Contains(s.steps, stage) {
		return nil
	}
	s.steps = append(s.steps, stage)
	return s.stream.SendSoon(s.named(`{"type":"STEP_STARTED","stepName":`, string(stage)))
}

func (s *session) stepped(stage chat.Stage) error {
	i := slices.Index(s.steps, stage)
	if i < 0 {
		return nil
	}
	s.steps = slices.Delete(s.steps, i, i+1)
	return s.stream.SendWithNext(s.named(`{"type":"STEP_FINISHED","stepName":`, string(stage)))
}

// named returns an event that ends with a string.
func (s *session) named(head, value string) []byte {
	return append(wire.AppendString(append(s.stream.Line(), head...), value), '}')
}

// say sends a piece of a message. It opens the message if none of its kind is open.
func (s *session) say(kind, text string) error {
	if s.open != kind {
		if err := s.start(kind); err != nil {
			return err
		}
	}
	line := wire.AppendString(append(s.stream.Line(), s.delta...), text)
	return s.stream.SendSoon(append(line, '}'))
}

// start closes the open message and opens one of a kind.
func (s *session) start(kind string) error {
	if err := s.close(); err != nil {
		return err
	}
	s.open, s.message = kind, s.nextID()
	role := "assistant"
	if kind == reasoningMessage {
		role = "reasoning"
		if err := s.stream.SendWithNext(s.named(`{"type":"REASONING_START","messageId":`, s.message)); err != nil {
			return err
		}
	} else {
		s.said = s.message
	}
	head := `","messageId":"` + s.message + `"`
	s.delta = append(s.delta[:0], `{"type":"`+kind+`_CONTENT`+head+`,"delta":`...)
	return s.stream.SendWithNext(append(s.stream.Line(), `{"type":"`+kind+`_START`+head+`,"role":"`+role+`"}`...))
}

// close ends the open message, if any.
func (s *session) close() error {
	if s.open == "" {
		return nil
	}
	kind := s.open
	s.open = ""
	err := s.stream.SendWithNext(s.named(`{"type":"`+kind+`_END","messageId":`, s.message))
	if err == nil && kind == reasoningMessage {
		err = s.stream.SendWithNext(s.named(`{"type":"REASONING_END","messageId":`, s.message))
	}
	return err
}

// call sends a tool call, as part of the message with the text and the calls before it.
func (s *session) call(c llm.ToolCall) error {
	if err := s.close(); err != nil {
		return err
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"TOOL_CALL_START","toolCallId":`...), c.ID)
	line = wire.AppendString(append(line, `,"toolCallName":`...), c.Name)
	if s.said == "" {
		s.said = s.nextID()
	}
	line = wire.AppendString(append(line, `,"parentMessageId":`...), s.said)
	if err := s.stream.SendWithNext(append(line, '}')); err != nil {
		return err
	}
	line = wire.AppendString(append(s.stream.Line(), `{"type":"TOOL_CALL_ARGS","toolCallId":`...), c.ID)
	line = wire.AppendString(append(line, `,"delta":`...), c.Arguments)
	if err := s.stream.SendWithNext(append(line, '}')); err != nil {
		return err
	}
	if err := s.stream.Send(s.named(`{"type":"TOOL_CALL_END","toolCallId":`, c.ID)); err != nil || c.Signature == "" {
		return err
	}
	line = wire.AppendString(append(s.stream.Line(), `{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":`...), c.ID)
	line = wire.AppendString(append(line, `,"encryptedValue":`...), c.Signature)
	return s.stream.Send(append(line, '}'))
}

// result sends the result of a tool that the server has run. Text and calls after it belong to a new message.
func (s *session) result(e chat.ToolReturned) error {
	s.said = ""
	line := wire.AppendString(append(s.stream.Line(), `{"type":"TOOL_CALL_RESULT","messageId":`...), s.nextID())
	line = wire.AppendString(append(line, `,"toolCallId":`...), e.CallID)
	line = wire.AppendString(append(line, `,"content":`...), e.Text)
	return s.stream.Send(append(line, `,"role":"tool"}`...))
}

// nextID returns the id of the next message.
func (s *session) nextID() string {
	s.messages++
	return s.x.req.TurnID + "-" + strconv.Itoa(s.messages)
}

// last ends the run. It is called for the last event of the turn: until then, the turn may still fail to be saved.
func (s *session) last(u llm.Usage) error {
	err := wire.MessageError(s.answer)
	if err == nil && s.answer.Text == "" && !s.pending {
		err = s.start(textMessage) // an empty answer is sent as an empty message
	}
	if err == nil {
		err = s.close()
	}
	for len(s.steps) > 0 && err == nil {
		err = s.stepped(s.steps[len(s.steps)-1])
	}
	if err == nil {
		err = s.state()
	}
	if err != nil {
		return err
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"RUN_FINISHED","threadId":`...), s.x.thread)
	line = wire.AppendString(append(line, `,"runId":`...), s.x.run)
	line, err = wire.AppendJSON(append(line, `,"usage":`...), []usage{{s.answer.Model, u.Input, u.Output, u.Input + u.Output, u.Reasoning, u.Cached}})
	if err != nil {
		return err
	}
	return s.stream.Send(append(line, '}'))
}

type usage struct {
	Model     string `json:"model"`
	Input     int    `json:"inputTokens"`
	Output    int    `json:"outputTokens"`
	Total     int    `json:"totalTokens"`
	Reasoning int    `json:"reasoningTokens"`
	Cached    int    `json:"cachedInputTokens"`
}

// source is a citation in the state.
type source struct {
	Message  string `json:"messageId"`
	Label    string `json:"citation"` // as it appears in brackets in the text
	Title    string `json:"title"`
	Document string `json:"document"`
	Page     int    `json:"page,omitempty"`
	URL      string `json:"url"` // opens the cited page
	Quote    string `json:"quote,omitempty"`
}

// state sends what the page should keep from the answer: its citations, follow-up questions and unsupported
// citations. If the client has a state, it adds them to it; otherwise it sends a new state.
func (s *session) state() error {
	sources := make([]source, len(s.answer.Citations))
	for i := range s.answer.Citations {
		c := &s.answer.Citations[i]
		sources[i] = source{
			Message: s.said, Label: c.Label, Title: cmp.Or(c.Title, c.Name), Document: c.Name, Page: c.Page,
			URL: s.h.catalog.Link(c.Name, c.Page, s.x.base, s.x.req.Namespace),
		}
		for _, span := range c.Spans {
			sources[i].Quote = cmp.Or(sources[i].Quote, span.Quote)
		}
	}
	members := []struct {
		name  string
		value any
	}{{"citations", sources}, {"followUps", wire.ListOf(s.asks)}, {"unsupportedCitations", wire.ListOf(s.answer.Unsupported())}}
	line := s.stream.Line()
	if s.x.stateful {
		line = append(line, `{"type":"STATE_DELTA","delta":[`...)
	} else {
		line = append(line, `{"type":"STATE_SNAPSHOT","snapshot":{`...)
	}
	var err error
	for i, m := range members {
		if i > 0 {
			line = append(line, ',')
		}
		if s.x.stateful {
			line = append(line, `{"op":"add","path":"/`+m.name+`","value":`...)
		} else {
			line = append(line, `"`+m.name+`":`...)
		}
		if line, err = wire.AppendJSON(line, m.value); err != nil {
			return err
		}
		if s.x.stateful {
			line = append(line, '}')
		}
	}
	if s.x.stateful {
		return s.stream.SendWithNext(append(line, "]}"...))
	}
	return s.stream.SendWithNext(append(line, "}}"...))
}

// fail sends the error that ended the turn as an event.
func (s *session) fail(err error) error {
	f := wire.FailureOf(err)
	line := wire.AppendString(append(s.stream.Line(), `{"type":"RUN_ERROR","message":`...), f.Text)
	line = wire.AppendString(append(line, `,"code":`...), f.Code)
	return s.stream.Send(append(line, '}'))
}

package aisdk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"parley/internal/chat"
	"parley/internal/format"
	"parley/internal/llm"
	"parley/internal/wire"
)

// session sends the events of one turn as chunks.
type session struct {
	h         *Handler
	stream    *wire.Stream
	message   string // its id
	base      string // URL of the server, for links
	namespace string

	open   string // the kind of the open part: textPart or reasoningPart; "" for none
	part   int    // number of parts that were opened
	delta  []byte // the beginning of each delta of the open part
	answer chat.MessageFinished
}

// The kinds of parts that are sent in deltas.
const (
	textPart      = "text"
	reasoningPart = "reasoning"
)

func (h *Handler) session(w http.ResponseWriter, message, base, namespace string) *session {
	w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	return &session{h: h, stream: wire.SSE(w), message: message, base: base, namespace: namespace}
}

// run sends the events of a turn. An error before the first event is returned, so that it gets an HTTP status; a
// later one is also sent as a chunk.
func (s *session) run(ctx context.Context, events iter.Seq2[chat.Event, error]) error {
	return s.stream.SendTurn(ctx, events, s.event, func(err error) error {
		if err := s.fail(err); err != nil {
			return err
		}
		return s.done()
	})
}

// event sends the chunks of an event. A nil event means that nothing has happened for keepAliveInterval.
func (s *session) event(e chat.Event) error {
	if err := s.begin(); err != nil {
		return err
	}
	switch e := e.(type) {
	case nil:
		return s.stream.Comment("keep-alive")
	case chat.TextDelta:
		return s.say(textPart, e.Text)
	case chat.ReasoningDelta:
		return s.say(reasoningPart, e.Text)
	case chat.StageStarted:
		return s.stage(string(e.Stage))
	case chat.ToolStarted:
		return s.call(e.Call, true)
	case chat.ToolReturned:
		return s.result(e)
	case chat.ToolCalled:
		return s.call(e.Call, false)
	case chat.FollowUpsSuggested:
		return s.json(`{"type":"data-follow-ups","data":`, e.Questions)
	case chat.MessageFinished:
		s.answer = e
		return wire.MessageError(e)
	case chat.TurnFinished:
		return s.last(e.Usage)
	}
	return nil
}

// begin sends the first chunks, once.
func (s *session) begin() error {
	if s.stream.Begun() {
		return nil
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"start","messageId":`...), s.message)
	if err := s.stream.SendWithNext(append(line, '}')); err != nil {
		return err
	}
	return s.stream.SendWithNext(append(s.stream.Line(), `{"type":"start-step"}`...))
}

// stage tells the page what the server is doing, until a part of the answer has been sent.
func (s *session) stage(name string) error {
	if s.part > 0 {
		return nil
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"data-stage","data":{"stage":`...), name)
	return s.stream.SendSoon(append(line, `},"transient":true}`...))
}

// say sends a piece of a part. It opens the part if none of its kind is open.
func (s *session) say(kind, text string) error {
	if s.open != kind {
		if err := s.close(); err != nil {
			return err
		}
		s.open, s.part = kind, s.part+1
		id := strconv.Itoa(s.part)
		s.delta = append(s.delta[:0], `{"type":"`+kind+`-delta","id":"`+id+`","delta":`...)
		if err := s.stream.SendWithNext(append(s.stream.Line(), `{"type":"`+kind+`-start","id":"`+id+`"}`...)); err != nil {
			return err
		}
	}
	line := wire.AppendString(append(s.stream.Line(), s.delta...), text)
	return s.stream.SendSoon(append(line, '}'))
}

// close ends the open part, if any.
func (s *session) close() error {
	if s.open == "" {
		return nil
	}
	line := append(s.stream.Line(), `{"type":"`+s.open+`-end","id":"`+strconv.Itoa(s.part)+`"}`...)
	s.open = ""
	return s.stream.SendWithNext(line)
}

// call sends a tool call. Calls of the server's own tools are dynamic, since the page does not know these tools.
func (s *session) call(c llm.ToolCall, own bool) error {
	if err := s.close(); err != nil {
		return err
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"tool-input-available","toolCallId":`...), c.ID)
	line = wire.AppendString(append(line, `,"toolName":`...), c.Name)
	line = append(line, `,"input":`...)
	if json.Valid([]byte(c.Arguments)) {
		line = append(line, wire.Value(c.Arguments).Compact()...)
	} else {
		line = wire.AppendString(line, c.Arguments)
	}
	if own {
		line = append(line, `,"providerExecuted":true,"dynamic":true`...)
	}
	if c.Signature != "" {
		line = wire.AppendString(append(line, `,"providerMetadata":{"parley":{"signature":`...), c.Signature)
		line = append(line, `}}`...)
	}
	return s.stream.Send(append(line, '}'))
}

// result sends the result of a tool that the server has run.
func (s *session) result(e chat.ToolReturned) error {
	kind, member := "tool-output-available", "output"
	if e.Failed {
		kind, member = "tool-output-error", "errorText"
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"`+kind+`","toolCallId":`...), e.CallID)
	line = wire.AppendString(append(line, `,"`+member+`":`...), e.Text)
	return s.stream.Send(append(line, `,"providerExecuted":true,"dynamic":true}`...))
}

// last ends the stream. It is called for the last event of the turn: until then, the turn may still fail to be saved.
func (s *session) last(u llm.Usage) error {
	err := wire.MessageError(s.answer)
	if err == nil {
		err = s.close()
	}
	if err == nil {
		err = s.sources()
	}
	if err == nil {
		err = s.stream.SendWithNext(append(s.stream.Line(), `{"type":"finish-step"}`...))
	}
	if err == nil {
		err = s.json(`{"type":"finish","messageMetadata":`, metadata{
			Model: s.answer.Model, FinishReason: reasonOf(s.answer.FinishReason),
			Usage: usage{u.Input, u.Output, u.Input + u.Output, u.Reasoning, u.Cached}, Unsupported: s.answer.Unsupported(),
		})
	}
	if err != nil {
		return err
	}
	return s.done()
}

// metadata is what the page gets about a message besides its parts. FinishReason is here and not in the finish
// chunk itself, because early releases of version 5 reject chunks with unknown members.
type metadata struct {
	Model        string   `json:"model"`
	FinishReason string   `json:"finishReason"`
	Usage        usage    `json:"usage"`
	Unsupported  []string `json:"unsupportedCitations,omitempty"`
}

type usage struct {
	Input     int `json:"inputTokens"`
	Output    int `json:"outputTokens"`
	Total     int `json:"totalTokens"`
	Reasoning int `json:"reasoningTokens"`
	Cached    int `json:"cachedInputTokens"`
}

// reasonOf returns the AI SDK's word for why an answer ended.
func reasonOf(reason string) string {
	switch reason {
	case "length":
		return "length"
	case "content_filter":
		return "content-filter"
	case "tool_calls":
		return "tool-calls"
	}
	return "stop"
}

// sources sends a source-url for each citation, which opens the cited page, and a source-document for each cited
// file, with all its cited pages. A citation of a file in the request, which has no link, is sent as a source-document.
func (s *session) sources() error {
	var names []string
	files := map[string]*fileSource{}
	for i := range s.answer.Citations {
		c := &s.answer.Citations[i]
		from := cited{Document: c.Name, Label: c.Label, Page: c.Page, URL: c.URL, Quote: quoteOf(c)}
		link := s.h.catalog.LinkTo(c, s.base, s.namespace)
		if link == "" { // a file in the request
			if err := s.document(c.Label, titleOf(c), c.Name, from); err != nil {
				return err
			}
			continue
		}
		line := wire.AppendString(append(s.stream.Line(), `{"type":"source-url","sourceId":`...), c.Label)
		line = wire.AppendString(append(line, `,"url":`...), link)
		line = wire.AppendString(append(line, `,"title":`...), titleOf(c))
		line, err := from.append(line)
		if err != nil {
			return err
		}
		if err := s.stream.SendWithNext(append(line, '}')); err != nil {
			return err
		}
		if c.URL != "" {
			continue // a web page has no source-document
		}
		if files[c.Name] == nil {
			files[c.Name] = &fileSource{title: c.Title, url: s.h.catalog.Link(c.Name, 0, s.base, s.namespace)}
			names = append(names, c.Name)
		}
		if c.Page > 0 {
			files[c.Name].pages = append(files[c.Name].pages, c.Page)
		}
	}
	for _, name := range names {
		f := files[name]
		if err := s.document("document:"+name, cmp.Or(f.title, name), name, cited{Document: name, Pages: f.pages, URL: f.url}); err != nil {
			return err
		}
	}
	return nil
}

// fileSource is a cited file with its cited pages.
type fileSource struct {
	title, url string
	pages      []int
}

// document sends a source-document chunk.
func (s *session) document(id, title, name string, from cited) error {
	line := wire.AppendString(append(s.stream.Line(), `{"type":"source-document","sourceId":`...), id)
	line = wire.AppendString(append(line, `,"mediaType":`...), cmp.Or(format.MediaType(format.Ext(name)), "application/octet-stream"))
	line = wire.AppendString(append(line, `,"title":`...), title)
	line = wire.AppendString(append(line, `,"filename":`...), name)
	line, err := from.append(line)
	if err != nil {
		return err
	}
	return s.stream.SendWithNext(append(line, '}'))
}

// cited holds the properties of a source for which its chunk has no members.
type cited struct {
	Document string `json:"document"`
	Label    string `json:"citation,omitempty"` // as it appears in brackets in the text
	Page     int    `json:"page,omitempty"`
	Pages    []int  `json:"pages,omitempty"`
	URL      string `json:"url,omitempty"`
	Quote    string `json:"quote,omitempty"` // the cited words
}

// append appends the member providerMetadata of a source chunk to line.
func (c cited) append(line []byte) ([]byte, error) {
	line, err := wire.AppendJSON(append(line, `,"providerMetadata":{"parley":`...), c)
	return append(line, '}'), err
}

func quoteOf(c *chat.Citation) string {
	for _, s := range c.Spans {
		if s.Quote != "" {
			return s.Quote
		}
	}
	return ""
}

// titleOf returns the title of the cited document, with the page if there is one.
func titleOf(c *chat.Citation) string {
	title := cmp.Or(c.Title, c.Name)
	if c.Page > 0 {
		title = fmt.Sprintf("%s, page %d", title, c.Page)
	}
	return title
}

// fail sends the error that ended the turn, or an abort chunk if the turn was stopped.
func (s *session) fail(err error) error {
	if errors.Is(err, context.Canceled) && chat.KindOf(err) == chat.Conflict {
		return s.stream.Send(append(s.stream.Line(), `{"type":"abort"}`...))
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"error","errorText":`...), wire.FailureOf(err).Text)
	return s.stream.Send(append(line, '}'))
}

func (s *session) done() error { return s.stream.Send(append(s.stream.Line(), "[DONE]"...)) }

// json sends a chunk: head, v as JSON, and a closing brace.
func (s *session) json(head string, v any) error {
	line, err := wire.AppendJSON(append(s.stream.Line(), head...), v)
	if err != nil {
		return err
	}
	return s.stream.SendWithNext(append(line, '}'))
}

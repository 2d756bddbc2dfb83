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

// session writes the events of one turn as chunks.
type session struct {
	h         *Handler
	stream    *wire.Stream
	message   string // its id
	base      string // URL of the server, for links
	namespace string

	open   string // the kind of the part that is open: text, reasoning; "" for none
	part   int    // how many parts were opened
	delta  []byte // what each delta of the open part begins with
	answer chat.MessageFinished
}

// The kinds of parts that come in deltas.
const (
	textPart      = "text"
	reasoningPart = "reasoning"
)

func (h *Handler) session(w http.ResponseWriter, message, base, namespace string) *session {
	w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	return &session{h: h, stream: wire.SSE(w), message: message, base: base, namespace: namespace}
}

// run sends a turn. An error before its first event is returned for a status of its own; one after that is a
// chunk too.
func (s *session) run(ctx context.Context, events iter.Seq2[chat.Event, error]) error {
	return s.stream.SendTurn(ctx, events, s.event, func(err error) error {
		if err := s.fail(err); err != nil {
			return err
		}
		return s.done()
	})
}

// event sends the chunks of an event. A nil event says that nothing has happened for a while.
func (s *session) event(e chat.Event) error {
	if e == nil {
		return s.stream.Comment("keep-alive")
	}
	if err := s.begin(); err != nil {
		return err
	}
	switch e := e.(type) {
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

// stage says what the server is doing, for as long as there is no answer to show.
func (s *session) stage(name string) error {
	if s.part > 0 {
		return nil
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"data-stage","data":{"stage":`...), name)
	return s.stream.SendSoon(append(line, `},"transient":true}`...))
}

// say sends a piece of a part, which it opens if need be.
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

// close ends the part that is open.
func (s *session) close() error {
	if s.open == "" {
		return nil
	}
	line := append(s.stream.Line(), `{"type":"`+s.open+`-end","id":"`+strconv.Itoa(s.part)+`"}`...)
	s.open = ""
	return s.stream.SendWithNext(line)
}

// call sends a call of a tool. Those that the server runs are dynamic, since the page does not know them.
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

// last ends the stream. It waits for the end of the turn: only then is the answer known to stay.
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

// metadata is what the page learns of a message beside its parts. The reason has no member of its own in the
// chunk, because early releases of version 5 refuse chunks with members that they do not know.
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

// sources sends a source-url for each citation, which opens the cited page, and a source-document for each
// cited file, with all its cited pages. A citation of a file that the request has brought is a source-document of its own.
func (s *session) sources() error {
	var names []string
	files := map[string]*fileSource{}
	for i := range s.answer.Citations {
		c := &s.answer.Citations[i]
		from := cited{Document: c.Name, Label: c.Label, Page: c.Page, URL: c.URL, Quote: quoteOf(c)}
		link := s.h.catalog.LinkTo(c, s.base, s.namespace)
		if link == "" { // only the page has the file
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
			continue // a page of the web
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

// fileSource is a cited file.
type fileSource struct {
	title, url string
	pages      []int
}

// document sends a source-document.
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

// cited holds the properties of a source that its chunk has no members for.
type cited struct {
	Document string `json:"document"`
	Label    string `json:"citation,omitempty"` // as it stands in the text between brackets
	Page     int    `json:"page,omitempty"`
	Pages    []int  `json:"pages,omitempty"`
	URL      string `json:"url,omitempty"`
	Quote    string `json:"quote,omitempty"` // the cited words
}

// append appends the member providerMetadata of a source.
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

// titleOf names the cited page.
func titleOf(c *chat.Citation) string {
	title := cmp.Or(c.Title, c.Name)
	if c.Page > 0 {
		title = fmt.Sprintf("%s, page %d", title, c.Page)
	}
	return title
}

// fail sends the chunk of the error that ended the turn. A turn that was stopped has no error.
func (s *session) fail(err error) error {
	if errors.Is(err, context.Canceled) && chat.KindOf(err) == chat.Conflict {
		return s.stream.Send(append(s.stream.Line(), `{"type":"abort"}`...))
	}
	line := wire.AppendString(append(s.stream.Line(), `{"type":"error","errorText":`...), wire.FailureOf(err).Text)
	return s.stream.Send(append(line, '}'))
}

func (s *session) done() error { return s.stream.Send(append(s.stream.Line(), "[DONE]"...)) }

// json sends a chunk that ends with a value.
func (s *session) json(head string, v any) error {
	line, err := wire.AppendJSON(append(s.stream.Line(), head...), v)
	if err != nil {
		return err
	}
	return s.stream.SendWithNext(append(line, '}'))
}

package yourdata

import (
	"net/http"
	"strconv"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// era is a generation of the service's API.
type era uint8

const (
	serviceNow  era = iota // since 2024-02-15-preview: the citations are in message.context
	serviceThen            // …/extensions/…: they are in a tool message in message.context.messages
)

// firstVersion is the version of the …/extensions/… API whose choices contain a list of messages.
const firstVersion = "2023-06-01-preview"

// call is one request to the service.
type call struct {
	era      era
	list     bool // choices contain a list of messages; see firstVersion
	streamed bool
	created  int64  // Unix seconds
	base     string // URL of the server, for links
	req      chat.Request
}

// serve handles chat completions of a deployment. It accepts any deployment name, and searches Parley's documents.
func (h *Handler) serve(e era) func(http.ResponseWriter, *wire.Request) error {
	return func(w http.ResponseWriter, r *wire.Request) error {
		object, err := r.Object()
		if err != nil {
			return err
		}
		sources, sent := object.Get("data_sources")
		if !sent {
			sources, sent = object.Get("dataSources")
		}
		if !sent || sources.IsNull() {
			return h.complete(w, r, object)
		}
		c := &call{era: e, list: e == serviceThen && r.URL.Query().Get("api-version") == firstVersion,
			created: h.cfg.Now().Unix(), base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)}
		if err := h.readCall(r, c, object, sources); err != nil {
			return err
		}
		w.Header().Set("Apim-Request-Id", c.req.TurnID)
		if c.streamed {
			return h.streamCall(w, r, c)
		}
		return h.replyCall(w, r, c)
	}
}

// complete handles a request without data sources, as a chat completion of the model "parley". In Azure, the deployment
// determines the model, so it ignores a model in the request.
func (h *Handler) complete(w http.ResponseWriter, r *wire.Request, object wire.Object) error {
	body := []byte(`{"model":"parley"`)
	for key, v := range object.Members() {
		if key != "model" {
			body = append(append(wire.AppendString(append(body, ','), key), ':'), v...)
		}
	}
	r.SetBody(append(body, '}'))
	return h.cfg.Complete(w, r)
}

// members are the options that both APIs share. Members that neither API reads are ignored.
var members = []wire.Named{
	{Name: "temperature", Option: wire.Temperature}, {Name: "top_p", Option: wire.TopP}, {Name: "max_tokens", Option: wire.MaxOutputTokens},
}

func (h *Handler) readCall(r *wire.Request, c *call, object wire.Object, sources wire.Value) (err error) {
	c.req.Principal, c.req.Namespace, c.req.Options = r.Who, h.cfg.Namespace, h.cfg.Defaults
	for _, m := range members {
		if v, _ := object.Get(m.Name); v.IsGiven() {
			if want := m.Set(&c.req.Options, v); want != "" {
				return openai.Refusef(m.Name, openai.Invalid, "%q must be %s.", m.Name, want)
			}
		}
	}
	if v, _ := object.Get("stream"); v.IsGiven() {
		var ok bool
		if c.streamed, ok = v.Bool(); !ok {
			return openai.Refusef("stream", openai.Invalid, `"stream" must be true or false.`)
		}
	}
	if v, _ := object.Get("stop"); v.IsGiven() {
		if c.req.Options.Stop, err = stopOf(v); err != nil {
			return err
		}
	}
	messages, _ := object.Get("messages")
	if c.req.Messages, err = wire.Messages(messages, h.cfg.MaxMessages, messageOf); err != nil {
		return err
	}
	parameters, err := parametersOf(sources)
	if err != nil {
		return err
	}
	if err := h.readParameters(r, c, parameters); err != nil {
		return err
	}
	c.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	return nil
}

// stopOf reads a stop sequence, or a list of them.
func stopOf(v wire.Value) (stop []string, err error) {
	if text, ok := v.Text(); ok && text != "" {
		return []string{text}, nil
	}
	elements, ok := v.Elements()
	if !ok {
		return nil, openai.Refusef("stop", openai.Invalid, `"stop" must be a string or a list of strings.`)
	}
	for e := range elements {
		text, ok := e.Text()
		if !ok || text == "" || len(stop) == llm.MaxStop {
			return nil, openai.Refusef("stop", openai.Invalid, `"stop" may have at most %d strings, none of them empty.`, llm.MaxStop)
		}
		stop = append(stop, text)
	}
	return stop, nil
}

// parametersOf returns the parameters of the data source, of which there must be exactly one. They may be missing.
func parametersOf(sources wire.Value) (none wire.Object, err error) {
	elements, ok := sources.Elements()
	n, few := 0, ok
	if ok {
		n, few = wire.AtMost(1, elements)
	}
	if !few || n != 1 {
		return none, openai.Refusef("data_sources", openai.Invalid, `"data_sources" must be a list with one data source.`)
	}
	for v := range elements {
		source, ok := v.Object()
		if !ok {
			return none, openai.Refusef("data_sources", openai.Invalid, `"data_sources[0]" must be an object.`)
		}
		parameters, sent := source.Get("parameters")
		if !sent || parameters.IsNull() {
			return none, nil
		}
		if none, ok = parameters.Object(); !ok {
			return none, openai.Refusef("data_sources", openai.Invalid, `"data_sources[0].parameters" must be an object.`)
		}
	}
	return none, nil
}

// parameters maps the parameters of a data source that are read, under both of their names, to the functions that read
// them. The others describe where and how Azure finds documents; they are ignored, since nothing is fetched from there.
var parameters = map[string]func(o *chat.Options, v wire.Value) (want string){
	"top_n_documents": setTop, "topNDocuments": setTop,
	"query_type": setQueryType, "queryType": setQueryType,
	"role_information": setRole, "roleInformation": setRole,
	"in_scope": checkFlag, "inScope": checkFlag,
	"strictness": checkStrictness,
	"filter":     setFilter,
}

func (h *Handler) readParameters(r *wire.Request, c *call, source wire.Object) error {
	const at = "data_sources[0].parameters."
	for key, v := range source.Members() {
		if v.IsNull() {
			continue
		}
		if key == "index_name" || key == "indexName" {
			name, ok := v.Text()
			if !ok {
				return openai.Refusef(at+key, openai.Invalid, "%q must be a string.", at+key)
			}
			// An index that is not a namespace is in Azure; the server searches its own namespace instead.
			known, err := h.catalog.Has(r.Context(), r.Who, name)
			if err != nil {
				return err
			}
			if known {
				c.req.Namespace = name
			}
			continue
		}
		if set := parameters[key]; set != nil {
			if want := set(&c.req.Options, v); want != "" {
				return openai.Refusef(at+key, openai.Invalid, "%q must be %s.", at+key, want)
			}
		}
	}
	return nil
}

func setTop(o *chat.Options, v wire.Value) string { return wire.Top.Set(o, v) }

func setQueryType(o *chat.Options, v wire.Value) string {
	name, _ := v.Text()
	switch name {
	case "simple":
		o.Mode = retrieval.Text
	case "semantic":
		o.Mode, o.Rerank = retrieval.Text, true
	case "vector":
		o.Mode = retrieval.Vectors
	case "vector_simple_hybrid", "vectorSimpleHybrid":
		o.Mode = retrieval.Hybrid
	case "vector_semantic_hybrid", "vectorSemanticHybrid":
		o.Mode, o.Rerank = retrieval.Hybrid, true
	default:
		return `"simple", "semantic", "vector", "vector_simple_hybrid" or "vector_semantic_hybrid"`
	}
	return ""
}

// setRole reads instructions for the model, and adds them to the default instructions.
func setRole(o *chat.Options, v wire.Value) string {
	text, ok := v.Text()
	if !ok {
		return "a string"
	}
	if text == "" {
		return ""
	}
	return wire.PromptTemplate.Set(o, wire.AppendString(nil, ">>>"+text))
}

// checkFlag checks in_scope, which has no effect: answers always come from the documents.
func checkFlag(_ *chat.Options, v wire.Value) string {
	if _, ok := v.Bool(); !ok {
		return "true or false"
	}
	return ""
}

// checkStrictness checks strictness, which has no effect: in Azure, it sets how similar documents must be to the question.
func checkStrictness(_ *chat.Options, v wire.Value) string {
	if n, ok := v.Number(); !ok || n < 1 || n > 5 {
		return "a number from 1 to 5"
	}
	return ""
}

// streamCall responds with server-sent events.
func (h *Handler) streamCall(w http.ResponseWriter, r *wire.Request, c *call) error {
	s := &callStream{h: h, c: c, stream: wire.SSE(w)}
	return s.stream.SendTurn(r.Context(), h.cfg.Runner.Run(r.Context(), &c.req), s.event, func(err error) error {
		return s.stream.Send(openai.AppendError(s.stream.Line(), err))
	})
}

// callStream is the streamed response to a call.
type callStream struct {
	h      *Handler
	c      *call
	stream *wire.Stream
	turn   chat.Turn // the events before the answer
	model  string
	marks  marker
	reason string // finish reason, for the last chunk
	head   []byte // beginning of each chunk; nil until the model is known
}

func (s *callStream) event(e chat.Event) error {
	switch e := e.(type) {
	case chat.TextDelta:
		return s.text(s.marks.add(e.Text))
	case chat.ReasoningDelta:
		return nil // the API has no field for it
	case chat.CompletionStarted:
		s.model, s.head = e.Model, nil
	case chat.MessageStarted:
		s.model, s.head, s.marks.labels = e.Model, nil, s.turn.Prompt.Labels
		return s.first()
	case chat.MessageFinished:
		if err := s.text(s.marks.end()); err != nil {
			return err
		}
		s.reason = openai.ReasonOf(e.FinishReason)
		return wire.MessageError(e)
	case chat.TurnFinished:
		if err := s.stream.Send(s.chunk(`{}`, s.reason)); err != nil {
			return err
		}
		return s.stream.Send(append(s.stream.Line(), "[DONE]"...))
	default:
		s.turn.Add(e)
	}
	return nil
}

// first sends the result of the search and, in the older API, the role of the message that follows.
func (s *callStream) first() error {
	f, err := s.h.foundOf(&s.turn, s.c.req.Namespace, s.c.base)
	if err != nil {
		return err
	}
	delta, err := s.c.foundDelta(f)
	if err != nil {
		return err
	}
	if err := s.stream.Send(s.chunk(delta, "")); err != nil || s.c.era == serviceNow {
		return err
	}
	return s.stream.Send(s.chunk(`{"role":"assistant"}`, ""))
}

func (s *callStream) text(text string) error {
	if text == "" {
		return nil
	}
	delta := append(wire.AppendString([]byte(`{"content":`), text), '}')
	return s.stream.SendSoon(s.chunk(string(delta), ""))
}

// foundDelta returns the delta with the result of the search.
func (c *call) foundDelta(f found) (string, error) {
	raw, err := wire.AppendJSON(nil, f)
	if err != nil {
		return "", err
	}
	if c.era == serviceNow {
		return `{"role":"assistant","context":` + string(raw) + `}`, nil
	}
	tool := string(append(wire.AppendString([]byte(`{"role":"tool","content":`), string(raw)), '}'))
	if c.list {
		return tool, nil
	}
	return `{"role":"assistant","context":{"messages":[` + tool[:len(tool)-1] + `,"end_turn":false}]}}`, nil
}

// appendHead appends the beginning of an object: the members that replies and chunks have in common.
func (c *call) appendHead(dst []byte, object, model string) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), c.req.TurnID)
	dst = wire.AppendString(append(dst, `,"model":`...), model)
	dst = strconv.AppendInt(append(dst, `,"created":`...), c.created, 10)
	dst = wire.AppendString(append(dst, `,"object":`...), object)
	return wire.AppendString(append(dst, `,"system_fingerprint":`...), model)
}

// chunk returns a line with a chunk. A non-empty reason marks the last chunk.
func (s *callStream) chunk(delta, reason string) []byte {
	if s.head == nil {
		s.head = append(s.c.appendHead(nil, "extensions.chat.completion.chunk", s.model), `,"choices":[{"index":0,`...)
	}
	dst := append(s.stream.Line(), s.head...)
	if s.c.list {
		dst = append(append(append(dst, `"messages":[{"index":0,"delta":`...), delta...), `,"end_turn":`...)
		dst = append(strconv.AppendBool(dst, reason != ""), `}],`...)
	} else {
		dst = append(append(append(dst, `"delta":`...), delta...), `,"end_turn":`...)
		dst = append(strconv.AppendBool(dst, reason != ""), ',')
	}
	dst = append(dst, `"finish_reason":`...)
	if reason == "" {
		dst = append(dst, `null`...)
	} else {
		dst = wire.AppendString(dst, reason)
	}
	return append(dst, `}]}`...)
}

// replyCall responds with one object, which has the same content as the stream.
func (h *Handler) replyCall(w http.ResponseWriter, r *wire.Request, c *call) error {
	c.req.Whole = true
	t, err := chat.Collect(h.cfg.Runner.Run(r.Context(), &c.req))
	if err != nil {
		return err
	}
	m, err := wire.AnswerOf(t)
	if err != nil {
		return err
	}
	f, err := h.foundOf(t, c.req.Namespace, c.base)
	if err != nil {
		return err
	}
	raw, err := wire.AppendJSON(nil, f)
	if err != nil {
		return err
	}
	marks := marker{labels: t.Prompt.Labels}
	answer := append(wire.AppendString([]byte(`{"role":"assistant","content":`), marks.add(m.Text)+marks.end()), `,"end_turn":true`...)
	body := append(c.appendHead(nil, "extensions.chat.completion", m.Model), `,"choices":[{"index":0,`...)
	switch tool := append(wire.AppendString([]byte(`{"role":"tool","content":`), string(raw)), `,"end_turn":false}`...); {
	case c.list:
		body = append(append(append(append(body, `"messages":[`...), tool...), ','), append(answer, `}],`...)...)
	case c.era == serviceThen:
		body = append(append(append(append(body, `"message":`...), answer...), `,"context":{"messages":[`...), append(tool, `]}},`...)...)
	default:
		body = append(append(append(append(body, `"message":`...), answer...), `,"context":`...), append(raw, `},`...)...)
	}
	body = wire.AppendString(append(body, `"finish_reason":`...), openai.ReasonOf(m.FinishReason))
	return wire.WriteJSON(w, http.StatusOK, append(openai.AppendUsage(append(body, `}],"usage":`...), t.Usage), '}'))
}

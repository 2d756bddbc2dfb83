package responses

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"parley/internal/attribute"
	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/openai"
)

// exchange is a request for a response, with everything that the response depends on.
type exchange struct {
	asker
	req      chat.Request
	res      response // initially only the members that the request determines
	streamed bool
	placed   bool         // the response has already been stored
	input    []wire.Value // items; references are resolved
	search   string       // type of the item that shows the search; "" means none
	results  bool         // the item includes the results
	memory   *memory      // of the WebSocket; nil for plain HTTP

	instructions string
	previous     string // id of the response to continue
	conversation string // id of the conversation to continue and extend
	choice       choice
	stores       []string // ids of vector stores, or names of namespaces
	filter       *attribute.Condition
	opened       map[string]filesapi.Searched // those of stores that are vector stores, by namespace
}

// decode checks a request and returns its exchange. m may be nil.
func (h *Handler) decode(ctx context.Context, object wire.Object, from asker, m *memory) (*exchange, error) {
	x := &exchange{asker: from, memory: m}
	x.req.Principal, x.req.Options = from.who, h.cfg.Defaults
	x.res = response{
		Object: objectName, Status: inProgress, CreatedAt: h.cfg.Now().Unix(), Store: true, ServiceTier: "default",
		Output: []any{}, ParallelToolCalls: true, Truncation: "auto", Tools: []json.RawMessage{},
		Text: json.RawMessage(`{"format":{"type":"text"}}`), ToolChoice: json.RawMessage(`"auto"`), Metadata: json.RawMessage(`{}`),
	}
	if err := x.readMembers(object); err != nil {
		return nil, err
	}
	if err := x.settle(); err != nil {
		return nil, err
	}
	if err := h.searchIn(ctx, x); err != nil {
		return nil, err
	}
	given, _ := object.Get("input")
	if err := h.converse(ctx, x, given); err != nil {
		return nil, err
	}
	if err := h.bring(ctx, x); err != nil {
		return nil, err
	}
	x.req.TurnID = turn.IDOf(ctx, h.cfg.NewID)
	x.res.ID = responsePrefix + x.req.TurnID
	return x, nil
}

// converse sets the messages of the turn: the instructions, the conversation that the request continues,
// and its input.
func (h *Handler) converse(ctx context.Context, x *exchange, given wire.Value) error {
	if x.instructions != "" {
		x.req.Messages = append(x.req.Messages, chat.TextMessage(llm.System, x.instructions))
	}
	earlier, err := h.earlier(ctx, x)
	if err != nil {
		return err
	}
	if x.input, err = h.inputOf(ctx, x.who, given, "input"); err != nil {
		return err
	}
	if len(x.input) == 0 && len(earlier) == 0 {
		return openai.Refusef("input", openai.Missing, `"input" must be a question: a string or a list of items.`)
	}
	for i := range earlier {
		for n := range earlier[i].Files {
			earlier[i].Files[n].Param = ""
		}
	}
	messages, err := messagesOf(x.input, "input", h.readable())
	if err != nil {
		return err
	}
	x.req.Messages = append(append(x.req.Messages, earlier...), messages...)
	return checkQuestion(x.req.Messages)
}

// earlier returns the conversation that the request continues, or nil.
func (h *Handler) earlier(ctx context.Context, x *exchange) ([]chat.Message, error) {
	switch {
	case x.previous != "" && x.conversation != "":
		return nil, openai.Refusef("conversation", openai.Invalid, `"conversation" and "previous_response_id" cannot be used together.`)
	case x.conversation != "":
		return h.said(ctx, x.who, x.conversation)
	case x.previous != "":
		return h.history(ctx, x.who, x.previous, x.memory)
	}
	return nil, nil
}

// searchIn sets where the turn searches: in the vector stores and namespaces that the request names, or else in the
// model's namespace.
func (h *Handler) searchIn(ctx context.Context, x *exchange) (err error) {
	if x.req.Namespace, err = h.catalog.NamespaceOf(ctx, x.who, x.res.Model); err != nil {
		return err
	}
	x.req.Options.Where = x.filter
	for _, name := range x.stores {
		place := chat.Place{Namespace: name}
		if library.IsStore(name) && h.cfg.Open != nil {
			if err = h.openStore(ctx, x, name); err != nil {
				return err
			}
		} else if ok, err := h.catalog.Has(ctx, x.who, name); err != nil {
			return err
		} else if !ok {
			return errNoStore(name)
		}
		x.req.Places = append(x.req.Places, place)
	}
	if len(x.req.Places) > 0 { // the turn belongs to the first one
		x.req.Namespace = x.req.Places[0].Namespace
	}
	return nil
}

func (h *Handler) openStore(ctx context.Context, x *exchange, id string) error {
	s, err := h.cfg.Open(ctx, x.who.Subject, id)
	if errors.Is(err, library.ErrNotFound) {
		return errNoStore(id)
	}
	if err != nil {
		return unreachable(err)
	}
	if x.opened == nil {
		x.opened = map[string]filesapi.Searched{}
	}
	x.opened[id] = s
	return nil
}

// bring reads the files in the conversation. If there are any, the turn searches only these files, unless the request
// names vector stores or has a search tool.
func (h *Handler) bring(ctx context.Context, x *exchange) error {
	places := x.req.Places
	x.req.Places = nil
	brought, err := h.cfg.Give.Bring(ctx, x.who, &x.req)
	switch {
	case err != nil:
		return err
	case brought && x.search != "" && len(places) == 0:
		places = []chat.Place{{Namespace: x.req.Namespace}}
	case !brought && len(places) == 1:
		return nil // searchIn has made it the namespace of the request
	}
	x.req.Places = append(x.req.Places, places...)
	return nil
}

func errNoStore(id string) error {
	return openai.Refuse(chat.NotFound, "tools", "not_found", "There is no vector store "+strconv.Quote(wire.Clip(id))+".")
}

// members maps the members of a request, except input, to the functions that read them. Other members are
// ignored: they are hints (user, service_tier, stream_options), settings that a provider may lack (the
// penalties), or unknown. null always means the default.
var members = map[string]func(x *exchange, v wire.Value) error{
	"model":                (*exchange).readModel,
	"instructions":         text("instructions", func(x *exchange) *string { return &x.instructions }),
	"previous_response_id": text("previous_response_id", func(x *exchange) *string { return &x.previous }),
	"conversation":         (*exchange).readConversation,
	"stream":               flag("stream", func(x *exchange) *bool { return &x.streamed }),
	"store":                flag("store", func(x *exchange) *bool { return &x.res.Store }),
	"background":           flag("background", func(x *exchange) *bool { return &x.res.Background }),
	"temperature":          option("temperature", wire.Temperature),
	"top_p":                option("top_p", wire.TopP),
	"max_output_tokens":    (*exchange).readMaxOutput,
	"max_tool_calls":       (*exchange).readMaxToolCalls,
	"reasoning":            (*exchange).readReasoning,
	"text":                 (*exchange).readText,
	"tools":                (*exchange).readTools,
	"tool_choice":          (*exchange).readToolChoice,
	"parallel_tool_calls":  flag("parallel_tool_calls", func(x *exchange) *bool { return &x.res.ParallelToolCalls }),
	"include":              (*exchange).readInclude,
	"metadata":             (*exchange).readMetadata,
	"prompt_cache_key":     echo("prompt_cache_key", func(x *exchange) **string { return &x.res.PromptCacheKey }),
	"safety_identifier":    echo("safety_identifier", func(x *exchange) **string { return &x.res.SafetyIdentifier }),
	"truncation":           (*exchange).readTruncation,
	"top_logprobs":         (*exchange).readTopLogprobs,
	"prompt":               (*exchange).readPrompt,
}

func (x *exchange) readMembers(object wire.Object) error {
	for key, v := range object.Members() {
		read, known := members[key]
		if !known || v.IsNull() {
			continue
		}
		if err := read(x, v); err != nil {
			return err
		}
	}
	if x.res.Model == "" {
		return openai.Refusef("model", openai.Missing, `"model" must name a model; GET /v1/models lists them.`)
	}
	return nil
}

// settle sets what depends on several members, or on their defaults.
func (x *exchange) settle() error {
	if err := x.choose(); err != nil {
		return err
	}
	x.req.Options.OneTool = !x.res.ParallelToolCalls
	x.res.Temperature, x.res.TopP = x.req.Options.Temperature, 1
	if x.req.Options.TopP > 0 {
		x.res.TopP = x.req.Options.TopP
	}
	if x.instructions != "" {
		x.res.Instructions = &x.instructions
	}
	if x.previous != "" {
		x.res.PreviousResponseID = &x.previous
	}
	if x.conversation != "" {
		x.res.Conversation = &reference{ID: x.conversation}
	}
	return nil
}

func (x *exchange) readModel(v wire.Value) (err error) {
	x.res.Model, err = textOf(v, "model")
	return err
}

// readConversation reads a conversation's id, or an object with the id.
func (x *exchange) readConversation(v wire.Value) (err error) {
	param := "conversation"
	if object, ok := v.Object(); ok {
		v, _ = object.Get("id")
		param = "conversation.id"
	}
	if x.conversation, err = textOf(v, param); err == nil && x.conversation == "" {
		err = openai.Refusef(param, openai.Missing, "%q must name a conversation.", param)
	}
	return err
}

func (x *exchange) readMaxOutput(v wire.Value) error {
	err := option("max_output_tokens", wire.MaxOutputTokens)(x, v)
	n := x.req.Options.MaxOutputTokens
	x.res.MaxOutputTokens = &n
	return err
}

// readMaxToolCalls checks the limit, but it has no effect: the calls of the server's own tools are
// limited anyway.
func (x *exchange) readMaxToolCalls(v wire.Value) error {
	n, ok := v.Number()
	if !ok || n < 1 || n > 1<<20 || n != float64(int(n)) {
		return openai.Refusef("max_tool_calls", openai.Invalid, `"max_tool_calls" must be a whole number over 0.`)
	}
	most := int(n)
	x.res.MaxToolCalls = &most
	return nil
}

// readReasoning reads the reasoning effort, and whether the client wants a summary.
func (x *exchange) readReasoning(v wire.Value) error {
	settings, ok := v.Object()
	if !ok {
		return openai.Refusef("reasoning", openai.Invalid, `"reasoning" must be an object.`)
	}
	if v, _ := settings.Get("effort"); v.IsGiven() {
		name, _ := v.Text()
		if x.req.Options.Effort, ok = openai.Efforts[name]; !ok {
			return openai.Refusef("reasoning.effort", openai.Invalid, `"reasoning.effort" must be "none", "minimal", "low", "medium", "high" or "xhigh".`)
		}
		x.res.Reasoning.Effort = &name
	}
	if v, _ := settings.Get("summary"); v.IsGiven() {
		name, _ := v.Text()
		if name != "auto" && name != "concise" && name != "detailed" {
			return openai.Refusef("reasoning.summary", openai.Invalid, `"reasoning.summary" must be "auto", "concise" or "detailed".`)
		}
		x.res.Reasoning.Summary = &name
	}
	return nil
}

// readText reads the format of the answer. It ignores the verbosity.
func (x *exchange) readText(v wire.Value) error {
	settings, ok := v.Object()
	if !ok {
		return openai.Refusef("text", openai.Invalid, `"text" must be an object.`)
	}
	format, _ := settings.Get("format")
	if !format.IsGiven() {
		return nil
	}
	object, ok := format.Object()
	if !ok {
		return openai.Refusef("text.format", openai.Invalid, `"text.format" must be an object.`)
	}
	kind, _ := object.Get("type")
	switch name, _ := kind.Text(); name {
	case "text":
	case "json_object":
		x.req.Options.Schema = openai.AnyObject
	case "json_schema":
		schema, _ := object.Get("schema")
		if _, ok := schema.Object(); !ok {
			return openai.Refusef("text.format.schema", openai.Invalid, `"text.format.schema" must be an object.`)
		}
		x.req.Options.Schema = schema.Compact()
	default:
		return openai.Refusef("text.format.type", openai.UnsupportedValue, `"text.format.type" must be "text", "json_object" or "json_schema".`)
	}
	x.res.Text = append(append([]byte(`{"format":`), format.Compact()...), '}')
	return nil
}

// Values of include that have an effect, or are refused. Other values are ignored.
const (
	includeResults  = "file_search_call.results"
	includeLogprobs = "message.output_text.logprobs"
)

func (x *exchange) readInclude(v wire.Value) error {
	elements, ok := v.Elements()
	if !ok {
		return openai.Refusef("include", openai.Invalid, `"include" must be a list of strings.`)
	}
	for v := range elements {
		switch name, ok := v.Text(); {
		case !ok:
			return openai.Refusef("include", openai.Invalid, `"include" must be a list of strings.`)
		case name == includeLogprobs:
			return openai.Refusef("include", openai.UnsupportedValue, "%q is not supported: this server does not return log probabilities.", name)
		case name == includeResults:
			x.results = true
		}
	}
	return nil
}

func (x *exchange) readMetadata(v wire.Value) (err error) {
	x.res.Metadata, err = metadataOf(v)
	return err
}

// The limits of metadata, as in OpenAI's API, and of other texts that the response only repeats.
const (
	maxMetadata      = 16  // members
	maxMetadataKey   = 64  // characters
	maxMetadataValue = 512 // characters
	maxEcho          = 512 // bytes
)

// metadataOf checks a client's metadata and returns it.
func metadataOf(v wire.Value) (json.RawMessage, error) {
	object, ok := v.Object()
	if !ok {
		return nil, openai.Refusef("metadata", openai.Invalid, `"metadata" must be an object of strings.`)
	}
	count := 0
	for key, v := range object.Members() {
		value, ok := v.Text()
		if count++; !ok || count > maxMetadata || utf8.RuneCountInString(key) > maxMetadataKey || utf8.RuneCountInString(value) > maxMetadataValue {
			return nil, openai.Refusef("metadata", openai.Invalid, `"metadata" must be an object of at most %d strings, with keys of at most %d characters and values of at most %d.`,
				maxMetadata, maxMetadataKey, maxMetadataValue)
		}
	}
	return v.Compact(), nil
}

// readTruncation accepts both values, but they have no effect: a conversation that is too long is always
// shortened.
func (x *exchange) readTruncation(v wire.Value) error {
	if name, _ := v.Text(); name != "auto" && name != "disabled" {
		return openai.Refusef("truncation", openai.Invalid, `"truncation" must be "auto" or "disabled".`)
	}
	return nil
}

func (x *exchange) readTopLogprobs(v wire.Value) error {
	if n, ok := v.Number(); !ok || n != 0 {
		return openai.Refusef("top_logprobs", openai.UnsupportedValue, `"top_logprobs" must be 0: this server does not return log probabilities.`)
	}
	return nil
}

func (x *exchange) readPrompt(wire.Value) error {
	return openai.Refusef("prompt", openai.Unsupported, `"prompt" is not supported: this server does not store prompts. Use "instructions".`)
}

// text returns a function that reads a string.
func text(param string, field func(*exchange) *string) func(*exchange, wire.Value) error {
	return func(x *exchange, v wire.Value) (err error) {
		*field(x), err = textOf(v, param)
		return err
	}
}

// echo returns a function that reads a string that the response only repeats.
func echo(param string, field func(*exchange) **string) func(*exchange, wire.Value) error {
	return func(x *exchange, v wire.Value) error {
		value, err := textOf(v, param)
		if err == nil && len(value) > maxEcho {
			err = openai.Refusef(param, openai.Invalid, "%q may have at most %d bytes.", param, maxEcho)
		}
		*field(x) = &value
		return err
	}
}

// flag returns a function that reads a boolean.
func flag(param string, field func(*exchange) *bool) func(*exchange, wire.Value) error {
	return func(x *exchange, v wire.Value) (err error) {
		*field(x), err = boolOf(v, param)
		return err
	}
}

// option returns a function that reads an option of the turn.
func option(param string, o wire.Option) func(*exchange, wire.Value) error {
	return func(x *exchange, v wire.Value) error {
		if want := o.Set(&x.req.Options, v); want != "" {
			return openai.Refusef(param, openai.Invalid, "%q must be %s.", param, want)
		}
		return nil
	}
}

func textOf(v wire.Value, param string) (string, error) {
	value, ok := v.Text()
	if !ok {
		return "", openai.Refusef(param, openai.Invalid, "%q must be a string.", param)
	}
	return value, nil
}

func boolOf(v wire.Value, param string) (bool, error) {
	value, ok := v.Bool()
	if !ok {
		return false, openai.Refusef(param, openai.Invalid, "%q must be true or false.", param)
	}
	return value, nil
}

package openai

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// decode reads a request for a chat completion.
func (h *Handler) decode(r *wire.Request) (*exchange, error) {
	return h.decodeWith(r, members, "messages", h.messagesOf)
}

// decodeWith reads a request: the members in table, and the messages in the member key, which messagesOf decodes.
func (h *Handler) decodeWith(r *wire.Request, table memberTable, key string, messagesOf func(wire.Value) ([]chat.Message, error)) (*exchange, error) {
	x := &exchange{runner: h.cfg.Runner, created: h.cfg.Now().Unix(), base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)}
	object, err := r.Object()
	if err != nil {
		return nil, err
	}
	x.req.Principal, x.req.Options = r.Who, h.cfg.Defaults
	if err := x.readMembers(object, table); err != nil {
		return nil, err
	}
	model, err := x.readLinks(r.Header)
	if err != nil {
		return nil, err
	}
	if x.req.Namespace, err = h.catalog.NamespaceOf(r.Context(), x.req.Principal, model); err != nil {
		return nil, err
	}
	messages, _ := object.Get(key)
	if x.req.Messages, err = messagesOf(messages); err != nil {
		return nil, err
	}
	x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	x.id = x.req.TurnID
	return x, nil
}

// memberTable maps members of a body to the functions that read them.
type memberTable map[string]func(x *exchange, v wire.Value) error

// members has each member that matters, except messages and the two limits of length. Other members are ignored: they
// are hints (user, metadata), settings that a provider may not have (logit_bias), or unknown. null always means the
// default.
var members = common.with(memberTable{
	"reasoning_effort":    (*exchange).readEffort,
	"response_format":     (*exchange).readResponseFormat,
	"tools":               (*exchange).readTools,
	"tool_choice":         (*exchange).readToolChoice,
	"parallel_tool_calls": (*exchange).readParallel,
	"functions":           (*exchange).readFunctions,
	"function_call":       (*exchange).readFunctionCall,
	"modalities":          (*exchange).readModalities,
	"audio":               (*exchange).readAudio,
	"logprobs":            (*exchange).readLogprobs,
	"parley":              (*exchange).readParley,
	"top_logprobs":        hint("top_logprobs", "a whole number from 0 to 20", func(n float64) bool { return isWhole(n) && n >= 0 && n <= 20 }),
})

// common has the members that requests with messages and requests with a prompt share.
var common = memberTable{
	"model":             (*exchange).readModel,
	"stream":            (*exchange).readStream,
	"stream_options":    (*exchange).readStreamOptions,
	"temperature":       option("temperature", wire.Temperature),
	"top_p":             option("top_p", wire.TopP),
	"n":                 (*exchange).readN,
	"stop":              (*exchange).readStop,
	"presence_penalty":  hint("presence_penalty", penalty, isPenalty),
	"frequency_penalty": hint("frequency_penalty", penalty, isPenalty),
	"seed":              hint("seed", "a whole number", isWhole),
}

// with returns a copy of the table with more members.
func (t memberTable) with(more memberTable) memberTable {
	all := maps.Clone(t)
	maps.Copy(all, more)
	return all
}

// hint returns a function that checks a number but does not use it: it is a setting that a provider may not have.
func hint(param, want string, is func(float64) bool) func(*exchange, wire.Value) error {
	return func(_ *exchange, v wire.Value) error {
		if n, ok := v.Number(); !ok || !is(n) {
			return Refusef(param, invalid, "%q must be %s.", param, want)
		}
		return nil
	}
}

const penalty = "a number from -2 to 2"

func isPenalty(n float64) bool { return n >= -2 && n <= 2 }

func isWhole(n float64) bool { return n == math.Trunc(n) }

func (x *exchange) readMembers(object wire.Object, table memberTable) error {
	for key, v := range object.Members() {
		read, known := table[key]
		if !known || v.IsNull() {
			continue
		}
		if err := read(x, v); err != nil {
			return err
		}
	}
	// max_completion_tokens, the newer name, wins in any order.
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if v, _ := object.Get(key); v.IsGiven() {
			if err := option(key, wire.MaxOutputTokens)(x, v); err != nil {
				return err
			}
		}
	}
	if err := x.offerAllowed(); err != nil {
		return err
	}
	if x.model == "" {
		return Refusef("model", missing, `"model" must name a model; GET /v1/models lists them.`)
	}
	return nil
}

func (x *exchange) readModel(v wire.Value) error {
	var ok bool
	if x.model, ok = v.Text(); !ok {
		return Refusef("model", invalid, `"model" must be a string.`)
	}
	return nil
}

func (x *exchange) readStream(v wire.Value) (err error) {
	x.streamed, err = boolOf(v, "stream")
	return err
}

// readStreamOptions reads include_usage, which has no effect without a stream.
func (x *exchange) readStreamOptions(v wire.Value) (err error) {
	options, ok := v.Object()
	if !ok {
		return Refusef("stream_options", invalid, `"stream_options" must be an object.`)
	}
	if usage, sent := options.Get("include_usage"); sent && !usage.IsNull() {
		x.usage, err = boolOf(usage, "stream_options.include_usage")
	}
	return err
}

// option returns a function that reads an option of the turn.
func option(param string, o wire.Option) func(*exchange, wire.Value) error {
	return func(x *exchange, v wire.Value) error {
		if want := o.Set(&x.req.Options, v); want != "" {
			return Refusef(param, invalid, "%q must be %s.", param, want)
		}
		return nil
	}
}

// readParley reads an object of Parley's own options, under the names in wire.PageOptions.
func (x *exchange) readParley(v wire.Value) error {
	object, ok := v.Object()
	if !ok {
		return Refusef("parley", invalid, `"parley" must be an object of options.`)
	}
	for key, v := range object.Members() {
		i := slices.IndexFunc(wire.PageOptions, func(n wire.Named) bool { return n.Name == key })
		if i < 0 {
			return Refusef("parley."+wire.Clip(key), UnsupportedValue, "%q has no option %q.", "parley", wire.Clip(key))
		}
		if v.IsNull() {
			continue
		}
		if err := option("parley."+key, wire.PageOptions[i].Option)(x, v); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) readN(v wire.Value) error {
	if n, ok := v.Number(); !ok || n != 1 {
		return Refusef("n", unsupportedValue, `"n" must be 1: this server gives one answer to a request.`)
	}
	return nil
}

// readStop reads a stop sequence, or a list of them.
func (x *exchange) readStop(v wire.Value) error {
	if text, ok := v.Text(); ok {
		x.req.Options.Stop = []string{text}
	} else {
		elements, ok := v.Elements()
		if !ok {
			return Refusef("stop", invalid, `"stop" must be a string or a list of strings.`)
		}
		for e := range elements {
			text, ok := e.Text()
			if !ok || len(x.req.Options.Stop) == llm.MaxStop {
				return Refusef("stop", invalid, `"stop" must hold %d strings at most.`, llm.MaxStop)
			}
			x.req.Options.Stop = append(x.req.Options.Stop, text)
		}
	}
	for _, text := range x.req.Options.Stop {
		if text == "" {
			return Refusef("stop", invalid, `"stop" holds an empty string.`)
		}
	}
	return nil
}

// Efforts maps the API's reasoning efforts to those of chat.Options, which are fewer.
var Efforts = map[string]string{
	"none": "minimal", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high",
}

func (x *exchange) readEffort(v wire.Value) error {
	name, _ := v.Text()
	effort, ok := Efforts[name]
	if !ok {
		return Refusef("reasoning_effort", invalid, `"reasoning_effort" must be "none", "minimal", "low", "medium", "high" or "xhigh".`)
	}
	x.req.Options.Effort = effort
	return nil
}

// AnyObject is the schema of an answer that may be any JSON object.
var AnyObject = json.RawMessage(`{"type":"object"}`)

func (x *exchange) readResponseFormat(v wire.Value) error {
	const param = "response_format"
	format, ok := v.Object()
	if !ok {
		return Refusef(param, invalid, `"response_format" must be an object.`)
	}
	kind, _ := format.Get("type")
	switch name, _ := kind.Text(); name {
	case "text":
		return nil
	case "json_object":
		x.req.Options.Schema = AnyObject
		return nil
	case "json_schema":
		value, _ := format.Get("json_schema")
		named, _ := value.Object()
		schema, _ := named.Get("schema")
		if _, ok := schema.Object(); !ok {
			return Refusef(param+".json_schema.schema", invalid, `"response_format.json_schema.schema" must be an object.`)
		}
		x.req.Options.Schema = schema.Compact()
		return nil
	}
	return Refusef(param+".type", unsupportedValue, `"response_format.type" must be "text", "json_object" or "json_schema".`)
}

func (x *exchange) readModalities(v wire.Value) error {
	kinds, ok := v.Elements()
	if !ok {
		return Refusef("modalities", invalid, `"modalities" must be a list.`)
	}
	for kind := range kinds {
		if name, _ := kind.Text(); name != "text" {
			return Refusef("modalities", unsupportedValue, `"modalities" must be ["text"]: this server answers in text only.`)
		}
	}
	return nil
}

func (x *exchange) readAudio(wire.Value) error {
	return Refusef("audio", unsupported, `"audio" is not supported: this server answers in text only.`)
}

func (x *exchange) readLogprobs(v wire.Value) error {
	wanted, err := boolOf(v, "logprobs")
	if wanted {
		return Refusef("logprobs", unsupported, `"logprobs" must be false: this server does not return log probabilities.`)
	}
	return err
}

func isEmptyList(v wire.Value) bool {
	elements, ok := v.Elements()
	if !ok {
		return false
	}
	for range elements {
		return false
	}
	return true
}

func boolOf(v wire.Value, param string) (bool, error) {
	value, ok := v.Bool()
	if !ok {
		return false, Refusef(param, invalid, "%q must be true or false.", param)
	}
	return value, nil
}

package openai

import (
	"strconv"

	"parley/internal/llm"
	"parley/internal/wire"
)

// encoder encodes the chunks of one stream, which differ only in their deltas. Its methods append a chunk to dst and return
// the result.
type encoder struct {
	head  []byte // the beginning of every chunk, up to its choices
	delta []byte // the beginning of every chunk with a choice, up to its delta
	tail  []byte // follows the delta, until the answer ends
	end   []byte // follows the choices, except in the chunk of usage
	plain bool   // a delta is a text, as in POST /v1/completions
	calls bool   // the answer may be a call of a tool, which has no text
}

// newEncoder returns the encoder for an exchange. answering, the model that answers, is sent as system_fingerprint, which
// OpenAI uses for "the backend configuration that the model runs with". The member model is the id that the client
// requested, which it can look up in /v1/models.
func newEncoder(x *exchange, answering string) *encoder {
	e := &encoder{end: []byte(`}`), plain: x.prompted, calls: len(x.req.Options.Tools) > 0}
	if x.usage {
		e.end = []byte(`,"usage":null}`)
	}
	object := "chat.completion.chunk"
	if x.prompted {
		object = textCompletion
	}
	e.head = append(x.appendHead(nil, object, answering), `,"choices":[`...)
	if e.plain {
		e.delta = append(append(e.delta, e.head...), x.choice("text")...)
	} else {
		e.delta = append(append(e.delta, e.head...), x.choice("delta")...)
	}
	e.tail = append([]byte(`,"logprobs":null,"finish_reason":null}]`), e.end...)
	return e
}

// appendHead begins an object with the members that replies and chunks share.
func (x *exchange) appendHead(dst []byte, object, answering string) []byte {
	id := "chatcmpl-"
	if x.prompted {
		id = "cmpl-"
	}
	dst = wire.AppendString(append(dst, `{"id":`...), id+x.id)
	dst = wire.AppendString(append(dst, `,"object":`...), object)
	dst = strconv.AppendInt(append(dst, `,"created":`...), x.created, 10)
	dst = wire.AppendString(append(dst, `,"model":`...), x.model)
	if answering == "" {
		return dst
	}
	return wire.AppendString(append(dst, `,"system_fingerprint":`...), answering)
}

// choice returns the beginning of a choice, up to the value of the member key.
func (x *exchange) choice(key string) string {
	return `{"index":` + strconv.Itoa(x.index) + `,"` + key + `":`
}

// Fingerprint returns a system_fingerprint: the model that answers, and the upstream's own fingerprint if it sent one.
func Fingerprint(model string, v *llm.Vendor) string {
	if v == nil || v.SystemFingerprint == "" {
		return model
	}
	return model + " " + llm.CleanName(v.SystemFingerprint)
}

// first appends the chunk that begins the answer.
func (e *encoder) first(dst []byte) []byte {
	if e.plain {
		return e.text(dst, "")
	}
	content := `""`
	if e.calls {
		content = `null`
	}
	dst = append(append(append(dst, e.delta...), `{"role":"assistant","content":`...), content...)
	dst = append(dst, `,"refusal":null}`...)
	return append(dst, e.tail...)
}

// text appends the chunk of a piece of the answer.
func (e *encoder) text(dst []byte, text string) []byte {
	if e.plain {
		return append(wire.AppendString(append(dst, e.delta...), text), e.tail...)
	}
	dst = append(append(dst, e.delta...), `{"content":`...)
	dst = wire.AppendString(dst, text)
	return append(append(dst, '}'), e.tail...)
}

// call appends the chunk of a tool call, which is sent whole.
func (e *encoder) call(dst []byte, index int, c llm.ToolCall) []byte {
	dst = append(append(dst, e.delta...), `{"tool_calls":[`...)
	return append(append(appendCall(dst, index, true, c), `]}`...), e.tail...)
}

// annotations appends the chunk with the citations of the whole answer.
func (e *encoder) annotations(dst []byte, list []Annotation, unsupported []string) []byte {
	dst = append(append(dst, e.delta...), `{"annotations":`...)
	dst = appendUnsupported(appendAnnotations(dst, list), unsupported)
	return append(append(dst, '}'), e.tail...)
}

// appendUnsupported appends a member that OpenAI's API does not have: the labels of citations in the answer whose pages do
// not support it. Clients ignore the member.
func appendUnsupported(dst []byte, labels []string) []byte {
	if len(labels) == 0 {
		return dst
	}
	dst = append(dst, `,"unsupported_citations":[`...)
	for i, label := range labels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, label)
	}
	return append(dst, ']')
}

// last appends the chunk that says why the answer ended.
func (e *encoder) last(dst []byte, reason string) []byte {
	nothing := `{}`
	if e.plain {
		nothing = `""`
	}
	dst = append(append(append(dst, e.delta...), nothing...), `,"logprobs":null,"finish_reason":`...)
	dst = append(wire.AppendString(dst, reason), `}]`...)
	return append(dst, e.end...)
}

// usage appends the chunk with the usage, for clients that ask for it. It has no choices and follows all other chunks.
func (e *encoder) usage(dst []byte, u llm.Usage) []byte {
	dst = append(append(dst, e.head...), `],"usage":`...)
	return append(appendUsage(dst, u), '}')
}

// appendUsage appends a usage object. "estimated" is Parley's own member: Parley counted the tokens, because the upstream
// reported none.
func appendUsage(dst []byte, u llm.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), int64(u.Input), 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), int64(u.Output), 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), int64(u.Input+u.Output), 10)
	dst = strconv.AppendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), int64(u.Cached), 10)
	dst = strconv.AppendInt(append(dst, `},"completion_tokens_details":{"reasoning_tokens":`...), int64(u.Reasoning), 10)
	dst = append(dst, '}')
	if u.Estimated {
		dst = append(dst, `,"estimated":true`...)
	}
	return append(dst, '}')
}

// reasonOf returns the finish_reason for a reason. A reason that the API does not have becomes "stop", because clients
// validate it.
func reasonOf(reason string) string {
	switch reason {
	case "length", "content_filter", "tool_calls":
		return reason
	}
	return "stop"
}

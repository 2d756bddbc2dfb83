package azurechat

import (
	"encoding/json"
	"strconv"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// format0128 is the format of version 2024-01-28, and of the web component's dialect of it, in which
// "context" is inside "message" and "delta".
type format0128 struct {
	state        state
	id           string
	created      int64  // Unix seconds
	model        string // that the next line names
	webComponent bool
	azure        bool   // the model is Azure OpenAI's: it sends content-filter fields
	fingerprint  string // the model's system_fingerprint

	head, tail []byte // of a delta's line, around the part that varies
}

func (f *format0128) first(dst []byte, context json.RawMessage, model string) []byte {
	f.answers(model)
	dst = f.state.append(f.openDelta(dst, context))
	return f.close(append(dst, `,"finish_reason":null,"index":0`...), nil, nil)
}

func (f *format0128) started(dst []byte, e chat.CompletionStarted) []byte {
	f.learn(e.Vendor)
	f.answers(e.Model)
	dst = append(f.open(dst), startedDelta+`,"finish_reason":null,"index":0`...)
	return f.close(f.appendFilter(dst, e.Vendor), e.Vendor, nil)
}

func (f *format0128) delta(dst []byte, text string, v *llm.Vendor) []byte {
	dst = wire.AppendString(append(dst, f.head...), text)
	dst = append(dst, contentTail+`,"finish_reason":null,"index":0`...)
	if v != nil {
		dst = f.appendFilter(dst, v)
	}
	return append(dst, f.tail...)
}

func (f *format0128) last(dst []byte, m chat.MessageFinished, context json.RawMessage) []byte {
	f.learn(m.Vendor)
	if context == nil {
		dst = append(f.open(dst), endedDelta...)
	} else {
		dst = f.openDelta(dst, context)
	}
	dst = wire.AppendString(append(dst, `,"finish_reason":`...), m.FinishReason)
	dst = append(dst, `,"index":0`...)
	return f.close(f.appendFilter(dst, m.Vendor), nil, &m.Usage)
}

func (f *format0128) reply(dst []byte, m chat.MessageFinished, text string, context json.RawMessage, requested string) []byte {
	f.learn(m.Vendor)
	f.answers(requested)
	f.answers(m.Model)
	dst = wire.AppendString(append(dst, `{"choices":[{"finish_reason":`...), m.FinishReason)
	dst = wire.AppendString(append(dst, `,"index":0,"message":{"content":`...), text)
	dst = append(dst, messageTail...)
	if f.webComponent {
		dst = append(append(append(dst, `,"context":`...), context...), '}')
	} else {
		dst = append(append(dst, `},"context":`...), context...)
	}
	dst = f.appendFilter(f.state.append(dst), m.Vendor)
	dst = strconv.AppendInt(append(dst, `}],"created":`...), f.created, 10)
	dst = wire.AppendString(append(dst, `,"id":`...), f.id)
	dst = wire.AppendString(append(dst, `,"model":`...), f.model)
	dst = append(dst, `,"object":"chat.completion"`...)
	return append(f.appendVendor(dst, m.Vendor, &m.Usage), '}')
}

// answers sets the model that the following lines name, unless model is "", and prepares what
// the lines of deltas have in common.
func (f *format0128) answers(model string) {
	if model != "" {
		f.model = model
	}
	f.head = append(f.open(nil), contentDelta...)
	f.tail = f.close(nil, nil, nil)
}

// open appends the beginning of a chunk, up to the content of its only choice.
func (f *format0128) open(dst []byte) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), f.id)
	return append(dst, `,"choices":[{`...)
}

// openDelta appends the beginning of a chunk with a context, which is inside the delta or after it.
func (f *format0128) openDelta(dst []byte, context json.RawMessage) []byte {
	dst = append(f.open(dst), roleDelta...)
	if f.webComponent {
		dst = append(append(dst, `,"context":`...), context...)
		return append(dst, '}')
	}
	return append(append(dst, `},"context":`...), context...)
}

// close appends the rest of a chunk after the content of its choice.
func (f *format0128) close(dst []byte, v *llm.Vendor, u *llm.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `}],"created":`...), f.created, 10)
	dst = wire.AppendString(append(dst, `,"model":`...), f.model)
	dst = append(dst, `,"object":"chat.completion.chunk"`...)
	return append(f.appendVendor(dst, v, u), '}')
}

// learn records whether the model is Azure OpenAI's, and its fingerprint. Other vendors have fingerprints too,
// but the protocol passes on only Azure's.
func (f *format0128) learn(v *llm.Vendor) {
	if v == nil {
		return
	}
	f.azure = f.azure || len(v.ContentFilter) > 0 || len(v.PromptFilterResults) > 0
	if v.SystemFingerprint != "" {
		f.fingerprint = v.SystemFingerprint
	}
}

func (f *format0128) appendFilter(dst []byte, v *llm.Vendor) []byte {
	if v == nil || len(v.ContentFilter) == 0 {
		return dst
	}
	return appendRaw(append(dst, `,"content_filter_results":`...), v.ContentFilter)
}

func (f *format0128) appendVendor(dst []byte, v *llm.Vendor, u *llm.Usage) []byte {
	if v != nil && len(v.PromptFilterResults) > 0 {
		dst = appendRaw(append(dst, `,"prompt_filter_results":`...), v.PromptFilterResults)
	}
	dst = append(dst, `,"system_fingerprint":`...)
	if f.azure && f.fingerprint != "" {
		dst = wire.AppendString(dst, f.fingerprint)
	} else {
		dst = append(dst, `null`...)
	}
	if u == nil {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"usage":{"completion_tokens":`...), int64(u.Output), 10)
	dst = strconv.AppendInt(append(dst, `,"prompt_tokens":`...), int64(u.Input), 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), int64(u.Input+u.Output), 10)
	return append(dst, '}')
}

// appendRaw appends JSON from an upstream in compact form, because it may span lines. It appends {} if it is not valid.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	compact, err := wire.AppendJSON(dst, raw)
	if err != nil {
		return append(dst, `{}`...)
	}
	return compact
}

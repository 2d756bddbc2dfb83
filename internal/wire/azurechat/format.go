package azurechat

import (
	"encoding/json"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// format writes the lines and the reply of one version of the protocol. Every method appends to
// dst. A format belongs to one exchange and remembers what its lines have in common.
type format interface {
	// first is the line before the model is called; model is the requested one.
	first(dst []byte, context json.RawMessage, model string) []byte
	// started is the line that says that a model answers; later lines name that model.
	started(dst []byte, e chat.CompletionStarted) []byte
	// delta is the line of one piece of the answer.
	delta(dst []byte, text string, v *llm.Vendor) []byte
	// last ends the stream; context is nil when there is nothing to add. It may append nothing,
	// and then there is no such line.
	last(dst []byte, m chat.MessageFinished, context json.RawMessage) []byte
	// reply is the whole answer at once; requested is the model that was asked for.
	reply(dst []byte, m chat.MessageFinished, text string, context json.RawMessage, requested string) []byte
}

const (
	roleDelta    = `"delta":{"role":"assistant"`
	startedDelta = `"delta":{"content":null,"function_call":null,"role":"assistant","tool_calls":null}`
	endedDelta   = `"delta":{"content":null,"function_call":null,"role":null,"tool_calls":null}`
	contentDelta = `"delta":{"content":`
	contentTail  = `,"function_call":null,"role":null,"tool_calls":null}`
	messageTail  = `,"function_call":null,"role":"assistant","tool_calls":null`
)

// format0529 is the version 2024-05-29.
type format0529 struct {
	state   state
	choices bool // a whole reply has "choices" too
}

func (f *format0529) first(dst []byte, context json.RawMessage, _ string) []byte {
	dst = append(append(dst, `{`+roleDelta+`},"context":`...), context...)
	return append(f.state.append(dst), '}')
}

func (f *format0529) started(dst []byte, _ chat.CompletionStarted) []byte {
	return append(dst, `{`+startedDelta+`}`...)
}

func (f *format0529) delta(dst []byte, text string, _ *llm.Vendor) []byte {
	dst = append(dst, `{`+contentDelta...)
	dst = wire.AppendString(dst, text)
	return append(dst, contentTail+`}`...)
}

func (f *format0529) last(dst []byte, _ chat.MessageFinished, context json.RawMessage) []byte {
	if context == nil {
		return dst
	}
	dst = append(append(dst, `{`+roleDelta+`},"context":`...), context...)
	return append(dst, '}')
}

func (f *format0529) reply(dst []byte, _ chat.MessageFinished, text string, context json.RawMessage, _ string) []byte {
	from := len(dst)
	dst = wire.AppendString(append(dst, `{"message":{"content":`...), text)
	dst = append(append(dst, messageTail+`},"context":`...), context...)
	dst = f.state.append(dst)
	if f.choices {
		choice := dst[from:]
		dst = append(append(append(dst, `,"choices":[`...), choice...), `}]`...)
	}
	return append(dst, '}')
}

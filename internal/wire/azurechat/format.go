package azurechat

import (
	"encoding/json"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// format writes the lines and the reply of one version of the protocol. Every method appends to
// dst and returns it. A format belongs to one exchange and keeps what its lines have in common.
type format interface {
	// first appends the line that is sent before the model is called. model is the requested one.
	first(dst []byte, context json.RawMessage, model string) []byte
	// started appends the line that announces the model's answer, if there is one. Later lines name that model.
	started(dst []byte, e chat.CompletionStarted) []byte
	// delta appends the line with one piece of the answer.
	delta(dst []byte, text string, v *llm.Vendor) []byte
	// last appends the last line of the stream, or nothing if there is no such line. context is nil if
	// there is nothing to add.
	last(dst []byte, m chat.MessageFinished, context json.RawMessage) []byte
	// reply appends a whole reply. requested is the model that the client asked for.
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

// format0529 is the format of version 2024-05-29.
type format0529 struct {
	state   state
	choices bool // a whole reply also has "choices"
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

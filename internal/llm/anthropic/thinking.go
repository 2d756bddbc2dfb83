package anthropic

import (
	"encoding/json"
	"strings"

	"parley/internal/llm"
)

type wireThinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

// maxThinking is the limit of tokens up to which room for thinking is added, since some of the
// models that think on a budget write no more.
const maxThinking = 32_000

// think says how much to think, and makes room for it: thinking counts towards max_tokens. A tool
// can't be forced on a model that thinks, so that one of the two has to be left out.
func (f *family) think(w *wireRequest, req *llm.Request) {
	forced := req.ToolChoice != "" && req.ToolChoice != llm.ToolsNone
	switch f.thinking {
	case never:
	case budgeted:
		if req.Effort == "" || forced || !allSigned(req.Messages, req.Model) {
			return
		}
		budget := llm.ReasoningRoom(req.Effort)
		w.MaxTokens = max(w.MaxTokens, min(w.MaxTokens+budget, maxThinking))
		w.Thinking = &wireThinking{Type: "enabled", Budget: budget}
	case asked:
		if req.Effort != "" && !forced {
			w.Thinking = &wireThinking{Type: "adaptive", Display: "summarized"}
			w.MaxTokens += llm.ReasoningRoom(req.Effort)
		}
	case unasked:
		if forced {
			w.Thinking = &wireThinking{Type: "disabled"}
			return
		}
		w.Thinking = &wireThinking{Type: "adaptive", Display: "summarized"}
		w.MaxTokens += llm.ReasoningRoom(req.Effort)
	case always:
		if forced {
			w.ToolChoice = nil
		}
		w.Thinking = &wireThinking{Type: "adaptive", Display: "summarized"}
		w.MaxTokens += llm.ReasoningRoom(req.Effort)
	}
}

// signature is what stands in llm.ToolCall.Signature: the thinking that led to a call, which has to
// come back with the result of the tool, and which is worth nothing to another model.
type signature struct {
	Model    string      `json:"model"` // as it was asked for
	Thinking []wireBlock `json:"thinking"`
}

// sign puts the thinking before a call into it.
func sign(call *llm.ToolCall, model string, thoughts []wireBlock) {
	if len(thoughts) == 0 {
		return
	}
	if b, err := json.Marshal(signature{model, thoughts}); err == nil {
		call.Signature = string(b)
	}
}

// thoughtsBefore returns the thinking that a call is signed with, if the model has done it itself.
func thoughtsBefore(call llm.ToolCall, model string) []wireBlock {
	var s signature
	if !strings.HasPrefix(call.Signature, "{") || json.Unmarshal([]byte(call.Signature), &s) != nil || s.Model != model {
		return nil
	}
	return s.Thinking
}

// allSigned reports whether the calls since the last question come with the thinking before them,
// without which a model that thinks on a budget refuses to go on.
func allSigned(messages []llm.Message, model string) bool {
	for i := len(messages) - 1; i >= 0 && messages[i].Role != llm.User; i-- {
		if calls := messages[i].ToolCalls; len(calls) > 0 && thoughtsBefore(calls[0], model) == nil {
			return false
		}
	}
	return true
}

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

// maxThinking is the limit of tokens up to which room for thinking is added. Some of the models with a
// budget for thinking write no more.
const maxThinking = 32_000

// think sets the amount of thinking, and makes room for it, since thinking counts towards max_tokens. A
// model that thinks cannot be forced to call a tool, so one of the two must be omitted.
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

// signature is the content of llm.ToolCall.Signature: the thinking that led to a call, which must
// accompany the result of the tool. It is useless for another model.
type signature struct {
	Model    string      `json:"model"` // as requested
	Thinking []wireBlock `json:"thinking"`
}

// sign stores the thinking before a call in the call.
func sign(call *llm.ToolCall, model string, thoughts []wireBlock) {
	if len(thoughts) == 0 {
		return
	}
	if b, err := json.Marshal(signature{model, thoughts}); err == nil {
		call.Signature = string(b)
	}
}

// thoughtsBefore returns the thinking in a call's signature if it came from this model.
func thoughtsBefore(call llm.ToolCall, model string) []wireBlock {
	var s signature
	if !strings.HasPrefix(call.Signature, "{") || json.Unmarshal([]byte(call.Signature), &s) != nil || s.Model != model {
		return nil
	}
	return s.Thinking
}

// allSigned reports whether all calls since the last question have the thinking before them. Without it,
// a model with a budget for thinking refuses to continue.
func allSigned(messages []llm.Message, model string) bool {
	for i := len(messages) - 1; i >= 0 && messages[i].Role != llm.User; i-- {
		if calls := messages[i].ToolCalls; len(calls) > 0 && thoughtsBefore(calls[0], model) == nil {
			return false
		}
	}
	return true
}

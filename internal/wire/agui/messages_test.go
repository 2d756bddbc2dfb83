package agui

import (
	"testing"

	"parley/internal/llm"
	"parley/internal/wire"
)

// Clients name the type of a call in their own way, or not at all: only its function matters.
func TestMessages_TakeCallsOfAnyType(t *testing.T) {
	tools := []llm.Tool{{Name: "highlight"}}
	for _, kind := range []string{"", `"type":"function",`, `"type":"tool",`, `"type":null,`} {
		body := wire.Value(`[{"role":"user","content":"Where is it?"},
			{"role":"assistant","toolCalls":[{` + kind + `"id":"c1","encryptedValue":"v","function":{"name":"highlight","arguments":"{}"}}]},
			{"role":"tool","toolCallId":"c1","content":"done"}]`)
		list, err := handlerOf(nil, nil).messagesOf(body, tools)
		if err != nil || len(list) != 3 {
			t.Errorf("%s: %d messages, %v", kind, len(list), err)
			continue
		}
		want := llm.ToolCall{ID: "c1", Name: "highlight", Arguments: "{}", Signature: "v"}
		if calls := list[1].ToolCalls; len(calls) != 1 || calls[0] != want {
			t.Errorf("%s: calls %+v", kind, calls)
		}
	}
}

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/internal/llm"
)

func TestRegistry_TellsTheModelWhatIsWrongWithItsArguments(t *testing.T) {
	ran := 0
	run := func(context.Context, Call) (Result, error) { ran++; return Result{Text: "ok"}, nil }
	schema := func(name, text string) Tool {
		return Tool{Tool: llm.Tool{Name: name, Parameters: json.RawMessage(text)}, Run: run}
	}
	r := registry(t, Options{},
		schema("city", `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"],"additionalProperties":false}`),
		schema("elsewhere", `{"type":"object","$ref":"https://example.com/schema"}`),
		schema("broken", `{"type":7}`), schema("none", ``), schema("anything", `{}`))
	for _, c := range []struct{ tool, arguments, says string }{
		{"city", `{"city":"Oslo"}`, ""},
		{"city", `{"city":"Oslo","days":3}`, ""},
		{"city", `{"city":"Oslo","country":"NO"}`, ""}, // the tool ignores it
		{"city", `{}`, "city"},
		{"city", ``, "city"},
		{"city", `{"city":7}`, `"string"`},
		{"city", `{"city":null}`, `"string"`},
		{"city", `{"city":"Oslo","days":"3"}`, `"integer"`},
		{"city", `{"city":"Oslo","days":0}`, "minimum"},
		{"city", `["Oslo"]`, `"object"`},
		{"elsewhere", `{}`, ""}, {"broken", `{}`, ""}, {"none", ``, ""}, {"anything", `{"a":1}`, ""},
	} {
		before := ran
		res, err := r.Call(t.Context(), inDefault, llm.ToolCall{Name: c.tool, Arguments: c.arguments})
		if c.says == "" {
			if err != nil || ran != before+1 {
				t.Errorf("%s %s: %q, %v", c.tool, c.arguments, res.Text, err)
			}
			continue
		}
		if _, ok := errors.AsType[*Error](err); !ok || ran != before || !strings.Contains(res.Text, c.says) || !strings.Contains(res.Text, `"required":["city"]`) {
			t.Errorf("%s %s: told %q, %v", c.tool, c.arguments, res.Text, err)
		}
	}
}

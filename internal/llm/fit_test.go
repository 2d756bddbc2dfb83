package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

func demanding() llm.Request {
	return llm.Request{
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: "see"}, {Image: "data:image/png;base64,AA=="}}},
			{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "f"}}},
			{Role: llm.ToolRole, ToolCallID: "1", Parts: []llm.Part{{Text: "r"}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Text: "and"}}, ToolCalls: []llm.ToolCall{{ID: "2", Name: "f"}}},
		},
		Tools: []llm.Tool{{Name: "f"}}, ToolChoice: llm.ToolsRequired, Temperature: 0.5, TopP: 0.9,
		Stop: []string{"x"}, Effort: "low", Schema: json.RawMessage("{}"),
	}
}

func TestFit_LeavesAloneWhatTheModelTakes(t *testing.T) {
	all := llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true, Temperature: true, TopP: true, Stop: true}
	if diff := cmp.Diff(demanding(), all.Fit(demanding())); diff != "" {
		t.Error(diff)
	}
}

func TestFit_LeavesOutWhatTheModelDoesNotTake(t *testing.T) {
	asked := demanding()
	got := llm.Capabilities{}.Fit(asked)
	want := llm.Request{
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: "see"}, {Text: "\n(There was an image here, which this model cannot read.)"}}},
			llm.Text(llm.User, "A tool returned:\nr"),
			llm.Text(llm.Assistant, "and"),
		},
		Temperature: 0.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(demanding(), asked); diff != "" {
		t.Errorf("the request itself was changed: %s", diff)
	}
}

func TestFit_ChoosesNoToolsWhereThereAreNone(t *testing.T) {
	if got := (llm.Capabilities{Tools: true}).Fit(llm.Request{ToolChoice: llm.ToolsRequired}); got.ToolChoice != "" {
		t.Errorf("tool choice %q", got.ToolChoice)
	}
}

func TestOverrides_CorrectOneModelAlone(t *testing.T) {
	yes, no, size := true, false, 8192
	o := llm.Overrides{"prod": {Like: "gpt-5", Vision: &no, Stop: &yes, Context: &size}}
	declared := llm.Capabilities{Vision: true, Tools: true, Context: 100}
	if got, want := o.Apply("prod", declared), (llm.Capabilities{Tools: true, Stop: true, Context: 8192}); got != want {
		t.Errorf("prod: %+v, want %+v", got, want)
	}
	if got := o.Apply("other", declared); got != declared {
		t.Errorf("other: %+v", got)
	}
	if o.Like("prod") != "gpt-5" || o.Like("other") != "other" || llm.Overrides(nil).Like("x") != "x" {
		t.Error("Like is wrong")
	}
}

func TestInFamily(t *testing.T) {
	for name, want := range map[string]bool{
		"gpt-5": true, "gpt-5-mini": true, "gpt-5.1": true, "gpt-5:free": true, "gpt-50": false, "gpt-4": false, "": false,
	} {
		if got := llm.InFamily(name, "gpt-5"); got != want {
			t.Errorf("InFamily(%q, gpt-5) = %v", name, got)
		}
	}
}

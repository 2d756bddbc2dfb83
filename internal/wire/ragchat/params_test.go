package ragchat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"parley/internal/chat"
)

// has reports as text whether seen contains s.
func has(seen, s string) string { return fmt.Sprint(strings.Contains(seen, s)) }

// ownParameters are the parameters of the API itself.
func ownParameters() []string {
	names := slices.Collect(maps.Keys(paramTable))
	for _, o := range ownOptions {
		names = append(names, o.Name)
	}
	return names
}

// TestParams_EachDoesWhatItsNameSays sends requests to a real engine with and without each parameter,
// and compares the one thing that the parameter controls.
func TestParams_EachDoesWhatItsNameSays(t *testing.T) {
	answered := func(e effect) modelCall { return e.call(chat.StageGenerate) }
	synthesized := func(e effect) string { return e.call(chat.StageSynthesize).key }
	namespace := func(e effect) string {
		return fmt.Sprintf("%s %d", e.queries[0].Namespace, len(e.answer["sources"].([]any)))
	}
	messages := func(e effect) string { return fmt.Sprint(e.answer["conversation_totals"].(map[string]any)["messages"]) }
	rewrite := func(key string) func(effect) string {
		return func(e effect) string { return fmt.Sprint(e.answer["rewrite_display"].(map[string]any)[key]) }
	}
	cases := []struct {
		name, value   string
		see           func(effect) string
		usual, wanted string
	}{
		{"top_k", `1`, func(e effect) string { return fmt.Sprint(e.answer["metrics"].(map[string]any)["vectors_retrieved"]) }, "2", "1"},
		{"score_threshold", `0.7`, func(e effect) string { return fmt.Sprint(e.queries[0].MinScore) }, "0", "0.7"},
		{"namespace", `"empty"`, namespace, "default 2", "empty 0"},
		{"documents", `["none"]`, func(e effect) string { return fmt.Sprint(e.queries[0].Within.Has(1)) }, "true", "false"},
		{"active_domain", `"empty"`, namespace, "default 2", "empty 0"},
		{"raw_tail_turns", `4`, func(e effect) string { return has(answered(e).text(), "Question 2") }, "false", "true"},
		{"raw_tail_turns", `5`, func(e effect) string { return e.call(chat.StageSummarize).key }, "test:usual", ""},
		{"summarizer_max_input_tokens", `100`, func(e effect) string { return has(e.call(chat.StageSummarize).text(), "Question 0") }, "true", "false"},
		{"summarizer_max_output_tokens", `40`, func(e effect) string { return has(e.call(chat.StageSummarize).text(), "30 words") }, "false", "true"},
		{"temperature", `1.5`, func(e effect) string { return fmt.Sprint(answered(e).Temperature) }, "0.4", "1.5"},
		{"temperature", `0`, func(e effect) string { return fmt.Sprint(answered(e).Temperature) }, "0.4", "0"},
		{"top_p", `0.5`, func(e effect) string { return fmt.Sprint(answered(e).TopP) }, "0.9", "0.5"},
		{"max_output_tokens", `77`, func(e effect) string { return fmt.Sprint(answered(e).MaxOutputTokens) }, "500", "77"},
		{"reasoning_effort", `"low"`, func(e effect) string { return answered(e).Effort }, "", "low"},
		{"render_html", `true`, func(e effect) string { return has(e.body, "<strong>high</strong>") }, "false", "true"},
		{"enable_query_rewrite", `false`, func(e effect) string { return e.queries[0].Text }, "How high is Mount Whitney?", "How high is it?"},
		{"rewrite_confidence_threshold", `0.8`, rewrite("accepted"), "true", "false"},
		{"rewrite_tail_turns", `3`, func(e effect) string {
			return fmt.Sprint(strings.Count(e.call(chat.StageRewrite).text(), strings.Repeat("It is long. ", 20)))
		}, "1", "3"},
		{"rewrite_summary_turns", `0`, func(e effect) string { return has(e.call(chat.StageRewrite).text(), "Question 3") }, "true", "false"},
		{"clarify", `true`, func(e effect) string {
			return has(e.body, "Mount Whitney is **high**") + has(e.body, "Which mountain?")
		}, "truefalse", "falsetrue"},
		{"use_tools", `false`, func(e effect) string { return fmt.Sprint(len(answered(e).Tools), " ", e.answer["tools_used"]) }, "1 [calculator]", "0 []"},
		{"use_web_search", `true`, func(e effect) string { return has(e.body, "Web search was asked for") + has(e.steps, stepWeb) }, "falsefalse", "truetrue"},
		{"show_sources", `false`, func(e effect) string {
			return fmt.Sprint(len(e.answer["sources"].([]any)), " ", has(e.body, "Sources:"))
		}, "2 true", "0 false"},
		{"prompt_domain", `"legal"`, func(e effect) string { return has(answered(e).text(), "Answer like a lawyer.") }, "false", "true"},
		{"show_processing_steps", `false`, func(e effect) string { return has(e.steps, stepGenerate) + has(e.steps, stepDone) }, "truetrue", "falsetrue"},
		{"query_id", `"q2"`, func(e effect) string { return has(e.steps, `"id":"q2"`) }, "false", "true"},
		{"conversation_id", `"c1"`, messages, "7", "8"},
		{"user_id", `"u2"`, messages, "7", "9"},
		{"stream", `true`, func(e effect) string { return e.sent + " " + has(e.body, `{"type":"delta"`) }, "application/json false", "text/event-stream true"},
		{"model_keys", `{"inference":"test:x"}`, func(e effect) string { return answered(e).key }, "test:usual", "test:x"},
		{"model_keys", `{"rewrite":"test:x"}`, func(e effect) string { return e.call(chat.StageRewrite).key }, "test:usual", "test:x"},
		{"model_keys", `{"rerank":"test:x"}`, func(e effect) string { return e.call(chat.StageRerank).key }, "", "test:x"},
		{"model_keys", `{"summary":"test:x"}`, func(e effect) string { return e.call(chat.StageSummarize).key }, "test:usual", "test:x"},
		{"model_keys", `{"tools_synth":"test:x"}`, synthesized, "", "test:x"},
		{"model_keys", `{"inference":"test:y"}`, func(e effect) string { return fmt.Sprint(e.answer["tools_used"]) }, "[calculator]", "[calculator]"},
		{"model_keys", `{"inference":"nobody:x"}`, func(e effect) string { return fmt.Sprint(e.status) }, "200", "400"},
		{"model_keys", `{"tools_synth":"nobody:x"}`, func(e effect) string { return fmt.Sprint(e.status) }, "200", "400"},
	}
	tried := map[string]bool{}
	usual := served(t, nil)
	for _, c := range cases {
		tried[c.name] = true
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			if got := c.see(usual); got != c.usual {
				t.Errorf("without it: %q, want %q", got, c.usual)
			}
			e := served(t, map[string]json.RawMessage{c.name: json.RawMessage(c.value)})
			if got := c.see(e); got != c.wanted {
				t.Errorf("with it: %q, want %q\n%s", got, c.wanted, e.body)
			}
		})
	}
	for _, name := range ownParameters() {
		if !tried[name] {
			t.Errorf("%s is not tried", name)
		}
	}
}

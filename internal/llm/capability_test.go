package llm_test

import (
	"testing"

	"parley/internal/llm"
)

type described struct{ silent }

func (described) Capabilities(model string) llm.Capabilities {
	return llm.Capabilities{Vision: model == "eyes", Tools: true}
}

func TestCapabilities_AreWhatTheProviderSaysOfTheModel(t *testing.T) {
	r := &llm.Router{Default: "a:eyes", Providers: map[string]llm.Model{"a": described{}, "b": silent{}}}
	for key, want := range map[string]llm.Capabilities{
		"":          {Vision: true, Tools: true},
		"a:eyes":    {Vision: true, Tools: true},
		"a:blind:7": {Tools: true},
		"a:":        {},
		"b:eyes":    {},
		"c:eyes":    {},
		"eyes":      {},
	} {
		if got := r.Capabilities(key); got != want {
			t.Errorf("Capabilities(%q) = %+v, want %+v", key, got, want)
		}
	}
}

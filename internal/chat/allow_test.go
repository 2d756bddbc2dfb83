package chat_test

import (
	"errors"
	"strings"
	"testing"

	"parley/internal/chat"
)

func TestAllowlist_AllowsWhatFitsAPattern(t *testing.T) {
	for _, c := range []struct {
		patterns, key string
		want          bool
	}{
		{"", "openai:gpt-4.1", true},
		{"openai:gpt-4.1", "openai:gpt-4.1", true},
		{"openai:gpt-4.1", "openai:gpt-4.1-mini", false},
		{"openai:*", "openai:", true},
		{"openai:*", "anthropic:openai:x", false},
		{"openai:*-mini", "openai:gpt-4.1-mini", true},
		{"openai:*-mini", "openai:gpt-4.1-mini-x", false},
		{"router:*/llama-*-8b", "router:meta/llama-3/llama-3-8b", true},
		{"router:*/llama-*-8b", "router:llama-3-8b", false},
		{"a:x*x", "a:x", false},
		{"*", "anything:at/all", true},
		{"a:x b:*", "b:y", true},
		{"a:x b:*", "a:y", false},
	} {
		if got := (chat.Allowlist{Patterns: strings.Fields(c.patterns)}).Allows(c.key); got != c.want {
			t.Errorf("%q allows %q: %v", c.patterns, c.key, got)
		}
	}
}

func TestAllowlist_RefusesModelsThatMayNotBeNamed(t *testing.T) {
	usual := chat.Models{Inference: "openai:big", Rerank: "judge:x"}
	for name, c := range map[string]struct {
		models  chat.Models
		refused string
	}{
		"nothing is named":                     {models: chat.Models{}},
		"the defaults of the stages":           {models: usual},
		"what the list allows, for all stages": {models: chat.Models{Inference: "ollama:a", Rewrite: "ollama:b", Rerank: "ollama:c", Summary: "ollama:d", Synthesis: "ollama:e", Judge: "ollama:f"}},
		"what stages take over from inference": {models: chat.Models{Rewrite: "openai:big", Summary: "openai:big", Synthesis: "openai:big"}},
		"inference":                            {chat.Models{Inference: "openai:huge"}, "openai:huge"},
		"rewrite":                              {chat.Models{Rewrite: "openai:huge"}, "openai:huge"},
		"rerank":                               {chat.Models{Rerank: "openai:huge"}, "openai:huge"},
		"summary":                              {chat.Models{Summary: "openai:huge"}, "openai:huge"},
		"tools":                                {chat.Models{Synthesis: "openai:huge"}, "openai:huge"},
		"judge":                                {chat.Models{Judge: "openai:huge"}, "openai:huge"},
		"the default of another stage":         {chat.Models{Inference: "judge:x"}, "judge:x"},
		"a name with control characters":       {chat.Models{Inference: "openai:\x00b\n"}, `"openai:b"`},
	} {
		err := (chat.Allowlist{Patterns: []string{"ollama:*"}, Defaults: usual}).Check(c.models)
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		refusal, ok := errors.AsType[*chat.Error](err)
		if !ok || refusal.Kind != chat.Invalid || !strings.Contains(refusal.Msg, c.refused) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

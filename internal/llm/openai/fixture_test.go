package openai_test

import (
	"flag"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestFixtures(t *testing.T) {
	llmtest.RunFixtures(t, *update, replayed)
}

func replayed(t *testing.T, url string, _ bool) llm.Model {
	return provider(t, openai.Config{BaseURL: url + "/v1", APIKey: "test-key"})
}

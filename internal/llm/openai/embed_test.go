package openai_test

import (
	"testing"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
)

func openEmbedder(t *testing.T, url string, short bool) llm.Embedder {
	cfg := openai.Config{BaseURL: url + "/v1", APIKey: "test-key"}
	if short {
		cfg.FirstByte, cfg.Idle = 300*time.Millisecond, 300*time.Millisecond
	}
	return provider(t, cfg)
}

func TestEmbed_EndsEveryFaultInVectorsOrAnError(t *testing.T) {
	llmtest.RunEmbedFaults(t, llmtest.OpenAIEmbeddings, llmtest.DocumentWants(), openEmbedder)
}

func TestEmbedFixtures(t *testing.T) { llmtest.RunEmbedFixtures(t, *update, openEmbedder) }

package azureopenai_test

import (
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

func openEmbedder(t *testing.T, url string, short bool) llm.Embedder {
	return open(t, url, short).(llm.Embedder)
}

func TestEmbed_EndsEveryFaultInVectorsOrAnError(t *testing.T) {
	llmtest.RunEmbedFaults(t, llmtest.AzureEmbeddings, llmtest.DocumentWants(), openEmbedder)
}

func TestEmbedFixtures(t *testing.T) { llmtest.RunEmbedFixtures(t, *update, openEmbedder) }

package ollama_test

import (
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

func openEmbedder(t *testing.T, url string, short bool) llm.Embedder {
	return open(t, url, short).(llm.Embedder)
}

func TestEmbed_EndsEveryFaultInVectorsOrAnError(t *testing.T) {
	wants := llmtest.With(llmtest.DocumentWants(), llmtest.Unindexed())
	wants["jsonerror"] = llmtest.Want{Err: &llm.Error{Retryable: true}, Says: "quota [redacted]"} // its errors are texts
	llmtest.RunEmbedFaults(t, llmtest.OllamaEmbeddings, wants, openEmbedder)
}

func TestEmbedFixtures(t *testing.T) { llmtest.RunEmbedFixtures(t, *update, openEmbedder) }

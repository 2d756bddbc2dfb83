package ollama_test

import (
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/ollama"
	"parley/internal/llm/upstream"
)

func TestRecord(t *testing.T) {
	llmtest.RecordIfAsked(t, llmtest.Live{
		Need: "OLLAMA_HOST, and have Ollama pull the model", Key: os.Getenv("OLLAMA_HOST"), Replay: open,
		Open: func(client *http.Client) (llm.Model, error) {
			return ollama.New(ollama.Config{Host: os.Getenv("OLLAMA_HOST"), Upstream: upstream.Config{HTTP: client}})
		},
	})
}

package azureopenai_test

import (
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/azureopenai"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/upstream"
)

func TestRecord(t *testing.T) {
	llmtest.RecordIfAsked(t, llmtest.Live{
		Need: "AZURE_OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT, and a deployment named like the model", Key: os.Getenv("AZURE_OPENAI_API_KEY"), Replay: open,
		Open: func(client *http.Client) (llm.Model, error) {
			return azureopenai.New(azureopenai.Config{
				Endpoint: os.Getenv("AZURE_OPENAI_ENDPOINT"), APIKey: os.Getenv("AZURE_OPENAI_API_KEY"), Upstream: upstream.Config{HTTP: client},
			})
		},
	})
}

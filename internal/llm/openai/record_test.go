package openai_test

import (
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
)

func TestRecord(t *testing.T) {
	llmtest.RecordIfAsked(t, llmtest.Live{
		Need: "OPENAI_API_KEY", Key: os.Getenv("OPENAI_API_KEY"), Replay: openModel,
		Open: func(client *http.Client) (llm.Model, error) {
			return openai.New(openai.Config{APIKey: os.Getenv("OPENAI_API_KEY"), Upstream: upstream.Config{HTTP: client}})
		},
	})
}

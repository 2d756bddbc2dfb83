package anthropic_test

import (
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/anthropic"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/upstream"
)

func TestRecord(t *testing.T) {
	llmtest.RecordIfAsked(t, llmtest.Live{
		Need: "ANTHROPIC_API_KEY", Key: os.Getenv("ANTHROPIC_API_KEY"), Replay: open,
		Open: func(client *http.Client) (llm.Model, error) {
			return anthropic.New(anthropic.Config{APIKey: os.Getenv("ANTHROPIC_API_KEY"), Upstream: upstream.Config{HTTP: client}})
		},
	})
}

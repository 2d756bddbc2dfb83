package gemini_test

import (
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/gemini"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/upstream"
)

func TestRecord(t *testing.T) {
	llmtest.RecordIfAsked(t, llmtest.Live{
		Need: "GEMINI_API_KEY", Key: os.Getenv("GEMINI_API_KEY"), Replay: open,
		Open: func(client *http.Client) (llm.Model, error) {
			return gemini.New(gemini.Config{APIKey: os.Getenv("GEMINI_API_KEY"), Upstream: upstream.Config{HTTP: client}})
		},
	})
}

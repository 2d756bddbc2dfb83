package gemini_test

import (
	"flag"
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/gemini"
	"parley/internal/llm/llmtest"
)

var record = flag.Bool("record", false, "renew the fixtures that the provider itself can answer; needs its key")

func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	llmtest.Record(t, llmtest.Live{
		Need: "GEMINI_API_KEY", Key: os.Getenv("GEMINI_API_KEY"), Replay: open,
		Open: func(t *testing.T, client *http.Client) llm.Model {
			p, err := gemini.New(gemini.Config{APIKey: os.Getenv("GEMINI_API_KEY"), HTTP: client})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	})
}

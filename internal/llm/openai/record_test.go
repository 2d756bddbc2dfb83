package openai_test

import (
	"flag"
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
)

var record = flag.Bool("record", false, "renew the fixtures that the provider itself can answer; needs its key")

func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	llmtest.Record(t, llmtest.Live{
		Need: "OPENAI_API_KEY", Key: os.Getenv("OPENAI_API_KEY"), Replay: openModel,
		Open: func(t *testing.T, client *http.Client) llm.Model {
			p, err := openai.New(openai.Config{APIKey: os.Getenv("OPENAI_API_KEY"), HTTP: client})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	})
}

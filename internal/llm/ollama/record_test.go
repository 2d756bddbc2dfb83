package ollama_test

import (
	"flag"
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/ollama"
)

var record = flag.Bool("record", false, "renew the fixtures that the provider itself can answer; needs its key")

func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	llmtest.Record(t, llmtest.Live{
		Need: "OLLAMA_HOST, and have Ollama pull the model", Key: os.Getenv("OLLAMA_HOST"), Replay: open,
		Open: func(t *testing.T, client *http.Client) llm.Model {
			p, err := ollama.New(ollama.Config{Host: os.Getenv("OLLAMA_HOST"), HTTP: client})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	})
}

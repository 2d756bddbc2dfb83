package azureopenai_test

import (
	"flag"
	"net/http"
	"os"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/azureopenai"
	"parley/internal/llm/llmtest"
)

var record = flag.Bool("record", false, "renew the fixtures that the provider itself can answer; needs its key")

func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	llmtest.Record(t, llmtest.Live{
		Need: "AZURE_OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT, and a deployment named like the model", Key: os.Getenv("AZURE_OPENAI_API_KEY"), Replay: open,
		Open: func(t *testing.T, client *http.Client) llm.Model {
			p, err := azureopenai.New(azureopenai.Config{
				Endpoint: os.Getenv("AZURE_OPENAI_ENDPOINT"), APIKey: os.Getenv("AZURE_OPENAI_API_KEY"), HTTP: client,
			})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	})
}

package rerankapi_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/rerankapi"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string, short bool) llm.Reranker {
	cfg := rerankapi.Config{BaseURL: url, APIKey: "test-key", HTTP: llmtest.HTTPClient(t)}
	if short {
		cfg.FirstByte, cfg.Idle = 300*time.Millisecond, 300*time.Millisecond
	}
	p, err := rerankapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wants() map[string]llmtest.Want {
	undecodable := llmtest.Want{Err: &llm.Error{Retryable: true}, Says: "decode answer"}
	return llmtest.With(llmtest.DocumentWants(), map[string]llmtest.Want{
		"length": undecodable, "infinite": undecodable,
		"zero":      {},
		"jsonerror": {Err: &llm.Error{}, Says: "quota [redacted]"},
	})
}

func TestRerank_EndsEveryFaultInScoresOrAnError(t *testing.T) {
	llmtest.RunRerankFaults(t, llmtest.Rerank, wants(), open)
}

func TestRerank_EndsEveryFaultOfTEI(t *testing.T) {
	llmtest.RunRerankFaults(t, llmtest.TEI, wants(), open)
}

func TestRerankFixtures(t *testing.T) { llmtest.RunRerankFixtures(t, *update, open) }

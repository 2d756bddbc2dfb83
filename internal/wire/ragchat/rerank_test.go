package ragchat

import (
	"testing"

	"parley/internal/wire"
)

func TestModelKeys_WithARerankerRerank(t *testing.T) {
	for body, want := range map[string]bool{
		`{"rerank":"openai:small"}`:                         true,
		`{"inference":"openai:big"}`:                        false,
		`{"rerank":null}`:                                   false,
		`{"rewrite":"openai:small","rerank":"cohere:rank"}`: true,
	} {
		x := &exchange{}
		if wrong := setModels(x, wire.Value(body)); wrong != "" || x.req.Options.Rerank != want {
			t.Errorf("%s: reranks %v, %s", body, x.req.Options.Rerank, wrong)
		}
	}
}

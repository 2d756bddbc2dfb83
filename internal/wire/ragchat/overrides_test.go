package ragchat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// overlaid returns the options of a request with these parameters.
func overlaid(t *testing.T, params string) (chat.Options, error) {
	t.Helper()
	object, err := wire.ParseObject([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	x := &exchange{}
	err = (&Handler{}).overlay(x, object)
	return x.req.Options, err
}

func TestOverlay_TakesTheOverridesOfTheAIChatProtocol(t *testing.T) {
	usual, err := overlaid(t, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for params, change := range map[string]func(*chat.Options){
		`{"retrieval_mode":"vectors"}`:                   func(o *chat.Options) { o.Mode = retrieval.Vectors },
		`{"semantic_ranker":"true"}`:                     func(o *chat.Options) { o.Rerank = true },
		`{"semantic_captions":true}`:                     func(o *chat.Options) { o.Captions = true },
		`{"minimum_reranker_score":0.4}`:                 func(o *chat.Options) { o.MinRerankScore = 0.4 },
		`{"include_category":"hr"}`:                      func(o *chat.Options) { o.IncludeCategory = "hr" },
		`{"exclude_category":"hr"}`:                      func(o *chat.Options) { o.ExcludeCategory = "hr" },
		`{"suggest_followup_questions":true}`:            func(o *chat.Options) { o.FollowUps = true },
		`{"prompt_template":">>>Be brief."}`:             func(o *chat.Options) { o.PromptTemplate = ">>>Be brief." },
		`{"use_oid_security_filter":true}`:               func(o *chat.Options) { o.RequireUser = true },
		`{"use_oid_security_filter":false}`:              func(*chat.Options) {},
		`{"use_groups_security_filter":true}`:            func(o *chat.Options) { o.RequireGroup = true },
		`{"gpt4v_input":"images"}`:                       func(*chat.Options) {},
		`{"use_gpt4v":true}`:                             func(o *chat.Options) { o.Images = chat.TextAndImages },
		`{"gpt4v_input":"texts","use_gpt4v":true}`:       func(*chat.Options) {},
		`{"gpt4v_input":"images","use_gpt4v":true}`:      func(o *chat.Options) { o.Images = chat.ImagesOnly },
		`{"retrieval_mode":null,"semantic_ranker":null}`: func(*chat.Options) {},
		// A reranker in the request turns reranking on, in whatever order, unless the request says
		// otherwise.
		`{"semantic_ranker":false,"model_keys":{"rerank":"builtin:lexical"}}`: func(o *chat.Options) { o.Models.Rerank = "builtin:lexical" },
	} {
		want := usual
		change(&want)
		got, err := overlaid(t, params)
		if err != nil {
			t.Errorf("%s: %v", params, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", params, diff)
		}
	}
}

func TestOverlay_RefusesWhatAnOverrideCannotBe(t *testing.T) {
	for params, name := range map[string]string{
		`{"retrieval_mode":"magic"}`:                                            "retrieval_mode",
		`{"semantic_ranker":"perhaps"}`:                                         "semantic_ranker",
		`{"minimum_reranker_score":1.9}`:                                        "minimum_reranker_score",
		`{"include_category":7}`:                                                "include_category",
		`{"prompt_template":"` + strings.Repeat("x", chat.MaxTemplate+1) + `"}`: "prompt_template",
		`{"gpt4v_input":"sound"}`:                                               "gpt4v_input",
	} {
		if _, err := overlaid(t, params); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%.60s: %v, want an error that names %s", params, err, name)
		}
	}
}

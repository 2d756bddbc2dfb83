package chat_test

import (
	"context"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// retrieved runs a turn whose search returns res. It returns the end of the retrieve stage and the
// turn.
func retrieved(t *testing.T, res retrieval.Result, mode retrieval.Mode) (chat.StageFinished, *chat.Turn) {
	t.Helper()
	res.Passages = []retrieval.Passage{chattest.Passage("guide.pdf", 2, "Leave is 25 days.")}
	e := newEngine(llmtest.Says("25"), &found{result: res})
	turn, err := chat.Collect(e.Run(t.Context(), new(ask(e, "How long is leave?", func(r *chat.Request) { r.Options.Mode = mode }))))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range turn.Stages {
		if s.Stage == chat.StageRetrieve {
			return s, turn
		}
	}
	t.Fatal("no search has ended")
	return chat.StageFinished{}, nil
}

func TestRun_CountsWhatEmbeddingTheQuestionTook(t *testing.T) {
	usage := llm.Usage{Input: 5}
	s, turn := retrieved(t, retrieval.Result{Mode: retrieval.Hybrid, HasVector: true, Usage: usage, Model: "test:embed"}, retrieval.Hybrid)
	if s.Usage != usage || s.Model != "test:embed" || s.Note != "" {
		t.Errorf("the search ended as %+v", s)
	}
	if !turn.Retrieved.HasVector || turn.Retrieved.Mode != retrieval.Hybrid || turn.Usage.Input != 15 { // with the 10 of the model
		t.Errorf("%+v, %d tokens in all", turn.Retrieved, turn.Usage.Input)
	}
}

func TestRun_SaysWhySearchDidWithoutVectors(t *testing.T) {
	for _, c := range []struct {
		res  retrieval.Result
		mode retrieval.Mode
		want string
	}{
		{retrieval.Result{Mode: retrieval.Text}, retrieval.Text, ""},
		{retrieval.Result{Mode: retrieval.Text}, retrieval.Hybrid, "searched by text instead of hybrid"},
		{retrieval.Result{Mode: retrieval.Text, Note: "the question could not be embedded"}, retrieval.Vectors,
			"searched by text instead of vectors: the question could not be embedded"},
	} {
		if s, _ := retrieved(t, c.res, c.mode); s.Note != c.want {
			t.Errorf("note %q, want %q", s.Note, c.want)
		}
	}
}

func TestRun_SuggestsBySearchesThatNeedNoEmbedder(t *testing.T) {
	f := passages(chattest.Passage("guide.pdf", 2, "Leave is 25 days."))
	e := newEngine(llmtest.Says("25"), f, func(c *chat.Config) {
		c.Suggest = func(ctx context.Context, in chat.SuggestInput) ([]string, error) {
			_, err := in.Search(ctx, "Who may take leave?", []retrieval.WeightedTerm{{Word: "long", Weight: 0.5}})
			return []string{"Who may take leave?"}, err
		}
	})
	if _, err := chat.Collect(e.Run(t.Context(), new(ask(e, "How long is leave?", followUps)))); err != nil {
		t.Fatal(err)
	}
	if n := len(f.queries); n != 2 || f.queries[0].Mode != retrieval.Hybrid || f.queries[1].Mode != retrieval.Text || len(f.queries[1].Context) != 1 {
		t.Errorf("queries %+v", f.queries)
	}
}

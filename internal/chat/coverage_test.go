package chat_test

import (
	"context"
	"strings"
	"testing"

	"parley/internal/attribute"
	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// shelf says of each namespace what it was made to say. Its reading ends after so many questions.
type shelf struct {
	reading string
	lasts   int
	empty   map[string]string
}

func (s *shelf) Reading(string) string {
	if s.lasts--; s.lasts < 0 {
		return ""
	}
	return s.reading
}

func (s *shelf) Documents(_ context.Context, f retrieval.Filter, limit int) ([]string, int) {
	return []string{f.Namespace + "/a.md"}[:min(limit, 1)], 2
}

func (s *shelf) Empty(_ context.Context, namespace string) string { return s.empty[namespace] }

const (
	reading = "Documents are still being read (1 of 2 files so far)."
	empty   = "There are no documents yet."
)

func TestRun_SaysInARefusalWhatIsMissing(t *testing.T) {
	passage := chattest.Passage("a.md", 0, "The canteen opens at eight.")
	for _, c := range []struct {
		name  string
		shelf *shelf
		found *found
		want  string
	}{
		{"nothing is known", nil, passages(), builtin.Refusal},
		{"nothing is missing", &shelf{}, passages(passage), builtin.Refusal},
		{"still reading", &shelf{reading: reading, lasts: 9}, passages(), "I don't know. " + reading},
		{"still reading, with passages beside the point", &shelf{reading: reading, lasts: 9}, passages(passage), "I don't know. " + reading},
		{"reading ended after the search", &shelf{reading: reading, lasts: 1}, passages(), "I don't know. " + reading},
		{"empty", &shelf{empty: map[string]string{"default": empty}}, passages(), "I don't know. " + empty},
		{"reading into an empty one", &shelf{reading: reading, lasts: 9, empty: map[string]string{"default": empty}}, passages(), "I don't know. " + reading},
		{"another namespace is empty", &shelf{empty: map[string]string{"other": empty}}, passages(), builtin.Refusal},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(llmtest.Says("x"), c.found, func(cfg *chat.Config) {
				cfg.Models = &llm.Router{Default: "builtin:extractive", Providers: map[string]llm.Model{"builtin": builtin.Answerer{}}}
				cfg.Defaults.Models.Inference = "builtin:extractive"
				if c.shelf != nil {
					cfg.Coverage = c.shelf
				}
			})
			turn := collect(t, e, ask(e, "How tall is the lighthouse?"))
			if got := turn.Messages[0].Text; got != c.want {
				t.Errorf("answer = %q, want %q", got, c.want)
			}
		})
	}
}

func TestRun_TellsAModelWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name     string
		shelf    *shelf
		template string
		want     bool
	}{
		{"nothing", &shelf{}, "", false},
		{"still reading", &shelf{reading: reading, lasts: 9}, "", true},
		{"still reading, with instructions of the request's own", &shelf{reading: reading, lasts: 9}, "Rhyme.", true},
	} {
		e := newEngine(llmtest.Says("x"), passages(), func(cfg *chat.Config) { cfg.Coverage = c.shelf })
		turn := collect(t, e, ask(e, "q", followUps, func(r *chat.Request) { r.Options.PromptTemplate = c.template }))
		system := turn.Prompt.Messages[0].Text()
		if strings.Contains(system, reading) != c.want || !strings.Contains(system, "<<") || strings.Index(system, "State of") > strings.Index(system, "<<") {
			t.Errorf("%s: the model was told %q", c.name, system)
		}
	}
}

// In a vector store, a condition is about the attributes of its files, so a list of documents could name some that the request leaves out.
func TestRun_NamesTheDocumentsOfItsPlacesToWhoeverAsksForThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*chat.Request)
		want   string
	}{
		{"of its namespace", func(r *chat.Request) { r.Namespace = "hr" }, "You can ask about these documents (2): hr/a.md; …"},
		{"of all places", func(r *chat.Request) {
			r.Places = []chat.Place{{Namespace: "hr"}, {Namespace: "law"}}
		}, "You can ask about these documents (4): hr/a.md; law/a.md; …"},
		{"none with a condition", func(r *chat.Request) { r.Options.Where = attribute.Compare("eq", "year", "2024") }, builtin.Refusal},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(llmtest.Says("x"), passages(), func(cfg *chat.Config) {
				cfg.Models = &llm.Router{Default: "builtin:extractive", Providers: map[string]llm.Model{"builtin": builtin.Answerer{}}}
				cfg.Defaults.Models.Inference = "builtin:extractive"
				cfg.Coverage = &shelf{}
			})
			req := ask(e, "Which documents do you have?")
			c.change(&req)
			if got := collect(t, e, req).Messages[0].Text; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

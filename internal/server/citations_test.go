package server

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

type retriever []retrieval.Passage

func (r retriever) Search(context.Context, retrieval.Query) (retrieval.Result, error) {
	return retrieval.Result{Passages: r, Mode: retrieval.Text, Matched: len(r)}, nil
}

// engineOf returns an engine that finds the passages and answers with the model.
func engineOf(model llm.Model, passages ...retrieval.Passage) *chat.Engine {
	return chat.NewEngine(chat.Config{
		Retriever: retriever(passages),
		Models:    &llm.Router{Default: "test:m", Providers: map[string]llm.Model{"test": model}},
		Defaults:  chat.Options{Models: chat.Models{Inference: "test:m"}},
	})
}

var delta = regexp.MustCompile(`"content":"((?:[^"\\]|\\.)*)"`)

// No protocol passes an invented citation to a client in any form. All list the unsupported ones.
func TestCitations_AreVerifiedInEveryProtocol(t *testing.T) {
	model := llmtest.Says("Leave is 25 days", " [", "guide.pdf", "#page=2].", " Bonus", " is", " 900 euros", " [guide.pdf, p. 2]", " [secret", "-payroll.pdf#page=9", "]", ".",
		" Dogs sleep in the kitchen during winter nights [notes.md].")
	const said = `Leave is 25 days [guide.pdf#page=2]. Bonus is 900 euros [guide.pdf#page=2]. Dogs sleep in the kitchen during winter nights [notes.md].`
	engine := engineOf(model, chattest.Passage("guide.pdf", 2, "Leave is 25 days a year."), chattest.Passage("notes.md", 0, "Ask early for your leave."))
	s := newServer(t, options{runner: engine})
	const messages = `"messages":[{"role":"user","content":"How long is leave?"}]`
	for _, c := range []struct{ name, path, body string }{
		{"2024-05-29", "/chat", `{` + messages + `}`},
		{"2024-05-29 streamed", "/chat/stream", `{` + messages + `}`},
		{"2024-01-28", "/chat", `{"stream":false,` + messages + `}`},
		{"2024-01-28 streamed", "/chat", `{"stream":true,` + messages + `}`},
		{"OpenAI", "/v1/chat/completions", `{"model":"parley",` + messages + `}`},
		{"OpenAI streamed", "/v1/chat/completions", `{"model":"parley","stream":true,` + messages + `}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := do(s, http.MethodPost, c.path, c.body)
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			body := w.Body.String()
			var text strings.Builder
			for _, m := range delta.FindAllStringSubmatch(body, -1) {
				if !strings.HasPrefix(m[1], "{") && len(m[1]) < 400 && strings.Contains(said, m[1]) {
					text.WriteString(m[1])
				}
			}
			if !strings.Contains(text.String(), said) {
				t.Errorf("the answer is %q in %s", text.String(), body)
			}
			if strings.Contains(body, "payroll") {
				t.Errorf("an invented citation came through: %s", body)
			}
			if strings.Count(body, `"unsupported_citations":["guide.pdf#page=2","notes.md"]`) != 1 {
				t.Errorf("the unsupported citations are not listed: %s", body)
			}
		})
	}
	got := samples(t, s)
	for name, want := range map[string]string{
		`parley_citations_total{kind="invented"}`:    "6",
		`parley_citations_total{kind="unsupported"}`: "12",
		`parley_citations_total{kind="accepted"}`:    "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
}

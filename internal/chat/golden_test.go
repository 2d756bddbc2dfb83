package chat_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

var update = flag.Bool("update", false, "write the golden prompts anew")

// TestPrompts_AreTheGoldenOnes compares every request that a turn sends to models with a file, so
// that a change of a prompt shows up as a diff.
func TestPrompts_AreTheGoldenOnes(t *testing.T) {
	models := map[string]*llmtest.Model{
		"answer":  llmtest.Says("30 days [leave.md]."),
		"rewrite": llmtest.Says(`{"query":"How many days of leave do part-time staff get?","confidence":0.9}`),
		"rerank":  llmtest.Says(`{"ranking":[{"id":1,"grade":3},{"id":2,"grade":1}]}`),
		"summary": llmtest.Says("The user asked about leave; the assistant said that it is 30 days."),
	}
	providers := map[string]llm.Model{}
	for name, m := range models {
		providers[name] = m
	}
	leave, guide := chattest.Passage("leave.md", 0, "Leave is 30 days.\nPart-time staff get their share."), chattest.Passage("guide.pdf", 2, "Ask early.")
	leave.Chunk.Headings = []string{"Leave", "Part-time"}
	guide.Score = 0.9
	e := newEngine(nil, passages(leave, guide), with(providers), func(c *chat.Config) {
		c.MaxHistoryTokens = 60
		c.Defaults.Models = chat.Models{Inference: "answer:m", Rewrite: "rewrite:m", Rerank: "rerank:m", Summary: "summary:m"}
	})
	req := ask(e, "And for part-time staff?", followUps)
	req.Options.Rerank = true
	req.Messages = append([]chat.Message{
		chat.TextMessage(llm.System, "The user works in Berlin."),
		chat.TextMessage(llm.User, "Hello, I have a question about leave."),
		chat.TextMessage(llm.Assistant, "Please ask."),
		chat.TextMessage(llm.User, "How many days of leave are there in a year for everybody here?"),
		chat.TextMessage(llm.Assistant, "There are 30 days of leave in a year [leave.md]. Is there anything else?"),
		chat.TextMessage(llm.User, "Who approves it?"),
		chat.TextMessage(llm.Assistant, "Your manager does [guide.pdf#page=2]."),
	}, req.Messages...)
	collect(t, e, req)
	for name, m := range models {
		requests := m.Requests()
		if len(requests) != 1 {
			t.Errorf("%s: %d requests", name, len(requests))
			continue
		}
		var b strings.Builder
		r := requests[0]
		fmt.Fprintf(&b, "temperature %v, at most %d tokens, effort %q\nschema %s\n", r.Temperature, r.MaxOutputTokens, r.Effort, r.Schema)
		for _, message := range r.Messages {
			fmt.Fprintf(&b, "\n-- %s --\n%s\n", message.Role, message.Text())
		}
		path := filepath.Join("testdata", "prompts", name+".golden")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-golden +now); if it should be so, renew it with -update:\n%s", path, diff)
		}
	}
}

package ollama_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/ollama"
)

var takes = llm.Capabilities{Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true}

func but(change func(*llm.Capabilities)) llm.Capabilities {
	c := takes
	change(&c)
	return c
}

func TestCapabilities_AreDeclaredByFamily(t *testing.T) {
	p, err := ollama.New(ollama.Config{Overrides: llm.Overrides{"mine": {Like: "llava"}}})
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]llm.Capabilities{
		"llama3.1:8b":              takes,
		"of-the-future":            takes,
		"library/qwen3:8b":         but(func(c *llm.Capabilities) { c.Effort = true }),
		"qwen3-coder:30b":          takes,
		"gemma3:4b":                but(func(c *llm.Capabilities) { c.Vision, c.Tools = true, false }),
		"llama3":                   but(func(c *llm.Capabilities) { c.Tools = false }),
		"mine":                     but(func(c *llm.Capabilities) { c.Vision, c.Tools = true, false }),
		"hf.co/org/gpt-oss:latest": but(func(c *llm.Capabilities) { c.Effort = true }),
	} {
		if diff := cmp.Diff(want, p.Capabilities(model)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

// saying is a fake of Ollama that tells the capabilities of its one model.
type saying struct {
	show string // the answer to /api/show

	mu    sync.Mutex
	asked int
	chats []string
}

func (s *saying) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/api/show":
		s.asked++
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, s.show)
	case "/api/tags":
		fmt.Fprint(w, `{"models":[{"name":"m"}]}`)
	case "/api/chat":
		var body struct {
			Think json.RawMessage
			Tools []json.RawMessage
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.chats = append(s.chats, fmt.Sprintf("think=%s tools=%d", body.Think, len(body.Tools)))
		w.Header().Set("Content-Type", "application/x-ndjson")
		fmt.Fprintln(w, `{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":1}`)
	}
}

func TestStream_AsksOllamaWhatTheModelTakes(t *testing.T) {
	for name, c := range map[string]struct {
		show, chat string
		want       llm.Capabilities
	}{
		"everything": {`{"capabilities":["completion","vision","tools","thinking"]}`, "think=true tools=1",
			but(func(c *llm.Capabilities) { c.Vision, c.Effort = true, true })},
		"text alone": {`{"capabilities":["completion"]}`, "think= tools=0", but(func(c *llm.Capabilities) { c.Tools = false })},
		"levels": {`{"capabilities":["completion","thinking"],"thinking":{"values":["low","medium","high"],"default":"medium"}}`,
			`think="low" tools=0`, but(func(c *llm.Capabilities) { c.Tools, c.Effort = false, true })},
		"no levels": {`{"capabilities":["tools","thinking"],"thinking":{"values":[false,true],"default":true}}`,
			"think=true tools=1", but(func(c *llm.Capabilities) { c.Effort = true })},
		"an older server": {`{"details":{}}`, "think= tools=1", takes},
		"not JSON":        {`<html>`, "think= tools=1", takes},
	} {
		t.Run(name, func(t *testing.T) {
			said := &saying{show: c.show}
			s := httptest.NewServer(said)
			defer s.Close()
			p := open(t, s.URL, false)
			req := llmtest.Question("m")
			req.Effort, req.Tools = "low", []llm.Tool{{Name: "f"}}
			for range 3 {
				if got := llmtest.Ask(t.Context(), p, req); got.Err != nil || got.Text != "Hi" {
					t.Fatalf("%+v", got)
				}
			}
			if diff := cmp.Diff([]string{c.chat, c.chat, c.chat}, said.chats); diff != "" {
				t.Errorf("chats (-want +got):\n%s", diff)
			}
			if said.asked != 1 {
				t.Errorf("asked %d times what it takes", said.asked)
			}
			if diff := cmp.Diff(c.want, p.(llm.Describer).Capabilities("m")); diff != "" {
				t.Errorf("capabilities (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModels_AsksWhatEachTakes(t *testing.T) {
	said := &saying{show: `{"capabilities":["vision"]}`}
	s := httptest.NewServer(said)
	defer s.Close()
	p := open(t, s.URL, false)
	if _, err := p.(llm.Lister).Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.(llm.Describer).Capabilities("m"); !got.Vision || got.Tools {
		t.Errorf("capabilities %+v", got)
	}
}

func TestStream_OffersTheToolsOfTheChoice(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.Ollama)
	for choice, want := range map[string]string{"": "ab", llm.ToolsRequired: "ab", llm.ToolsNone: "", "b": "b"} {
		req := llmtest.Question("m")
		req.Tools, req.ToolChoice, req.Stop = []llm.Tool{{Name: "a"}, {Name: "b"}}, choice, []string{"END"}
		if got := llmtest.Ask(t.Context(), open(t, up.URL, false), req); got.Err != nil {
			t.Fatal(got.Err)
		}
		body, _ := up.Last()
		var got struct {
			Tools   []struct{ Function struct{ Name string } }
			Options struct{ Stop []string }
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range got.Tools {
			names = append(names, tool.Function.Name)
		}
		if strings.Join(names, "") != want || len(got.Options.Stop) != 1 {
			t.Errorf("%q: sent %s", choice, body)
		}
	}
}

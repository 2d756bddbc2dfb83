package ollama_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/ollama"
	"parley/internal/llm/upstream"
)

// Prompts fit the context size with which the model is loaded, no matter where that size is set.
func TestStream_LoadsTheModelWithTheContextThatPromptsAreMadeFor(t *testing.T) {
	own := 6000
	for name, c := range map[string]struct {
		show string
		over llm.Overrides
		want int
	}{
		"nothing is said":           {`{}`, nil, 8192},
		"by the model's file":       {`{"parameters":"temperature 1\nnum_ctx                        16384\nstop \"x\"","model_info":{"general.architecture":"q","q.context_length":40960}}`, nil, 16_384},
		"it can read no more":       {`{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":4096}}`, nil, 4096},
		"it could read much more":   {`{"capabilities":["completion"],"model_info":{"general.architecture":"q","q.context_length":262144}}`, nil, 8192},
		"set for the model":         {`{"model_info":{"general.architecture":"q","q.context_length":40960}}`, llm.Overrides{"m": {Context: &own}}, 6000},
		"of another form":           {`{"parameters":7}`, nil, 8192},
		"numbers that cannot be":    {`{"parameters":"num_ctx -5","model_info":{"general.architecture":"q","q.context_length":-1}}`, nil, 8192},
		"the server says not a bit": {``, nil, 8192},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := 0
			mux := http.NewServeMux()
			mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
				if c.show == "" {
					http.NotFound(w, nil)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, c.show)
			})
			mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
				var body struct {
					Options struct {
						NumCtx int `json:"num_ctx"`
					} `json:"options"`
				}
				_ = json.NewDecoder(r.Body).Decode(&body)
				loaded = body.Options.NumCtx
				w.Header().Set("Content-Type", "application/x-ndjson")
				fmt.Fprintln(w, `{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop"}`)
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			p, err := ollama.New(ollama.Config{Host: s.URL, Overrides: c.over, Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}})
			if err != nil {
				t.Fatal(err)
			}
			router := llm.Router{Providers: map[string]llm.Model{"ollama": p}}
			if got := router.Window(t.Context(), "ollama:m"); got != c.want {
				t.Errorf("prompts are made for %d tokens, want %d", got, c.want)
			}
			if got := llmtest.Ask(t.Context(), p, llmtest.Question("m")); got.Err != nil || loaded != c.want {
				t.Errorf("loaded with %d, want %d: %v", loaded, c.want, got.Err)
			}
		})
	}
}

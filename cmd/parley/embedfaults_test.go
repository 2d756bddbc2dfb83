package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// faultyVectors are the bodies of an embedder at fault, by the name of the fault. The status is 200 unless the name is one.
var faultyVectors = map[string]string{
	"500": `{"error":{"message":"canary-sk-1"}}`, "429": `{"error":{"message":"slow down, canary-sk-1"}}`, "401": `{"error":{"message":"bad key canary-sk-1"}}`,
	"400": `{"error":{"message":"no"}}`, "503": "<html>canary-sk-1</html>", "empty": "", "not JSON": "<html>", "cut": `{"data":[{"index":0,"embed`,
	"no vector": `{"data":[]}`, "two vectors": `{"data":[{"index":0,"embedding":[1,0,0]},{"index":1,"embedding":[1,0,0]}]}`,
	"another index": `{"data":[{"index":7,"embedding":[1,0,0]}]}`, "null": `{"data":[{"index":0,"embedding":null}]}`,
	"no numbers": `{"data":[{"index":0,"embedding":["a"]}]}`, "too large a number": `{"data":[{"index":0,"embedding":[1e400,0,0]}]}`,
	"another dimension": `{"data":[{"index":0,"embedding":[1,0]}]}`,
}

// embeddingRoutes are routes that embed, with valid bodies.
var embeddingRoutes = map[string]string{
	"/v1/embeddings": `{"model":"parley","input":"deductible"}`, "/search": `{"query":"What is the deductible?"}`,
	"/retrieval":           `{"knowledge_id":"default","query":"What is the deductible?","retrieval_setting":{"top_k":2,"score_threshold":0}}`,
	"/v1/chat/completions": `{"model":"parley","messages":[{"role":"user","content":"What is the deductible?"}]}`,
}

// R4 for an embedder: on every route that embeds, each of its faults ends in an error of the protocol, or in a search by
// words alone, and tells nothing of the key. Each fault has a server, because a breaker opens after some.
func TestR4_EveryFaultOfAnEmbedderEndsWell(t *testing.T) {
	for name := range faultyVectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, fault := newFaultyEmbedder(t)
			for target, body := range embeddingRoutes {
				if w := s.send(t, operation{http.MethodPost, target, nil}, body); w.Code != http.StatusOK {
					t.Fatalf("%s without a fault: %d %s", target, w.Code, w.Body)
				}
			}
			fault.Store(name)
			for target, body := range embeddingRoutes {
				w := s.send(t, operation{http.MethodPost, target, nil}, strings.Replace(body, "deductible", "deductible "+name, 1))
				var object map[string]any
				err := json.Unmarshal(w.Body.Bytes(), &object)
				switch failed := w.Code >= 400; {
				case err != nil, failed && object[errorMember(target)] == nil:
					t.Errorf("%s: %d %s", target, w.Code, w.Body)
				case target == "/v1/embeddings" && !failed && name != "another dimension":
					t.Errorf("%s: vectors that nobody made: %s", target, w.Body)
				case target != "/v1/embeddings" && failed:
					t.Errorf("%s: there is no search by words: %d %s", target, w.Code, w.Body)
				}
				if strings.Contains(w.Body.String()+s.log.String(), "canary") {
					t.Errorf("%s: a key is in the response or the log: %s\n%.2000s", target, w.Body, s.log)
				}
			}
		})
	}
}

// newFaultyEmbedder returns a server with an embedder, which makes the fault of that name.
func newFaultyEmbedder(t *testing.T) (*wholeServer, *atomic.Value) {
	t.Helper()
	fault := &atomic.Value{}
	fault.Store("")
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 4<<20))
		w.Header().Set("Content-Type", "application/json")
		name := fault.Load().(string)
		if name == "" {
			fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,0,0]}],"usage":{"prompt_tokens":1}}`)
			return
		}
		var status int
		if n, _ := fmt.Sscanf(name, "%d", &status); n == 1 {
			w.WriteHeader(status)
		}
		fmt.Fprint(w, faultyVectors[name])
	}))
	t.Cleanup(models.Close)
	s := newWholeServer(t, func(c *Config) {
		c.Embedding, c.OpenAIAPIKey, c.OpenAIBaseURL = "openai:e", "canary-sk-1", models.URL+"/v1"
	})
	if err := s.serving.embed(t.Context(), io.Discard, newDisplay(io.Discard, time.Now), func(embedProgress) {}); err != nil {
		t.Fatal(err)
	}
	return s, fault
}

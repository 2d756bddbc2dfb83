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
	t.Parallel()
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
	models, fault, _ := faultyModels(t)
	s := newWholeServer(t, func(c *Config) {
		c.Embedding, c.OpenAIAPIKey, c.OpenAIBaseURL = "openai:e", "canary-sk-1", models
	})
	s.log.also.Store("canary")
	if err := s.serving.embed(t.Context(), io.Discard, newDisplay(io.Discard, time.Now), func(embedProgress) {}); err != nil {
		t.Fatal(err)
	}
	return s, fault
}

// faultyModels serves an embedder, which makes the fault of that name, and returns its address and what it was last asked for.
func faultyModels(t *testing.T) (url string, fault, input *atomic.Value) {
	t.Helper()
	fault, input = &atomic.Value{}, &atomic.Value{}
	fault.Store("")
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		_ = json.NewDecoder(io.LimitReader(r.Body, 4<<20)).Decode(&in)
		input.Store(strings.Join(in.Input, " "))
		w.Header().Set("Content-Type", "application/json")
		name := fault.Load().(string)
		if name == "" {
			var data []string
			for i := range in.Input {
				data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[1,0,0]}`, i))
			}
			fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":1}}`, strings.Join(data, ","))
			return
		}
		var status int
		if n, _ := fmt.Sscanf(name, "%d", &status); n == 1 {
			w.WriteHeader(status)
		}
		fmt.Fprint(w, faultyVectors[name])
	}))
	t.Cleanup(models.Close)
	return models.URL + "/v1", fault, input
}

// R4 for files and vector stores: whatever the embedder does, an uploaded file, a batch and their store reach an end, a
// search finds by words what they hold, and nothing tells of the key.
func TestR4_EveryFaultOfAnEmbedderEndsWellForFilesAndVectorStores(t *testing.T) {
	t.Parallel()
	for name := range faultyVectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			models, fault, input := faultyModels(t)
			p := startServe(t, nil, "--data", t.TempDir(), "--uploads-enabled", "true", "--embedding", "openai:e",
				"--openai-api-key", "canary-sk-1", "--openai-base-url", models)
			if err := awaitIngested(p.addr); err != nil {
				t.Fatal(err)
			}
			c := filesClient{t, "http://" + p.addr + "/v1"}
			sound := c.store(c.upload("before.md", "The lighthouse of Skagen is 46 metres tall."))
			asks := func(question string) bool {
				c.searches(sound, question, "46 metres")
				return strings.Contains(fmt.Sprint(input.Load()), question)
			}
			end := time.Now().Add(time.Minute)
			for n := 0; !asks(fmt.Sprintf("How tall is lighthouse %d?", n)); n++ { // the store has no vectors yet
				if time.Now().After(end) {
					t.Fatal("no search asks the embedder")
				}
				time.Sleep(20 * time.Millisecond)
			}
			fault.Store(name)
			if !asks("How tall is Skagen's lighthouse then?") {
				t.Error("the search did not ask the embedder")
			}
			late := c.store(c.upload("after.md", "The ferry of Hirtshals sails at noon."), c.upload("also.md", "The museum of Odense is shut on Mondays."))
			c.searches(late, "When does the ferry sail?", "noon")
			c.searches(late, "When is the museum shut?", "Mondays")
			if strings.Contains(p.stdout.String()+p.stderr.String(), "canary") {
				t.Errorf("a key is in the log: %s", p.stderr.String())
			}
		})
	}
}

// filesClient is a client of files and vector stores.
type filesClient struct {
	t   *testing.T
	url string
}

// call makes a request, which must succeed, and reads its answer.
func (c filesClient) call(method, path, contentType, body string, answer any) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(raw, answer) != nil || strings.Contains(string(raw), "canary") {
		c.t.Fatalf("%s %s: %d %s (%v)", method, path, res.StatusCode, raw, err)
	}
}

func (c filesClient) upload(name, text string) (id string) {
	c.t.Helper()
	const edge = "edge"
	form := "--" + edge + "\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n--" + edge +
		"\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + text + "\r\n--" + edge + "--\r\n"
	var file struct{ ID string }
	c.call(http.MethodPost, "/files", "multipart/form-data; boundary="+edge, form, &file)
	return file.ID
}

// store makes a vector store, adds the files as a batch, and waits until both are complete.
func (c filesClient) store(files ...string) (id string) {
	c.t.Helper()
	var store, batch struct {
		ID, Status string
		Counts     struct{ Completed int } `json:"file_counts"`
	}
	ids, _ := json.Marshal(files)
	c.call(http.MethodPost, "/vector_stores", "application/json", `{"name":"r4"}`, &store)
	path := "/vector_stores/" + store.ID
	c.call(http.MethodPost, path+"/file_batches", "application/json", `{"file_ids":`+string(ids)+`}`, &batch)
	for end := time.Now().Add(time.Minute); batch.Status == "in_progress" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c.call(http.MethodGet, path+"/file_batches/"+batch.ID, "", "", &batch)
	}
	c.call(http.MethodGet, path, "", "", &store)
	if batch.Status != "completed" || store.Status != "completed" || batch.Counts.Completed != len(files) || store.Counts.Completed != len(files) {
		c.t.Fatalf("the batch is %+v, the store %+v", batch, store)
	}
	return store.ID
}

// searches checks that the first passage which a question finds in a store has some words.
func (c filesClient) searches(store, question, words string) {
	c.t.Helper()
	var found struct {
		Data []struct{ Content []struct{ Text string } }
	}
	c.call(http.MethodPost, "/vector_stores/"+store+"/search", "application/json", fmt.Sprintf(`{"query":%q}`, question), &found)
	if len(found.Data) == 0 || !strings.Contains(found.Data[0].Content[0].Text, words) {
		c.t.Errorf("%q finds %+v", question, found)
	}
}

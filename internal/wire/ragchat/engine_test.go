package ragchat

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/prompt"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire/wiretest"
)

// kitchen has fakes of everything around a real engine. It records the requests that it receives.
type kitchen struct {
	mu      sync.Mutex
	queries []retrieval.Query
	calls   []modelCall
	ran     []chat.Request
	engine  *chat.Engine
	wrap    func(llm.Model) llm.Model // nil leaves models as they are
}

type modelCall struct {
	stage, key string
	llm.Request
}

func newKitchen(t *testing.T) *kitchen {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "legal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "legal", "answer.txt"), []byte("Answer like a lawyer."), 0o600); err != nil {
		t.Fatal(err)
	}
	prompts, err := prompt.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	k := &kitchen{}
	k.engine = chat.NewEngine(chat.Config{
		Retriever: k, Models: k, Tools: k, OnRequest: []string{webSearchTool}, Prompts: prompts,
		Defaults: chat.Options{Models: chat.Models{Inference: "test:usual"}},
	})
	return k
}

// Search returns the same result in every namespace but "empty".
func (k *kitchen) Search(_ context.Context, q retrieval.Query) (retrieval.Result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queries = append(k.queries, q)
	if q.Namespace == "empty" {
		return retrieval.Result{Mode: retrieval.Text}, nil
	}
	passages := slices.Clone(found.Passages)
	passages[0].Score = 0.55 // close enough to the next for reranking to change the order
	return retrieval.Result{Passages: passages[:min(len(passages), q.Limit)], Matched: 2, Mode: retrieval.Text}, nil
}

func (k *kitchen) ResolveFor(stage, key string) (llm.Model, string, error) {
	provider, name, _ := strings.Cut(key, ":")
	if provider != "test" {
		return nil, "", &llm.UnknownModelError{Key: key, Msg: fmt.Sprintf("There is no model %q.", key)}
	}
	if k.wrap != nil {
		return k.wrap(cook{k, stage, key}), name, nil
	}
	return cook{k, stage, key}, name, nil
}

func (k *kitchen) Offer(string) []llm.Tool {
	none := json.RawMessage(`{"type":"object"}`)
	return []llm.Tool{{Name: "calculator", Parameters: none}, {Name: webSearchTool, Parameters: none}}
}

func (k *kitchen) Call(context.Context, retrieval.Filter, llm.ToolCall) (string, []retrieval.Passage, error) {
	return "4421", nil, nil
}

func (k *kitchen) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	k.mu.Lock()
	k.ran = append(k.ran, *req)
	k.mu.Unlock()
	return k.engine.Run(ctx, req)
}

// cook is a model in one stage.
type cook struct {
	*kitchen
	stage, key string
}

func (c cook) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	c.mu.Lock()
	c.calls = append(c.calls, modelCall{c.stage, c.key, req})
	c.mu.Unlock()
	reply := llm.Chunk{Text: "Mount Whitney is **high** [peaks/whitney.pdf#page=2].", Model: c.key, FinishReason: "stop"}
	switch chat.Stage(c.stage) {
	case chat.StageRewrite:
		reply.Text = `{"query":"How high is Mount Whitney?","ambiguous":false,"confidence":0.7,"reason":"it"}`
		if strings.Contains(string(req.Schema), "clarification") {
			reply.Text = `{"query":"How high is it?","ambiguous":true,"confidence":0.7,"reason":"it","clarification":"Which mountain?"}`
		}
	case chat.StageSummarize:
		reply.Text = "They spoke of peaks."
	case chat.StageGenerate:
		if last := req.Messages[len(req.Messages)-1]; len(req.Tools) > 0 && last.Role != llm.ToolRole {
			reply = llm.Chunk{ToolCalls: []llm.ToolCall{{ID: "c1", Name: "calculator", Arguments: "{}"}}, FinishReason: "tool_calls"}
		}
	}
	reply.Usage = &llm.Usage{Input: 10, Output: 5}
	return func(yield func(llm.Chunk, error) bool) { yield(reply, nil) }
}

// effect is the result of a request.
type effect struct {
	*kitchen
	status int
	body   string
	sent   string // Content-Type
	answer map[string]any
	steps  string
}

// served runs a request with the given parameters.
func served(t *testing.T, params map[string]json.RawMessage, change ...func(*Config)) effect {
	t.Helper()
	k := newKitchen(t)
	b := &books{sessions: someSessions(), totals: map[ledger.AccountKey]ledger.Totals{
		{User: "u1"}: {Turns: 7}, {User: "u1", Conversation: "c1"}: {Turns: 8}, {User: "u2"}: {Turns: 9},
	}}
	h := handlerOf(k, b, func(c *Config) {
		c.Defaults = k.engine.Defaults()
		for _, f := range change {
			f(c)
		}
	})
	all := map[string]json.RawMessage{"query_id": json.RawMessage(`"q1"`), "user_id": json.RawMessage(`"u1"`)}
	maps.Copy(all, params)
	body, err := json.Marshal(map[string]any{"message": "How high is it?", "params": all, "history": talk(5)})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	serve(h).ServeHTTP(w, wiretest.Request(t, "POST /chat\nContent-Type: application/json\n\n"+string(body)))
	e := effect{kitchen: k, status: w.Code, body: w.Body.String(), sent: w.Header().Get("Content-Type"), steps: stepsText(h)}
	_ = json.Unmarshal(w.Body.Bytes(), &e.answer) // anything but an object leaves answer empty
	return e
}

// talk is a history of n turns.
func talk(n int) (all []map[string]string) {
	for i := range n {
		all = append(all,
			map[string]string{"role": "user", "content": fmt.Sprintf("Question %d of Mount Whitney?", i)},
			map[string]string{"role": "assistant", "content": fmt.Sprintf("Answer %d. %s", i, strings.Repeat("It is long. ", 30))})
	}
	return all
}

// call returns the last call in a stage, or an empty one if there was none.
func (e effect) call(s chat.Stage) (last modelCall) {
	for _, c := range e.calls {
		if c.stage == string(s) {
			last = c
		}
	}
	return last
}

// text returns the whole prompt of a call.
func (c modelCall) text() string {
	var b strings.Builder
	for _, m := range c.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text())
	}
	return b.String()
}

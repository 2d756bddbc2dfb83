package hardening

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/test/needs"
)

// pieces is a model whose answer and thoughts arrive in pieces.
type pieces struct {
	mu     sync.Mutex
	deltas []string
}

func (p *pieces) say(deltas []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deltas = deltas
}

func (p *pieces) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	p.mu.Lock()
	deltas := p.deltas
	p.mu.Unlock()
	return func(yield func(llm.Chunk, error) bool) {
		for _, d := range deltas {
			if !yield(llm.Chunk{Text: d, Reasoning: d}, nil) {
				return
			}
		}
		yield(llm.Chunk{FinishReason: "stop", Usage: &llm.Usage{Input: 1, Output: 1}}, nil)
	}
}

// rendering are requests whose answers are rendered in further ways.
var rendering = []protocol{
	{name: "web component", path: "/chat", body: "{" + question + `,"context":{"approach":"rrr","suggest_followup_questions":true},"stream":false}`, text: at("choices", "message", "content"), failed: sentence},
	{name: "web component stream", path: "/chat", body: "{" + question + `,"context":{"approach":"rrr","suggest_followup_questions":true},"stream":true}`, stream: lines, text: at("choices", "delta", "content"), failed: sentence},
	{name: "ragchat HTML", path: "/p/ragchat/chat", body: `{"message":"What is covered?","params":{"render_html":true,"show_sources":true}}`, text: at("response"), failed: detailed},
	{name: "follow-ups", path: "/p/azure-0529/chat", body: "{" + question + `,"context":{"overrides":{"suggest_followup_questions":true}}}`, text: at("message", "content"), failed: sentence},
}

// A model answers with random pieces of markup that fetches. PARLEY_SEQUENCES is the number of
// sequences; each protocol gets a tenth of a percent of them.
func TestRowS16_NoProtocolGivesOutWhatFetches(t *testing.T) {
	needs.Long(t)
	model := &pieces{}
	s := newStack(t, options{model: model})
	go func() { // so that the buffer never fills
		for {
			select {
			case <-s.saved:
			case <-t.Context().Done():
				return
			}
		}
	}()
	rounds, seed := 10, uint64(16)
	if n, err := strconv.Atoi(os.Getenv("PARLEY_SEQUENCES")); err == nil {
		rounds, seed = n/1000, rand.Uint64()
	}
	t.Logf("%d answers for each protocol with seed %d", rounds, seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range rounds {
		if i%100 == 99 {
			t.Logf("round %d", i+1)
		}
		for _, p := range append(rendering, protocols...) {
			answer := chattest.RandomAnswer(r, 12)
			if r.IntN(3) == 0 {
				answer += "\n<<" + chattest.RandomAnswer(r, 3) + ">> <<img src=//evil.example/f>>"
			}
			model.say(chattest.Cut(r, answer))
			out, err := s.ask(t.Context(), p)
			if err != nil || !out.completed {
				t.Fatalf("%s: %q: %v: %s", p.name, answer, err, out.raw)
			}
			texts := leavesOf(t, out.body)
			if !strings.HasPrefix(p.name, "chatui") { // there each event repeats all earlier text
				texts = append(texts, out.text)
			}
			for _, thoughts := range []string{"response.reasoning_summary_text.delta", "response.reasoning.delta", "reasoning-delta", "REASONING_MESSAGE_CONTENT"} {
				texts = append(texts, sumOf(t, out.body, delta(thoughts)))
			}
			for _, text := range texts {
				if found := chattest.Fetches(text); len(found) > 0 {
					t.Fatalf("%s: %q\n%q fetches %q", p.name, answer, text, found)
				}
			}
		}
	}
}

// leavesOf returns each string of a response that could fetch.
func leavesOf(t *testing.T, body string) (texts []string) {
	for v := range values(t, body) {
		texts = append(texts, stringsOf(v)...)
	}
	return texts
}

// sumOf joins the pieces that the events of a stream add.
func sumOf(t *testing.T, body string, piece func(map[string]any) string) string {
	var b strings.Builder
	for v := range values(t, body) {
		if object, ok := v.(map[string]any); ok {
			b.WriteString(piece(object))
		}
	}
	return b.String()
}

// values are the JSON values of a response, each on a line of its own.
func values(t *testing.T, body string) iter.Seq[any] {
	return func(yield func(any) bool) {
		for line := range strings.Lines(body) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
			if !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "[{") {
				continue
			}
			var v any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if !yield(v) {
				return
			}
		}
	}
}

func stringsOf(v any) (texts []string) {
	switch v := v.(type) {
	case string:
		if strings.ContainsAny(v, "<!") {
			return []string{v}
		}
	case []any:
		for _, e := range v {
			texts = append(texts, stringsOf(e)...)
		}
	case map[string]any:
		for _, e := range v {
			texts = append(texts, stringsOf(e)...)
		}
	}
	return texts
}

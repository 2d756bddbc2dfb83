package ollama

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// shown caches the server's descriptions of its models. A description expires, since a model can be
// replaced under its name.
type shown struct {
	mu     sync.Mutex
	models map[string]saying
}

type saying struct {
	family family
	known  bool // false if the server did not describe the model
	until  time.Time
}

const (
	maxShown  = 1000
	shownFor  = 5 * time.Minute
	showTime  = 5 * time.Second
	maxAnswer = 8 << 20 // bytes; the answer includes the model's licence and its vocabulary's settings
)

func (s *shown) get(model string) (family, bool) {
	said, ok := s.lookup(model)
	return said.family, ok && said.known
}

func (s *shown) lookup(model string) (saying, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	said, ok := s.models[model]
	return said, ok
}

func (s *shown) put(model string, said saying) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil || len(s.models) >= maxShown {
		s.models = map[string]saying{}
	}
	s.models[model] = said
}

// ask gets the description of a model with POST /api/show, unless it is cached. If that fails, the table
// is used and the request goes on.
func (p *Provider) ask(ctx context.Context, model string) {
	model = p.overrides.Like(model)
	now := time.Now()
	if said, ok := p.shown.lookup(model); ok && now.Before(said.until) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	f, err := p.show(ctx, model)
	if err != nil && ctx.Err() == nil {
		f, _ = p.shown.get(model)
	}
	p.shown.put(model, saying{family: f, known: err == nil, until: now.Add(shownFor)})
}

// show reads the description from https://docs.ollama.com/api-reference/show-model-details.
func (p *Provider) show(ctx context.Context, model string) (family, error) {
	body, err := json.Marshal(map[string]string{"model": llm.CleanName(model)})
	if err != nil {
		return family{}, err
	}
	answer, err := p.client.Post(ctx, upstream.Call{URL: p.base + "/api/show", Body: body, Failure: classify}, maxAnswer)
	if err != nil {
		return family{}, err
	}
	var w struct {
		Capabilities []string                   `json:"capabilities"`
		Parameters   string                     `json:"parameters"` // lines of a name and a value
		Model        map[string]json.RawMessage `json:"model_info"`
		Thinking     struct {
			Values []json.RawMessage `json:"values"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(answer, &w); err != nil {
		return family{}, err
	}
	if len(w.Capabilities) == 0 { // an older server
		f := familyOf(model)
		f.trained, f.loaded = contextLength(w.Model), numCtx(w.Parameters)
		return f, nil
	}
	f := family{Capabilities: takes, levels: familyOf(model).levels}
	f.trained, f.loaded = contextLength(w.Model), numCtx(w.Parameters)
	f.Vision = slices.Contains(w.Capabilities, "vision")
	f.Tools = slices.Contains(w.Capabilities, "tools")
	f.Effort = slices.Contains(w.Capabilities, "thinking")
	f.embeds = slices.Contains(w.Capabilities, "embedding")
	if len(w.Thinking.Values) > 0 {
		f.levels = slices.ContainsFunc(w.Thinking.Values, func(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' })
	}
	return f, nil
}

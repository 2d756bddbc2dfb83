package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
)

// usualContext is the context that a model is loaded with where nobody has said more of it. Ollama's own
// default is 4096 on most machines, which holds few sources, and it cuts off what is too long without a
// word. What the model could read is often more than fits into the memory of the machine.
const usualContext = 8192

// ContextSize implements llm.Sizer.
func (p *Provider) ContextSize(ctx context.Context, model string) int {
	p.ask(ctx, model)
	return p.family(model).window()
}

// window returns the context that a model is loaded with.
func (f family) window() int {
	if f.Context > 0 {
		return f.Context
	}
	if f.trained > 0 {
		return min(usualContext, f.trained)
	}
	return usualContext
}

// declares returns the context that is set for a model or for all, or else is what it says itself, and
// never more than it was trained for; 0 where nobody says anything.
func (p *Provider) declares(model string, f *family) int {
	set := 0
	if over := p.overrides[model].Context; over != nil {
		set = *over
	}
	size := cmp.Or(set, p.context, f.loaded)
	if size > 0 && f.trained > 0 {
		size = min(size, f.trained)
	}
	return size
}

// contextLength returns the "ARCHITECTURE.context_length" of a model, 0 when it has none.
func contextLength(info map[string]json.RawMessage) int {
	var architecture string
	_ = json.Unmarshal(info["general.architecture"], &architecture) // "" for none
	n, err := strconv.Atoi(string(info[architecture+".context_length"]))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// numCtx returns the parameter of that name, 0 when there is none.
func numCtx(parameters string) int {
	for line := range strings.Lines(parameters) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(strings.TrimSpace(value)); name == "num_ctx" && err == nil && n > 0 {
			return n
		}
	}
	return 0
}

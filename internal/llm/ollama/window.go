package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
)

// usualContext is the context size of a model for which none is set. Ollama's own default is 4096 on
// most machines, which leaves room for few sources, and it silently truncates longer prompts. The
// maximum of a model often exceeds the memory of the machine.
const usualContext = 8192

// ContextSize implements llm.Sizer.
func (p *Provider) ContextSize(ctx context.Context, model string) int {
	p.ask(ctx, model)
	return p.family(model).window()
}

// window returns the context size with which a model is loaded.
func (f family) window() int {
	if f.Context > 0 {
		return f.Context
	}
	if f.trained > 0 {
		return min(usualContext, f.trained)
	}
	return usualContext
}

// declares returns the context size that is set for the model, or else the one in the model's own
// parameters, but at most the model's maximum; 0 if none is set.
func (p *Provider) declares(model string, f *family) int {
	set := 0
	if over := p.overrides[model].Context; over != nil {
		set = *over
	}
	size := cmp.Or(set, f.loaded)
	if size > 0 && f.trained > 0 {
		size = min(size, f.trained)
	}
	return size
}

// contextLength returns the "ARCHITECTURE.context_length" of a model, or 0.
func contextLength(info map[string]json.RawMessage) int {
	var architecture string
	_ = json.Unmarshal(info["general.architecture"], &architecture) // stays "" if absent
	n, err := strconv.Atoi(string(info[architecture+".context_length"]))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// numCtx returns the parameter num_ctx, or 0.
func numCtx(parameters string) int {
	for line := range strings.Lines(parameters) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(strings.TrimSpace(value)); name == "num_ctx" && err == nil && n > 0 {
			return n
		}
	}
	return 0
}

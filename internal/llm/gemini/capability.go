package gemini

import (
	"strings"

	"parley/internal/llm"
)

// family describes the models whose names begin alike.
type family struct {
	name string
	llm.Capabilities
	think bool // it can return its thoughts, and thoughts count towards maxOutputTokens
	// The amount of thinking by effort, in tokens or as a word.
	budgets map[string]int
	levels  map[string]string
	both    bool // accepts tools and a schema in one request
}

var (
	takes = llm.Capabilities{
		Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 1_048_576,
	}
	thinks = llm.Capabilities{
		Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 1_048_576, Effort: true,
	}
)

// The values that Google's own OpenAI-compatible endpoint uses for an effort:
// https://ai.google.dev/gemini-api/docs/openai#thinking
var (
	budgets   = map[string]int{"minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
	allLevels = map[string]string{"minimal": "minimal", "low": "low", "medium": "medium", "high": "high"}
	three     = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
	two       = map[string]string{"minimal": "low", "low": "low", "medium": "high", "high": "high"}
)

// families lists the known models; the longest matching name counts.
//
//   - https://ai.google.dev/gemini-api/docs/models
//   - https://ai.google.dev/gemini-api/docs/thinking for budgets and levels
//   - https://ai.google.dev/gemini-api/docs/structured-output for tools beside a schema, which only
//     Gemini 3 and later take
var families = []family{
	{name: "gemini-1.5", Capabilities: takes},
	{name: "gemini-2.0", Capabilities: takes},
	{name: "gemini-2.5", Capabilities: thinks, think: true, budgets: budgets},
	{name: "gemini-3", Capabilities: thinks, think: true, levels: three, both: true},
	{name: "gemini-3-pro", Capabilities: thinks, think: true, levels: two, both: true},
	{name: "gemini-3-flash", Capabilities: thinks, think: true, levels: allLevels, both: true},
}

// newest is the family that stands for unknown models.
const newest = "gemini-3"

// Capabilities implements llm.Describer.
func (p *Provider) Capabilities(model string) llm.Capabilities { return p.family(model).Capabilities }

func (p *Provider) family(model string) family {
	f := familyOf(strings.TrimPrefix(p.overrides.Like(model), "models/"))
	f.Capabilities = p.overrides.Apply(model, f.Capabilities)
	return f
}

func familyOf(model string) family {
	var found, last family
	for _, f := range families {
		if llm.InFamily(model, f.name) && len(f.name) > len(found.name) {
			found = f
		}
		if f.name == newest {
			last = f
		}
	}
	if found.name == "" {
		return last
	}
	return found
}

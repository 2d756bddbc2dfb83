package gemini

import (
	"strings"

	"parley/internal/llm"
)

// family is what the models take whose names begin alike.
type family struct {
	name string
	llm.Capabilities
	think bool // can be asked for its thoughts; thoughts count towards maxOutputTokens
	// How long to think is said in tokens or in a word, by effort.
	budgets map[string]int
	levels  map[string]string
	both    bool // takes tools and a schema in one request
}

var (
	takes = llm.Capabilities{
		Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 1_048_576,
	}
	thinks = llm.Capabilities{
		Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true, Context: 1_048_576, Effort: true,
	}
)

// What Google's own OpenAI-compatible endpoint makes of an effort:
// https://ai.google.dev/gemini-api/docs/openai#thinking
var (
	budgets   = map[string]int{"minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
	allLevels = map[string]string{"minimal": "minimal", "low": "low", "medium": "medium", "high": "high"}
	three     = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
	two       = map[string]string{"minimal": "low", "low": "low", "medium": "high", "high": "high"}
)

// families are the models there are; the longest name that fits counts.
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

// newest is the family of models that are not known.
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

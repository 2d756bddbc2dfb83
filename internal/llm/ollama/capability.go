package ollama

import (
	"encoding/json"
	"strings"

	"parley/internal/llm"
)

// family describes the models whose names begin alike.
type family struct {
	name string
	llm.Capabilities
	levels bool // the amount of thinking is a word, not true
	embeds bool

	trained int // maximum context in tokens; 0 if unknown
	loaded  int // context in tokens according to the model's parameters; 0 if not set
}

// takes has the capabilities of nearly all models. Ollama itself enforces schemas.
var takes = llm.Capabilities{Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true}

func but(change func(*llm.Capabilities)) llm.Capabilities {
	c := takes
	change(&c)
	return c
}

func sees(c *llm.Capabilities)       { c.Vision = true }
func seesAlone(c *llm.Capabilities)  { c.Vision, c.Tools = true, false }
func thinks(c *llm.Capabilities)     { c.Effort = true }
func thinksSees(c *llm.Capabilities) { c.Effort, c.Vision = true, true }
func talks(c *llm.Capabilities)      { c.Tools = false }

// families lists the models that differ from the others according to Ollama's library; the longest
// matching name counts. A model that cannot think, or call tools, refuses a request for it.
//
//   - https://ollama.com/search?c=vision, and the same with tools and thinking
//   - https://docs.ollama.com/capabilities/thinking
var families = []family{
	{name: "gpt-oss", Capabilities: but(thinks), levels: true},
	{name: "qwen3", Capabilities: but(thinks)},
	{name: "qwen3-coder", Capabilities: takes},
	{name: "qwen3-vl", Capabilities: but(thinksSees)},
	{name: "deepseek-r1", Capabilities: but(thinks)},
	{name: "deepseek-v3.1", Capabilities: but(thinks)},
	{name: "magistral", Capabilities: but(thinks)},
	{name: "llava", Capabilities: but(seesAlone)},
	{name: "bakllava", Capabilities: but(seesAlone)},
	{name: "moondream", Capabilities: but(seesAlone)},
	{name: "minicpm-v", Capabilities: but(seesAlone)},
	{name: "llama3.2-vision", Capabilities: but(seesAlone)},
	{name: "llama4", Capabilities: but(sees)},
	{name: "qwen2.5vl", Capabilities: but(seesAlone)},
	{name: "mistral-small3.1", Capabilities: but(sees)},
	{name: "mistral-small3.2", Capabilities: but(sees)},
	{name: "gemma", Capabilities: but(talks)},
	{name: "gemma2", Capabilities: but(talks)},
	{name: "gemma3", Capabilities: but(seesAlone)},
	{name: "gemma4", Capabilities: but(thinksSees)},
	{name: "llama2", Capabilities: but(talks)},
	{name: "llama3", Capabilities: but(talks)},
	{name: "llama3.1", Capabilities: takes},
	{name: "llama3.2", Capabilities: takes},
	{name: "llama3.3", Capabilities: takes},
	{name: "phi3", Capabilities: but(talks)},
	{name: "phi4", Capabilities: but(talks)},
	{name: "phi4-mini", Capabilities: takes},
}

// Capabilities implements llm.Describer.
func (p *Provider) Capabilities(model string) llm.Capabilities { return p.family(model).Capabilities }

// family returns the family of a model, from the server if it has described the model, and otherwise
// from the table.
func (p *Provider) family(model string) family {
	like := p.overrides.Like(model)
	f, ok := p.shown.get(like)
	if !ok {
		f = familyOf(like)
	}
	f.Capabilities = p.overrides.Apply(model, f.Capabilities)
	f.Context = p.declares(model, &f)
	return f
}

func familyOf(model string) family {
	if slash := strings.LastIndexByte(model, '/'); slash >= 0 { // from another library
		model = model[slash+1:]
	}
	found := family{Capabilities: takes}
	for _, f := range families {
		if llm.InFamily(model, f.name) && len(f.name) > len(found.name) {
			found = f
		}
	}
	return found
}

// think returns the setting of the request, or nil if there is none to send.
func (f *family) think(effort string) json.RawMessage {
	switch {
	case effort == "":
		return nil
	case !f.levels:
		return json.RawMessage("true")
	case effort == "minimal":
		effort = "low"
	}
	return json.RawMessage(`"` + effort + `"`)
}

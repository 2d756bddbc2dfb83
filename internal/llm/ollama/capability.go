package ollama

import (
	"encoding/json"
	"strings"

	"parley/internal/llm"
)

// family is what the models take whose names begin alike.
type family struct {
	name string
	llm.Capabilities
	levels bool // how long to think is said in words, not by true
	embeds bool

	trained int // the most that the model can be loaded with, in tokens; 0 when that is not known
	loaded  int // what the model says it is to be loaded with; 0 when it does not
}

// takes is what nearly all models take. Ollama itself holds a model to a schema.
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

// families are those of which Ollama's library says that they take more or less than others; the
// longest name that fits counts. Models can be told to think, or to call tools, only if they can;
// others refuse the request.
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

// family returns what a model takes: what the server has said of it, else what the table says.
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
	if slash := strings.LastIndexByte(model, '/'); slash >= 0 { // of another library
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

// think returns nil where nothing is to be said: the model does not think, or does as it likes.
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

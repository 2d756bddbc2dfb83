package openai

import (
	"net/url"
	"slices"
	"strings"

	"parley/internal/llm"
)

// family describes the models whose names begin alike.
type family struct {
	name string
	llm.Capabilities

	// reasons means that reasoning counts towards the limit, which must be named max_completion_tokens
	// instead of max_tokens.
	reasons bool
	minimal bool // accepts the effort "minimal"
}

var (
	chats   = llm.Capabilities{Tools: true, Temperature: true, TopP: true, Stop: true}
	sees    = llm.Capabilities{Vision: true, Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true}
	thinks  = llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true}
	adapts  = llm.Capabilities{Vision: true, Tools: true, Schema: true} // reasons as it likes
	blindly = llm.Capabilities{Tools: true, Schema: true, Effort: true}
)

// families lists the models that OpenAI serves; the longest matching name counts.
//
//   - https://developers.openai.com/api/docs/models for images, tools, schemas and contexts
//   - https://developers.openai.com/api/docs/guides/reasoning for efforts, and that models that
//     reason refuse max_tokens, and any temperature and top_p but their own
//   - https://platform.openai.com/docs/api-reference/chat/create#chat-create-stop for stop, which
//     models that reason refuse
var families = []family{
	{name: "gpt-3.5", Capabilities: sized(chats, 16_385)},
	{name: "gpt-4", Capabilities: sized(chats, 8192)},
	{name: "gpt-4-turbo", Capabilities: sized(sees, 128_000, withoutSchema)},
	{name: "gpt-4o", Capabilities: sized(sees, 128_000)},
	{name: "chatgpt-4o", Capabilities: sized(sees, 128_000, withoutSchema, withoutTools)},
	{name: "gpt-4.1", Capabilities: sized(sees, 1_047_576)},
	{name: "o1", Capabilities: sized(thinks, 200_000), reasons: true},
	{name: "o3", Capabilities: sized(thinks, 200_000), reasons: true},
	{name: "o3-mini", Capabilities: sized(blindly, 200_000), reasons: true},
	{name: "o4", Capabilities: sized(thinks, 200_000), reasons: true},
	{name: "gpt-5", Capabilities: sized(thinks, 400_000), reasons: true, minimal: true},
	{name: "gpt-5-chat", Capabilities: sized(sees, 128_000)},
	{name: "gpt-5.1", Capabilities: sized(thinks, 400_000), reasons: true},
	{name: "gpt-5.1-chat", Capabilities: sized(adapts, 128_000), reasons: true},
	{name: "gpt-5.2", Capabilities: sized(thinks, 400_000), reasons: true},
	{name: "gpt-5.2-chat", Capabilities: sized(adapts, 128_000), reasons: true},
	{name: "gpt-5.3", Capabilities: sized(thinks, 400_000), reasons: true},
	{name: "gpt-5.3-chat", Capabilities: sized(adapts, 128_000), reasons: true},
	{name: "gpt-5.4", Capabilities: thinks, reasons: true},
	{name: "gpt-5.5", Capabilities: thinks, reasons: true},
	{name: "gpt-5.6", Capabilities: thinks, reasons: true},
	{name: newest, Capabilities: thinks, reasons: true},
	{name: "gpt-oss", Capabilities: llm.Capabilities{
		Tools: true, Schema: true, Effort: true, Temperature: true, TopP: true, Stop: true, Context: 131_072,
	}},
	// Other entries of the list of models, which do not make completions.
	{name: "text-embedding"}, {name: "text-moderation"}, {name: "omni-moderation"}, {name: "whisper"}, {name: "tts"},
	{name: "dall-e"}, {name: "gpt-image"}, {name: "gpt-audio"}, {name: "gpt-realtime"}, {name: "sora"}, {name: "davinci"}, {name: "babbage"},
}

// newest stands for OpenAI's own unknown models.
const newest = "gpt-6"

func withoutSchema(c *llm.Capabilities) { c.Schema = false }
func withoutTools(c *llm.Capabilities)  { c.Tools = false }

func sized(c llm.Capabilities, context int, but ...func(*llm.Capabilities)) llm.Capabilities {
	for _, change := range but {
		change(&c)
	}
	c.Context = context
	return c
}

// server describes how a kind of server differs from OpenAI's own.
type server struct {
	llm.Capabilities      // of models that are in no family
	noUsageOption    bool // refuses stream_options, but reports the usage anyway
}

// servers are keyed by host. Other servers are assumed to serve open models with their usual
// capabilities, as vLLM, llama.cpp and LM Studio do.
var servers = map[string]server{
	// https://docs.mistral.ai/api/endpoint/chat; of the options https://github.com/avante-corp/avante.nvim/issues/2347
	"api.mistral.ai": {Capabilities: open(), noUsageOption: true},
	// https://api-docs.deepseek.com/guides/json_mode: an object, but by no schema
	"api.deepseek.com": {Capabilities: open(withoutSchema)},
	// https://console.groq.com/docs/structured-outputs: few models follow a schema
	"api.groq.com": {Capabilities: open(withoutSchema)},
}

func open(but ...func(*llm.Capabilities)) llm.Capabilities {
	return sized(llm.Capabilities{Tools: true, Schema: true, Temperature: true, TopP: true, Stop: true}, 0, but...)
}

func serverAt(base *url.URL) server {
	if s, ok := servers[base.Hostname()]; ok {
		return s
	}
	return server{Capabilities: open()}
}

// Capabilities implements llm.Describer.
func (p *Provider) Capabilities(model string) llm.Capabilities { return p.family(model).Capabilities }

// family returns the family of a model, with the configured corrections.
func (p *Provider) family(model string) family {
	f := p.declared(p.cfg.Overrides.Like(model))
	if slices.Contains(p.cfg.Reasoning, model) && !f.reasons {
		f.reasons, f.Effort, f.Temperature, f.TopP, f.Stop = true, true, false, false, false
	}
	f.Capabilities = p.cfg.Overrides.Apply(model, f.Capabilities)
	return f
}

func (p *Provider) declared(model string) family {
	if f, ok := familyOf(model); ok {
		return f
	}
	if p.cfg.Unknown != "" {
		model = p.cfg.Unknown
	} else if p.own {
		model = newest
	}
	if f, ok := familyOf(model); ok {
		return f
	}
	return family{Capabilities: p.server.Capabilities}
}

func familyOf(model string) (family, bool) {
	if tuned, ok := strings.CutPrefix(model, "ft:"); ok { // ft:gpt-4o-mini:my-org::id
		model = tuned
	}
	var found family
	for _, f := range families {
		if llm.InFamily(model, f.name) && len(f.name) > len(found.name) {
			found = f
		}
	}
	return found, found.name != ""
}

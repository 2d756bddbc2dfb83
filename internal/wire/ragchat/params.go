package ragchat

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/wire"
)

// params is what the parameters of a request say that is not for the engine.
type params struct {
	queryID     string
	showSteps   bool
	showSources bool
	renderHTML  bool
	stream      bool
	webSearch   bool
	pictures    pictures
	keys        []string // the names of all parameters that were sent
}

// The limits of parameters.
const (
	maxTop          = 50
	maxTemperature  = 2
	maxOutputTokens = 32_768
	maxTurns        = 1000
	maxSummaryIn    = 100_000
	maxSummaryOut   = 4000
	maxName         = 256 // bytes
	// leastTopP stands for a top_p of 0, in which 0 would mean the provider's default: a nucleus of
	// this size holds the likeliest token only.
	leastTopP = 1e-6
)

// overlay applies parameters to the defaults.
func (h *Handler) overlay(x *exchange, settings wire.Object) error {
	h.useDefaults(x)
	for key, v := range settings.Members() {
		x.keys = append(x.keys, clip(key, 40))
		set, known := paramTable[key]
		if !known {
			set, known = overrideTable[key]
		}
		if !known || v.IsNull() {
			continue
		}
		if want := set(x, v); want != "" {
			return &fieldError{"params." + key, want}
		}
	}
	// The name of a parameter wins over its alias, and a switch over what models imply, whatever the order.
	for name, set := range map[string]setter{"namespace": setNamespace, "semantic_ranker": overrideTable["semantic_ranker"]} {
		if v, _ := settings.Get(name); isGiven(v) {
			if want := set(x, v); want != "" {
				return &fieldError{"params." + name, want}
			}
		}
	}
	x.pictures.apply(&x.req.Options)
	return nil
}

// setter applies a parameter. It returns "" or what the value should have been.
type setter func(x *exchange, v wire.Value) string

func (h *Handler) useDefaults(x *exchange) {
	d := &h.cfg.Defaults
	x.showSteps, x.showSources, x.renderHTML, x.webSearch = d.ShowSteps, d.ShowSources, d.RenderHTML, d.UseWebSearch
	o := h.cfg.Engine
	o.FollowUps = false // the API has no place for them
	o.Top, o.MinScore = d.TopK, d.ScoreThreshold
	o.Temperature, o.TopP, o.MaxOutputTokens = d.Temperature, d.TopP, d.MaxOutputTokens
	o.Effort, o.UseTools = d.ReasoningEffort, d.UseTools
	o.Rewrite = chat.RewriteOptions{
		Off: !d.EnableRewrite, Threshold: d.RewriteThreshold, Turns: turns(d.RewriteTailTurns),
		Gist: d.RewriteSummaryTurns, Clarify: d.Clarify,
	}
	o.Summary = chat.SummaryOptions{Turns: turns(d.RawTailTurns), Input: d.SummarizerInput, Output: d.SummarizerOutput}
	o.Rerank = o.Models.Rerank != "" // where one is configured
	x.req.Options = o
}

func turns(n int) int {
	if n == 0 {
		return chat.NoTurns
	}
	return n
}

// paramTable has what each parameter does. One that is neither here nor in overrideTable is ignored,
// and null means the default.
var paramTable = map[string]setter{
	"top_k": func(x *exchange, v wire.Value) string {
		return setCount(&x.req.Options.Top, v, 1, maxTop)
	},
	"score_threshold": func(x *exchange, v wire.Value) string {
		return setNumber(&x.req.Options.MinScore, v, 1)
	},
	"namespace":     setNamespace,
	"active_domain": setNamespace,
	"raw_tail_turns": func(x *exchange, v wire.Value) string {
		return setTurns(&x.req.Options.Summary.Turns, v)
	},
	"summarizer_max_input_tokens": func(x *exchange, v wire.Value) string {
		return setCount(&x.req.Options.Summary.Input, v, 1, maxSummaryIn)
	},
	"summarizer_max_output_tokens": func(x *exchange, v wire.Value) string {
		return setCount(&x.req.Options.Summary.Output, v, 1, maxSummaryOut)
	},
	"temperature": func(x *exchange, v wire.Value) string {
		return setNumber(&x.req.Options.Temperature, v, maxTemperature)
	},
	"top_p": func(x *exchange, v wire.Value) string {
		want := setNumber(&x.req.Options.TopP, v, 1)
		x.req.Options.TopP = max(x.req.Options.TopP, leastTopP)
		return want
	},
	"max_output_tokens": func(x *exchange, v wire.Value) string {
		return setCount(&x.req.Options.MaxOutputTokens, v, 1, maxOutputTokens)
	},
	"render_html": func(x *exchange, v wire.Value) string { return setBool(&x.renderHTML, v) },
	"enable_query_rewrite": func(x *exchange, v wire.Value) string {
		on := true
		want := setBool(&on, v)
		x.req.Options.Rewrite.Off = !on
		return want
	},
	"rewrite_confidence_threshold": func(x *exchange, v wire.Value) string {
		return setNumber(&x.req.Options.Rewrite.Threshold, v, 1)
	},
	"rewrite_summary_turns": func(x *exchange, v wire.Value) string {
		return setCount(&x.req.Options.Rewrite.Gist, v, 0, maxTurns)
	},
	"clarify":          func(x *exchange, v wire.Value) string { return setBool(&x.req.Options.Rewrite.Clarify, v) },
	"use_tools":        func(x *exchange, v wire.Value) string { return setBool(&x.req.Options.UseTools, v) },
	"reasoning_effort": setEffort,
	"rewrite_tail_turns": func(x *exchange, v wire.Value) string {
		return setTurns(&x.req.Options.Rewrite.Turns, v)
	},
	"model_keys":            setModels,
	"use_web_search":        func(x *exchange, v wire.Value) string { return setBool(&x.webSearch, v) },
	"show_sources":          func(x *exchange, v wire.Value) string { return setBool(&x.showSources, v) },
	"show_processing_steps": func(x *exchange, v wire.Value) string { return setBool(&x.showSteps, v) },
	"stream":                func(x *exchange, v wire.Value) string { return setBool(&x.stream, v) },
	"prompt_domain": func(x *exchange, v wire.Value) string {
		return setName(&x.req.Options.PromptDomain, v)
	},
	"query_id": func(x *exchange, v wire.Value) string {
		x.queryID = ""
		return setName(&x.queryID, v)
	},
	"conversation_id": func(x *exchange, v wire.Value) string { return setName(&x.req.Account.Conversation, v) },
	"user_id":         func(x *exchange, v wire.Value) string { return setName(&x.req.Account.User, v) },
}

// queryIDOf returns the query id, "" when there is none that can be used.
func queryIDOf(settings wire.Object) (id string) {
	v, _ := settings.Get("query_id")
	if !isGiven(v) || setName(&id, v) != "" {
		return ""
	}
	return id
}

// setNamespace keeps the server's namespace for a name that is empty.
func setNamespace(x *exchange, v wire.Value) string {
	name := ""
	if want := setName(&name, v); want != "" {
		return want
	}
	if name != "" {
		x.req.Namespace = name
	}
	return ""
}

// setModels reads the models of the five stages; whether there is such a model, the engine decides.
func setModels(x *exchange, v wire.Value) string {
	const want = "an object of stages, each with a model such as openai:gpt-4o-mini"
	keys, ok := v.Object()
	if !ok {
		return want
	}
	m := &x.req.Options.Models
	stages := map[string]*string{
		"inference": &m.Inference, "rewrite": &m.Rewrite, "rerank": &m.Rerank, "summary": &m.Summary,
		"tools_synth": &m.Synthesis,
	}
	for stage, key := range keys.Members() {
		to, known := stages[stage]
		if !known || key.IsNull() {
			continue
		}
		name, ok := key.Text()
		if !ok {
			return want
		}
		if name != "" {
			*to = name
		}
	}
	x.req.Options.Rerank = m.Rerank != "" // who names a reranker wants it
	return ""
}

// setEffort takes how long a model that reasons is to do so; models that do not ignore it.
func setEffort(x *exchange, v wire.Value) string {
	effort, _ := v.Text()
	effort = strings.ToLower(strings.TrimSpace(effort))
	switch effort {
	case "", "minimal", "low", "medium", "high":
		x.req.Options.Effort = effort
		return ""
	}
	return `"minimal", "low", "medium" or "high"`
}

// setName takes a string, or a number, which clients send for ids.
func setName(to *string, v wire.Value) string {
	text, ok := v.Text()
	if _, number := v.Number(); !ok && number {
		text, ok = string(v), true
	}
	if !ok || len(text) > maxName || !utf8.ValidString(text) {
		return "a string of at most 256 bytes"
	}
	*to = strings.TrimSpace(text)
	return ""
}

// setCount takes a whole number that is not too small; one that is too large becomes the largest.
func setCount(to *int, v wire.Value, least, most int) string {
	n, ok := v.Number()
	if !ok || n != math.Trunc(n) || n < float64(least) {
		if least == 1 {
			return "a whole number over 0"
		}
		return "a whole number"
	}
	*to = int(min(n, float64(most)))
	return ""
}

func setTurns(to *int, v wire.Value) string {
	if want := setCount(to, v, 0, maxTurns); want != "" {
		return want
	}
	*to = turns(*to)
	return ""
}

func setNumber(to *float64, v wire.Value, most float64) string {
	n, ok := v.Number()
	if !ok || n < 0 || n > most {
		if most == 1 {
			return "a number from 0 to 1"
		}
		return "a number from 0 to 2"
	}
	*to = n
	return ""
}

func setBool(to *bool, v wire.Value) string {
	b, ok := boolOf(v)
	if !ok {
		return "true or false"
	}
	*to = b
	return ""
}

// boolOf takes true and false, and as strings, since the values of forms are strings.
func boolOf(v wire.Value) (value, ok bool) {
	if text, isText := v.Text(); isText {
		text = strings.ToLower(strings.TrimSpace(text))
		yes := slices.Contains([]string{"true", "1", "yes"}, text)
		return yes, yes || slices.Contains([]string{"false", "0", "no"}, text)
	}
	return v.Bool()
}

package ragchat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// params holds the parameters of a request that are not for the engine.
type params struct {
	queryID  string
	stream   bool
	pictures pictures
	only     []string // ids of the documents to search; nil for all
}

// overlay applies parameters to the defaults.
func (h *Handler) overlay(x *exchange, settings wire.Object) error {
	h.useDefaults(x)
	for key, v := range settings.Members() {
		if v.IsNull() {
			continue
		}
		if want := x.set(key, v); want != "" {
			return &fieldError{"params." + key, want}
		}
	}
	// In any order, namespace takes precedence over its alias active_domain, and semantic_ranker over what
	// model_keys implies.
	for _, name := range []string{"namespace", "semantic_ranker"} {
		if v, _ := settings.Get(name); v.IsGiven() {
			if want := x.set(name, v); want != "" {
				return &fieldError{"params." + name, want}
			}
		}
	}
	x.pictures.apply(&x.req.Options)
	return nil
}

// set applies a parameter, and ignores an unknown one. It returns "", or a description of valid values.
func (x *exchange) set(key string, v wire.Value) string {
	for _, table := range []map[string]setter{paramTable, overrideTable} {
		if set, ok := table[key]; ok {
			return set(x, v)
		}
	}
	if i := slices.IndexFunc(named, func(n wire.Named) bool { return n.Name == key }); i >= 0 {
		return named[i].SetLoosely(&x.req.Options, v)
	}
	return ""
}

// named lists the parameters that are options of a turn: first those of the API itself, in the order of
// a form, then the overrides of the AI Chat Protocol for which the API has no parameter, under their
// names there. These are an extension, so that a request can set everything that the engine supports.
var named = append(slices.Clip(ownOptions), []wire.Named{
	{Name: "retrieval_mode", Option: wire.Mode},
	{Name: "semantic_ranker", Option: wire.Rerank},
	{Name: "semantic_captions", Option: wire.Captions},
	{Name: "minimum_reranker_score", Option: wire.MinRerankScore},
	{Name: "include_category", Option: wire.IncludeCategory},
	{Name: "exclude_category", Option: wire.ExcludeCategory},
	{Name: "filter", Option: wire.Where}, {Name: "filters", Option: wire.Where},
	{Name: "suggest_followup_questions", Option: wire.FollowUps},
	{Name: "prompt_template", Option: wire.PromptTemplate},
}...)

var ownOptions = []wire.Named{
	{Name: "top_k", Option: wire.Top},
	{Name: "score_threshold", Option: wire.MinScore},
	{Name: "temperature", Option: wire.Temperature},
	{Name: "top_p", Option: wire.TopP},
	{Name: "max_output_tokens", Option: wire.MaxOutputTokens},
	{Name: "reasoning_effort", Option: wire.Effort},
	{Name: "enable_query_rewrite", Option: wire.Rewrite},
	{Name: "rewrite_confidence_threshold", Option: wire.RewriteThreshold},
	{Name: "rewrite_tail_turns", Option: wire.RewriteTurns},
	{Name: "rewrite_summary_turns", Option: wire.RewriteGist},
	{Name: "clarify", Option: wire.Clarify},
	{Name: "raw_tail_turns", Option: wire.SummaryTurns},
	{Name: "summarizer_max_input_tokens", Option: wire.SummaryInput},
	{Name: "summarizer_max_output_tokens", Option: wire.SummaryOutput},
	{Name: "use_tools", Option: wire.UseTools},
}

func (h *Handler) useDefaults(x *exchange) {
	d := &h.cfg.Parameters
	x.showSteps, x.showSources, x.renderHTML, x.webSearch = d.ShowSteps, d.ShowSources, d.RenderHTML, d.UseWebSearch
	x.req.Options = h.cfg.Defaults
	d.apply(&x.req.Options)
}

// apply copies the defaults into options.
func (d *Defaults) apply(o *chat.Options) {
	o.FollowUps = false // the API has no field for them
	o.Top, o.MinScore = d.TopK, d.ScoreThreshold
	o.Temperature, o.TopP, o.MaxOutputTokens = d.Temperature, d.TopP, d.MaxOutputTokens
	o.Effort, o.UseTools = d.ReasoningEffort, d.UseTools
	o.Rewrite = chat.RewriteOptions{
		Off: !d.EnableRewrite, Threshold: d.RewriteThreshold, Turns: turns(d.RewriteTailTurns),
		Gist: d.RewriteSummaryTurns, Clarify: d.Clarify,
	}
	o.Summary = chat.SummaryOptions{Turns: turns(d.RawTailTurns), Input: d.SummarizerInput, Output: d.SummarizerOutput}
	o.Rerank = o.Models.Rerank != "" // if one is configured
}

func turns(n int) int {
	if n == 0 {
		return chat.NoTurns
	}
	return n
}

// setter applies a parameter. It returns "", or a description of valid values.
type setter func(x *exchange, v wire.Value) string

// paramTable has the parameters that do not correspond to one option.
var paramTable = map[string]setter{
	"namespace":             setNamespace,
	"active_domain":         setNamespace,
	"render_html":           func(x *exchange, v wire.Value) string { return setBool(&x.renderHTML, v) },
	"model_keys":            setModels,
	"use_web_search":        func(x *exchange, v wire.Value) string { return setBool(&x.webSearch, v) },
	"show_sources":          func(x *exchange, v wire.Value) string { return setBool(&x.showSources, v) },
	"show_processing_steps": func(x *exchange, v wire.Value) string { return setBool(&x.showSteps, v) },
	"documents":             setDocuments,
	"stream":                func(x *exchange, v wire.Value) string { return setBool(&x.stream, v) },
	"prompt_domain":         func(x *exchange, v wire.Value) string { return setName(&x.req.Options.PromptDomain, v) },
	"query_id": func(x *exchange, v wire.Value) string {
		x.queryID = ""
		return setName(&x.queryID, v)
	},
	"conversation_id": func(x *exchange, v wire.Value) string { return setName(&x.req.Account.Conversation, v) },
	"user_id":         func(x *exchange, v wire.Value) string { return setName(&x.req.Account.User, v) },
}

// queryIDOf returns the query id, or "" if there is no valid one.
func queryIDOf(settings wire.Object) (id string) {
	v, _ := settings.Get("query_id")
	if !v.IsGiven() || setName(&id, v) != "" {
		return ""
	}
	return id
}

// setNamespace sets the namespace. An empty name keeps the server's.
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

// maxDocuments is the maximum number of documents that a request may name.
const maxDocuments = 100

func setDocuments(x *exchange, v wire.Value) string {
	elements, ok := v.Elements()
	if !ok {
		return documentsWanted
	}
	x.only = []string{}
	for e := range elements {
		id := ""
		if want := setName(&id, e); want != "" || len(x.only) == maxDocuments {
			return documentsWanted
		}
		x.only = append(x.only, id)
	}
	return ""
}

var documentsWanted = fmt.Sprintf("a list of at most %d document ids", maxDocuments)

// confine limits the search to the documents that the request names, if it names any. It ignores documents that do not
// exist or that the caller may not see.
func (h *Handler) confine(ctx context.Context, x *exchange) error {
	if x.only == nil {
		return nil
	}
	f := retrieval.Filter{Principal: x.req.Principal, Namespace: x.req.Namespace}
	revisions := []int64{}
	for _, id := range x.only {
		if h.cfg.DocumentByID == nil {
			break
		}
		d, err := h.cfg.DocumentByID(ctx, f, id)
		if err != nil && !errors.Is(err, retrieval.ErrNotFound) {
			return fmt.Errorf("look up a document to search: %w", err)
		}
		if err == nil {
			revisions = append(revisions, d.Revision)
		}
	}
	x.req.Within = retrieval.NewRevisions(revisions)
	return nil
}

// setModels reads the models of the five stages. The engine checks whether they exist.
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
	x.req.Options.Rerank = m.Rerank != "" // naming a reranker asks for reranking
	return ""
}

// setName reads a string, or a number, because some clients send numbers as ids.
func setName(to *string, v wire.Value) string {
	text, ok := v.Text()
	if _, number := v.Number(); !ok && number {
		text, ok = string(v), true
	}
	if !ok || len(text) > chat.MaxNameBytes || !utf8.ValidString(text) {
		return "a string of at most 256 bytes"
	}
	*to = strings.TrimSpace(text)
	return ""
}

// setCount reads a whole number over 0. It replaces a number over most by most.
func setCount(to *int, v wire.Value, most int) string {
	n, ok := v.Number()
	if !ok || n != math.Trunc(n) || n < 1 {
		return "a whole number over 0"
	}
	*to = int(min(n, float64(most)))
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
	on, ok := v.Flag()
	if !ok {
		return "true or false"
	}
	*to = on
	return ""
}

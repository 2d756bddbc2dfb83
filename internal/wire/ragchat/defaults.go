package ragchat

import (
	"net/http"
	"strings"

	"parley/internal/wire"
)

// Defaults holds the default parameters of a request. Its JSON is part of GET /api/config. The names are
// those of the parameters and of the original's settings.
type Defaults struct {
	TopK                int     `json:"top_k"`
	ScoreThreshold      float64 `json:"score_threshold"`
	Temperature         float64 `json:"temperature"`
	TopP                float64 `json:"top_p"`
	MaxOutputTokens     int     `json:"max_output_tokens"`
	ReasoningEffort     string  `json:"reasoning_effort"` // "" means the model's own
	RawTailTurns        int     `json:"raw_tail_turns"`
	SummarizerInput     int     `json:"summarizer_max_input_tokens"`
	SummarizerOutput    int     `json:"summarizer_max_output_tokens"`
	EnableRewrite       bool    `json:"enable_query_rewrite"`
	RewriteThreshold    float64 `json:"rewrite_confidence_threshold"`
	RewriteTailTurns    int     `json:"rewrite_tail_turns"`
	RewriteSummaryTurns int     `json:"rewrite_summary_turns"`
	UseTools            bool    `json:"use_tools"`
	UseWebSearch        bool    `json:"use_web_search"`
	ShowSteps           bool    `json:"show_processing_steps"`
	ShowSources         bool    `json:"show_sources"`
	RenderHTML          bool    `json:"render_html"`
	Clarify             bool    `json:"clarify"` // ask the user when a question is ambiguous

	// The protocol requires these. They have no effect, because the contents of requests are not logged.
	DebugVerbose          bool `json:"debug_verbose"`
	DebugLogKeys          bool `json:"debug_log_keys"`
	DebugLogTruncateChars int  `json:"debug_log_truncate_chars"`
}

// DefaultDefaults returns the documented defaults.
func DefaultDefaults() Defaults {
	return Defaults{
		TopK: 8, Temperature: 0.4, TopP: 0.9, MaxOutputTokens: 500,
		RawTailTurns: 2, SummarizerInput: 4000, SummarizerOutput: 400,
		EnableRewrite: true, RewriteThreshold: 0.65, RewriteTailTurns: 1, RewriteSummaryTurns: 3,
		UseTools: true, ShowSteps: true, ShowSources: true,
		DebugLogTruncateChars: 200,
	}
}

// publishedConfig is the response of GET /api/config: the defaults, some of them also under the names
// that the original's own pages read, and the model of each stage.
type publishedConfig struct {
	Defaults

	InferenceTemperature     float64 `json:"inference_temperature"`
	InferenceTopP            float64 `json:"inference_top_p"`
	MaxInferenceOutputTokens int     `json:"max_inference_output_tokens"`
	EnableTools              bool    `json:"enable_tools"`

	InferenceModel    string  `json:"inference_model"`
	InferenceModelKey string  `json:"inference_model_key"`
	RewriteModel      string  `json:"query_rewrite_model"`
	RewriteModelKey   string  `json:"rewrite_model_key"`
	RerankModel       string  `json:"re_ranker_model"` // "" where nothing is reranked unless a request names a model
	RerankModelKey    string  `json:"rerank_model_key"`
	SummaryModel      string  `json:"summarizer_model"`
	SummaryModelKey   string  `json:"summarizer_model_key"`
	ToolsModelKey     *string `json:"tools_synth_model_key"` // null means the model of inference
	EmbeddingModel    *string `json:"embedding_model"`       // null means that none is configured
	EmbeddingModelKey *string `json:"embedding_model_key"`
	ActiveDomain      string  `json:"active_domain"`
	Namespace         string  `json:"namespace"`
	PromptDomain      string  `json:"prompt_domain"`
}

// config handles GET /api/config.
func (h *Handler) config(w http.ResponseWriter, _ *wire.Request) error {
	d, keys := h.cfg.Parameters, h.cfg.Defaults.Models
	or := func(key string) string {
		if key == "" {
			return keys.Inference
		}
		return key
	}
	rewrite, summary := or(keys.Rewrite), or(keys.Summary)
	return wire.Reply(w, http.StatusOK, publishedConfig{
		Defaults:             d,
		InferenceTemperature: d.Temperature, InferenceTopP: d.TopP,
		MaxInferenceOutputTokens: d.MaxOutputTokens, EnableTools: d.UseTools,
		InferenceModel: modelName(keys.Inference), InferenceModelKey: keys.Inference,
		RewriteModel: modelName(rewrite), RewriteModelKey: rewrite,
		RerankModel: modelName(keys.Rerank), RerankModelKey: keys.Rerank,
		SummaryModel: modelName(summary), SummaryModelKey: summary,
		ToolsModelKey: given(keys.Synthesis), EmbeddingModel: given(modelName(h.cfg.Embedding)), EmbeddingModelKey: given(h.cfg.Embedding),
		ActiveDomain: h.cfg.Namespace, Namespace: h.cfg.Namespace, PromptDomain: "default",
	})
}

// given returns a pointer to key, or nil for "".
func given(key string) *string {
	if key == "" {
		return nil
	}
	return &key
}

// modelName returns a model's name without its provider.
func modelName(key string) string {
	_, name, _ := strings.Cut(key, ":")
	return name
}

// Model is a model that a request may name in model_keys.
type Model struct {
	Key          string       `json:"key"` // "provider:model"
	Provider     string       `json:"provider"`
	Model        string       `json:"model"`
	Endpoint     string       `json:"endpoint"` // "chat" or "embeddings"
	Pricing      *Pricing     `json:"pricing"`  // null if the price is unknown
	Context      int          `json:"context"`  // tokens; 0 if unknown
	Capabilities Capabilities `json:"capabilities"`
}

// Pricing has prices in US dollars for a million tokens.
type Pricing struct {
	Input  wire.USD  `json:"input_per_mm"`
	Output wire.USD  `json:"output_per_mm"`
	Cached *wire.USD `json:"cached_input_per_mm"` // null if unknown
}

// NewPricing returns the prices of a million tokens, given in millionths of a dollar. A negative cached
// means that this price is unknown.
func NewPricing(input, output, cached int64) *Pricing {
	p := &Pricing{Input: wire.USD(input), Output: wire.USD(output)}
	if cached >= 0 {
		p.Cached = new(wire.USD)
		*p.Cached = wire.USD(cached)
	}
	return p
}

// Capabilities says what a model accepts.
type Capabilities struct {
	Vision    bool `json:"vision"`
	Tools     bool `json:"tools"`
	Schema    bool `json:"json_schema"`
	Reasoning bool `json:"reasoning"`
}

// models handles GET /api/models. It returns an object with the models by key, like the original.
func (h *Handler) models(w http.ResponseWriter, r *wire.Request) error {
	all := map[string]Model{}
	if h.cfg.Models != nil {
		for _, m := range h.cfg.Models(r.Context()) {
			all[m.Key] = m
		}
	}
	return wire.Reply(w, http.StatusOK, all)
}

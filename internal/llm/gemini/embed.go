package gemini

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// EmbedLimits implements llm.EmbedLimiter, according to https://ai.google.dev/gemini-api/docs/models and
// the API's error message, which allows at most 100 texts in one batch.
func (p *Provider) EmbedLimits(model string) llm.EmbedLimits {
	if typed(model) {
		return llm.EmbedLimits{Texts: 100, TextTokens: 2048}
	}
	return llm.EmbedLimits{Texts: 100, TextTokens: 8192}
}

// typed reports whether a model accepts a task type. Gemini Embedding 2 and later models ignore it; they
// need a prefix instead (see upstream.Prefixed).
func typed(model string) bool {
	model = strings.TrimPrefix(model, "models/")
	return model == "gemini-embedding-001" || !strings.HasPrefix(model, "gemini-")
}

type wireEmbedBatch struct {
	Requests []wireEmbed `json:"requests"`
}

type wireEmbed struct {
	Model      string      `json:"model"`
	Content    wireContent `json:"content"`
	TaskType   string      `json:"taskType,omitempty"`
	Dimensions int         `json:"outputDimensionality,omitempty"`
}

// taskTypes are Gemini's names of the purposes.
var taskTypes = map[llm.Purpose]string{llm.ForDocument: "RETRIEVAL_DOCUMENT", llm.ForQuery: "RETRIEVAL_QUERY"}

// Embed implements llm.Embedder with POST /v1beta/models/{model}:batchEmbedContents. Vectors that are
// shorter than the model's own are not of unit length.
//
// https://ai.google.dev/api/embeddings#method:-models.batchembedcontents
func (p *Provider) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	name := strings.TrimPrefix(llm.CleanName(req.Model), "models/")
	req.Model = name
	w := wireEmbedBatch{Requests: make([]wireEmbed, len(req.Texts))}
	for i, text := range upstream.Prefixed(req) {
		w.Requests[i] = wireEmbed{
			Model: "models/" + name, Content: wireContent{Parts: []wirePart{{Text: text}}}, Dimensions: req.Dimensions,
		}
		if typed(name) {
			w.Requests[i].TaskType = taskTypes[req.Purpose]
		}
	}
	call := p.call("/models/" + url.PathEscape(name) + ":batchEmbedContents")
	body, err := p.client.PostTexts(ctx, call, w, len(req.Texts))
	if err != nil {
		return llm.Embeddings{}, err
	}
	return decodeEmbeddings(body, &call)
}

func decodeEmbeddings(body []byte, call *upstream.Call) (llm.Embeddings, error) {
	var w struct {
		Embeddings []struct {
			Values upstream.Vector `json:"values"`
		} `json:"embeddings"`
		Usage struct {
			Prompt json.Number `json:"promptTokenCount"`
			Total  json.Number `json:"totalTokenCount"`
		} `json:"usageMetadata"` // many models omit it
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return llm.Embeddings{}, upstream.UndecodableAnswer(err)
	}
	if upstream.HasError(w.Error) {
		return llm.Embeddings{}, call.Failed(body)
	}
	out := llm.Embeddings{Vectors: make([][]float32, len(w.Embeddings)), Usage: upstream.InputUsage(w.Usage.Prompt, w.Usage.Total)}
	for i, e := range w.Embeddings {
		out.Vectors[i] = e.Values
	}
	return out, nil
}

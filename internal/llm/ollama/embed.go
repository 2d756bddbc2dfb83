package ollama

import (
	"context"
	"encoding/json"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// EmbedLimits implements llm.EmbedLimiter. Ollama accepts any number of texts, and embeds them one after
// the other on most machines. The limit keeps a call from taking minutes.
func (p *Provider) EmbedLimits(string) llm.EmbedLimits { return llm.EmbedLimits{Texts: 32} }

type wireEmbed struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Truncate   bool     `json:"truncate"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// Embed implements llm.Embedder with POST /api/embed. Ollama truncates texts that are too long for the
// model.
//
// https://github.com/ollama/ollama/blob/main/docs/api.md#generate-embeddings
func (p *Provider) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	w := wireEmbed{
		Model: llm.CleanName(req.Model), Input: upstream.Prefixed(req), Truncate: true, Dimensions: req.Dimensions,
	}
	call := upstream.Call{URL: p.base + "/api/embed", Failure: classify}
	body, err := p.client.PostTexts(ctx, call, w, len(req.Texts))
	if err != nil {
		return llm.Embeddings{}, err
	}
	return decodeEmbeddings(body, &call)
}

func decodeEmbeddings(body []byte, call *upstream.Call) (llm.Embeddings, error) {
	var w struct {
		Model      string            `json:"model"`
		Embeddings []upstream.Vector `json:"embeddings"`
		Count      json.Number       `json:"prompt_eval_count"`
		Error      json.RawMessage   `json:"error"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return llm.Embeddings{}, upstream.UndecodableAnswer(err)
	}
	if upstream.HasError(w.Error) {
		return llm.Embeddings{}, call.Failed(body)
	}
	return llm.Embeddings{
		Vectors: upstream.Vectors(w.Embeddings), Model: llm.CleanName(w.Model), Usage: upstream.InputUsage(w.Count),
	}, nil
}

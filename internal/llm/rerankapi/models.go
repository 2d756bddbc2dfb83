package rerankapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// Models implements llm.Lister with GET {base}/models, which vLLM and Cohere have in different forms.
// For a server without it, the list is empty and there is no error.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	body, err := p.client.Get(ctx, p.call("/models"))
	if e, ok := errors.AsType[*llm.Error](err); ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var w struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen int    `json:"max_model_len"`
		} `json:"data"` // vLLM
		Models []struct {
			Name      string   `json:"name"`
			Context   float64  `json:"context_length"`
			Endpoints []string `json:"endpoints"`
		} `json:"models"` // Cohere
	}
	if err := upstream.DecodeModels(body, &w); err != nil {
		return nil, err
	}
	var models []llm.ModelInfo
	for _, m := range w.Data {
		models = append(models, llm.ModelInfo{Name: llm.CleanName(m.ID), Context: max(m.MaxModelLen, 0)})
	}
	for _, m := range w.Models {
		if slices.Contains(m.Endpoints, "rerank") {
			models = append(models, llm.ModelInfo{Name: llm.CleanName(m.Name), Context: int(min(max(m.Context, 0), 1e9))})
		}
	}
	return models, nil
}

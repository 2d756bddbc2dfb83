package main

import (
	"parley/internal/llm"
	"parley/internal/turn"
)

// openEmbedder returns the embedder of cfg.Embedding with all that stands between it and its
// provider, and its provider's name of the model. It is nil when none is configured.
func (p *program) openEmbedder(cfg Config, ledger *turn.Ledger) (llm.Embedder, string, error) {
	if cfg.Embedding == "" {
		return nil, "", nil
	}
	models, err := p.newRouter(cfg, ledger)
	if err != nil {
		return nil, "", err
	}
	e, name, err := models.ResolveEmbedder(cfg.Embedding)
	if err != nil {
		return nil, "", usageError{err}
	}
	return e, name, nil
}

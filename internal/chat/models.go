package chat

import (
	"cmp"

	"parley/internal/llm"
)

// resolved is a model with its names. Its Model is nil if there is none.
type resolved struct {
	llm.Model
	key      string // "provider:model"
	name     string // without the provider
	grounded bool
}

// given returns the name under which a built-in model answers, which is its key. It returns "" for every
// other model, which answers under the name that its provider reports.
func (m resolved) given() string {
	if IsBuiltin(m.key) {
		return m.key
	}
	return ""
}

// findModels resolves the answering model and the models of optional stages. A stage whose model is nil
// works without one.
func (t *turn) findModels() error {
	asked, usual := t.req.Options.Models, t.cfg.Defaults.Models
	var err error
	if t.model, err = t.resolve(StageGenerate, cmp.Or(asked.Inference, usual.Inference)); err != nil {
		return err
	}
	switch o := t.req.Options; {
	case !t.model.grounded:
	case o.Schema != nil:
		return invalid("The model %q answers in text only, not in JSON.", llm.CleanName(t.model.key))
	case o.ToolChoice != "" && o.ToolChoice != llm.ToolsNone:
		return invalid("The model %q answers in text only: it cannot be required to call a tool.", llm.CleanName(t.model.key))
	}
	if t.rewriter, err = t.helper(StageRewrite, cmp.Or(asked.Rewrite, usual.Rewrite)); err != nil {
		return err
	}
	if asked.Rerank != "" {
		if _, err := t.reranker(asked.Rerank); err != nil {
			return err
		}
	}
	if t.model.grounded && t.rewriter.Model == nil {
		return nil // nothing would read the summary
	}
	t.summarizer, err = t.helper(StageSummarize, cmp.Or(asked.Summary, usual.Summary))
	return err
}

// helper resolves the model of an optional stage. "" means the answering model. The result has no Model
// if the model is grounded.
func (t *turn) helper(stage Stage, key string) (resolved, error) {
	if key = cmp.Or(key, t.model.key); t.cfg.Grounded(key) {
		return resolved{}, nil
	}
	return t.resolve(stage, key)
}

func (e *Engine) resolve(stage Stage, key string) (resolved, error) {
	m, name, err := e.cfg.Models.ResolveFor(string(stage), key)
	if err != nil {
		return resolved{}, err
	}
	return resolved{Model: m, key: key, name: name, grounded: e.cfg.Grounded(key)}, nil
}

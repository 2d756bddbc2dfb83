package main

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/ledger"
)

// The names in the configuration of the built-in alternatives to models, by stage.
const (
	builtinRewriter = "builtin:rules"
	builtinReader   = "builtin:reader"
	builtinLexical  = "builtin:lexical"
	builtinSummary  = "builtin:none"
	builtinJudge    = "builtin:words"
)

func isBuiltin(key string) bool {
	provider, _, _ := strings.Cut(key, ":")
	return provider == ledger.Builtin
}

// models returns every model that the configuration names.
func (c *Config) models() []string {
	var keys []string
	for _, list := range [][]string{{c.Model}, c.Fallback, c.StagesRewrite, c.StagesRerank, c.StagesSummary, c.StagesJudge} {
		keys = append(keys, list...)
	}
	for _, a := range c.TeamAgents.list() {
		if a.Model != "" {
			keys = append(keys, a.Model)
		}
	}
	return keys
}

// fallbacks returns the fallback models of a stage. A stage without its own models uses the
// answering model and its fallbacks. For rerankers, which need not be chat models, the engine
// handles fallbacks itself.
func (c *Config) fallbacks(stage string) []string {
	if chat.Stage(stage) == chat.StageRerank {
		return nil
	}
	own := map[chat.Stage][]string{
		chat.StageRewrite: c.StagesRewrite, chat.StageSummarize: c.StagesSummary, chat.StageVerify: c.StagesJudge,
	}[chat.Stage(stage)]
	if len(own) > 0 {
		return own[1:]
	}
	return c.Fallback
}

// reranks reports whether a model reranks. builtin:lexical does not count: front ends would show it
// as a "semantic ranker".
func (c *Config) reranks() bool { return len(c.StagesRerank) > 0 && !isBuiltin(c.StagesRerank[0]) }

// first returns the model of a stage, or "" if it has none of its own.
func first(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// checkStage checks the models of a stage. A built-in one cannot fail, so it must be last.
func checkStage(keys, providers []string, builtIn ...string) error {
	for i, key := range keys {
		switch {
		case slices.Contains(builtIn, key) && i == len(keys)-1:
		case slices.Contains(builtIn, key):
			return fmt.Errorf("%q never fails, so no model can follow it", key)
		case isBuiltin(key):
			return fmt.Errorf("%q is not a built-in model for this stage; there is %s", key, strings.Join(builtIn, " or "))
		default:
			if err := checkModel(key, providers); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAllow checks the patterns of models that requests may name. Their provider must exist but
// need not be configured.
func (c *Config) checkAllow() error {
	for _, pattern := range c.Allow {
		provider, model, ok := strings.Cut(pattern, ":")
		switch names := c.providerNames(); {
		case pattern == "*":
		case !ok || provider == "" || model == "":
			return fmt.Errorf("%q is not provider:model, such as openai:gpt-4.1* or ollama:*", pattern)
		case !strings.Contains(provider, "*") && !slices.Contains(names, provider):
			return fmt.Errorf("%q names an unknown provider; there are %s", pattern, strings.Join(names, ", "))
		}
	}
	return nil
}

// stageModels returns the models of the stages.
func (c *Config) stageModels() chat.Models {
	return chat.Models{
		Inference: c.Model, Rewrite: first(c.StagesRewrite), Rerank: first(c.StagesRerank),
		Summary: first(c.StagesSummary), Judge: first(c.StagesJudge),
	}
}

// allowlist returns the rule for models that requests may name.
func (c *Config) allowlist() chat.Allowlist {
	return chat.Allowlist{Patterns: c.Allow, Defaults: c.stageModels()}
}

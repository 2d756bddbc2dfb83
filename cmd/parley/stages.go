package main

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/ledger"
)

// What stages do without a model, as their models are named in the configuration.
const (
	builtinRewriter = "builtin:rules"
	builtinReranker = "builtin:lexical"
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

// fallbacks returns the models that stand in for the one of a stage. A stage without models of its
// own uses the one that answers, and so its fallbacks. Of rerankers, which are not all models that
// answer, the engine knows those that stand in.
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

// reranks reports whether a model reranks. What builtin:lexical does is no "semantic ranker", which
// is what front ends would call it.
func (c *Config) reranks() bool { return len(c.StagesRerank) > 0 && !isBuiltin(c.StagesRerank[0]) }

// first returns the model of a stage, "" when it has none of its own.
func first(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// checkStage checks the models of a stage. The built-in one cannot fail, so it comes last.
func checkStage(keys []string, builtIn string, providers []string) error {
	for i, key := range keys {
		switch {
		case key == builtIn && i == len(keys)-1:
		case key == builtIn:
			return fmt.Errorf("%q never fails, so no model can follow it", key)
		case isBuiltin(key):
			return fmt.Errorf("%q is not a built-in model for this stage; there is %s", key, builtIn)
		default:
			if err := checkModel(key, providers); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAllow checks the patterns of models that requests may name. A provider may stand there that
// is not configured, but not one that cannot be.
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

// allowlist returns which models requests may name.
func (c *Config) allowlist() chat.Allowlist {
	return chat.Allowlist{Patterns: c.Allow, Defaults: c.stageModels()}
}

package main

import (
	"slices"
	"strings"

	"parley/internal/llm"
)

// checkPriced refuses budgets of money that would limit nothing, because the price of a model that is
// configured for answers is not known. The models that requests name are up to the runner.
func (in *instance) checkPriced() error {
	var setting string
	switch {
	case in.cfg.BudgetsUserCost > 0:
		setting = "budgets.user.cost"
	case in.cfg.BudgetsNamespaceCost > 0:
		setting = "budgets.namespace.cost"
	default:
		return nil
	}
	price := costs(in.prices)
	for _, key := range in.cfg.payable() {
		if provider, model, _ := strings.Cut(key, ":"); !price(provider, model, llm.Usage{Input: 1}).Known {
			return usagef("%s would not limit %s, whose price is not known: add it to the file that the setting prices names, 0 for one that is free of charge", setting, key)
		}
	}
	return nil
}

// payable returns the models of the configuration that answers may call, without those that are part
// of the program.
func (c *Config) payable() []string {
	keys := slices.Concat([]string{c.Model, c.Embedding}, c.Fallback, c.StagesRewrite, c.StagesRerank,
		c.StagesSummary, c.StagesJudge, c.StagesSynthesis)
	agents, _ := c.team() // checkTeam has seen its error
	for _, a := range agents {
		keys = append(keys, a.Model)
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		return key == "" || isBuiltin(key)
	})
}

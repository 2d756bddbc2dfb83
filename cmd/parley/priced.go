package main

import (
	"log/slog"
	"slices"
	"strings"

	"parley/internal/llm"
)

// checkPriced checks the configured models that have no known price, if budgets limit money. With
// an assumed price it logs a warning, else it returns an error, because the budgets would limit
// nothing. The runner checks models that requests name.
func (in *instance) checkPriced(log *slog.Logger) error {
	var setting string
	switch {
	case in.cfg.BudgetsUserCost > 0:
		setting = "budgets.user.cost"
	case in.cfg.BudgetsNamespaceCost > 0:
		setting = "budgets.namespace.cost"
	default:
		return nil
	}
	unpriced := in.unpriced()
	if len(unpriced) == 0 {
		return nil
	}
	const remedy = "add it to the file that the setting prices names; 0 means free"
	if in.cfg.BudgetsAssumedPrice == 0 {
		return usagef("%s would not limit %s, whose price is not known: %s", setting, unpriced[0], remedy)
	}
	log.Warn("the price of some models is not known, so an assumed price counts against the budget: "+remedy, "budget", setting,
		"models", unpriced, "assumed_price", "$"+in.cfg.BudgetsAssumedPrice.String()+" for a million tokens")
	return nil
}

// unpriced returns the configured models without a known price, each once.
func (in *instance) unpriced() []string {
	price := costs(in.prices)
	var keys []string
	for _, key := range in.cfg.payable() {
		provider, model, _ := strings.Cut(key, ":")
		if !price(provider, model, llm.Usage{Input: 1}).Known && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// payable returns the models of the configuration that answers may call, except built-in ones.
func (c *Config) payable() []string {
	keys := slices.Concat([]string{c.Model, c.Embedding}, c.Fallback, c.StagesRewrite, c.StagesRerank,
		c.StagesSummary, c.StagesJudge)
	agents, _ := c.team() // checkTeam has reported its error
	for _, a := range agents {
		keys = append(keys, a.Model)
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		return key == "" || isBuiltin(key)
	})
}

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/team"
)

// findingsModel is the built-in model of an agent whose findings other agents write from.
const findingsModel = ledger.Builtin + ":" + builtin.FindingsName

// agent is the configuration of one agent.
type agent struct {
	Name         string    `yaml:"name" json:"name"`
	Instructions string    `yaml:"instructions" json:"instructions,omitempty"`
	Model        string    `yaml:"model" json:"model,omitempty"`
	Tools        []string  `yaml:"tools" json:"tools,omitempty"`
	Retrieves    bool      `yaml:"retrieves" json:"retrieves,omitempty"`
	Hears        *[]string `yaml:"hears" json:"hears,omitempty"`           // nil: all agents before it; []: none
	Reviews      string    `yaml:"reviews" json:"reviews,omitempty"`       // the agent whose answer it checks
	Share        float64   `yaml:"share" json:"share,omitempty"`           // share of the turn's time
	SkipBelow    string    `yaml:"skip_below" json:"skip_below,omitempty"` // remaining time below which it is skipped
}

// agents are the configured agents, "" for the default team.
type agents structured

// UnmarshalText reads a YAML list.
func (a *agents) UnmarshalText(text []byte) error {
	return readStructured[[]agent](text, a, "a list of agents")
}

func (a agents) list() []agent { return content[[]agent](a) }

// team returns the agents. An agent without a model gets the server's; with the built-in one, an
// agent that others write from lists its findings.
func (c *Config) team() ([]team.Agent, error) {
	all := team.Default(c.TeamReviewer)
	if own := c.TeamAgents.list(); len(own) > 0 {
		all = nil
		for _, a := range own {
			m := team.Agent{
				Name: a.Name, Instructions: a.Instructions, Model: a.Model, Tools: a.Tools,
				Retrieves: a.Retrieves, Reviews: a.Reviews, Share: a.Share,
			}
			if a.Hears != nil {
				m.Hears = append([]string{}, *a.Hears...)
			}
			if a.SkipBelow != "" {
				d, err := time.ParseDuration(a.SkipBelow)
				if err != nil {
					return nil, fmt.Errorf("skip_below of %q: %q is not a duration such as 10s", a.Name, a.SkipBelow)
				}
				m.SkipBelow = d
			}
			all = append(all, m)
		}
	}
	for i := range all {
		if all[i].Model == "" && isBuiltin(c.Model) && all[i].Retrieves && len(all) > 1 {
			all[i].Model = findingsModel
		}
	}
	return all, nil
}

// agentNames returns the names of the agents in configured order.
func (c *Config) agentNames() []string {
	all, _ := c.team() // checkTeam has reported its error
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
	}
	return names
}

// checkTeam checks the agents as far as possible before a turn.
func (c *Config) checkTeam() error {
	if c.TeamAgents != "" && c.TeamReviewer {
		return errors.New("team.reviewer applies to the default team only: name the reviewer of your own team in team.agents")
	}
	all, err := c.team()
	if err != nil {
		return err
	}
	if _, err := team.New(nil, team.Config{Agents: all}); err != nil {
		return err
	}
	for _, a := range all {
		if a.Model != "" && a.Model != findingsModel {
			if err := c.checkAnswers(a.Model); err != nil {
				return fmt.Errorf("model of %q: %w", a.Name, err)
			}
		}
		for _, name := range a.Tools {
			if err := c.checkTool(name); err != nil {
				return fmt.Errorf("tools of %q: %w", a.Name, err)
			}
		}
	}
	return nil
}

// checkTool rejects a tool that is neither enabled nor of a configured MCP server, whose tools are
// named SERVER__TOOL.
func (c *Config) checkTool(name string) error {
	if slices.Contains(c.Tools, name) && name != noTools {
		return nil
	}
	for _, server := range sortedNames(content[map[string]mcpServer](c.MCP)) {
		if strings.HasPrefix(name, server+"__") {
			return nil
		}
	}
	return fmt.Errorf("%q is neither in tools.enabled nor a tool of an MCP server", name)
}

// newTeam returns the engine with the team around it.
func (p *program) newTeam(cfg Config, engine *chat.Engine) (*team.Team, error) {
	all, err := cfg.team()
	if err != nil {
		return nil, usagef("team.agents: %w", err)
	}
	t, err := team.New(engine, team.Config{
		Agents: all, Log: p.log,
		Builtin: func(model string) bool { return isBuiltin(model) || model == "" && isBuiltin(cfg.Model) },
	})
	if err != nil {
		return nil, usagef("team.agents: %w", err)
	}
	return t, nil
}

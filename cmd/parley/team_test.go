package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/team"
)

const threeAgents = `team:
  agents:
    - name: Law
      instructions: |
        Look at the law.
        Only at that.
      retrieves: true
      tools: [calculator]
      share: 2
    - {name: Money, retrieves: true, hears: [], model: "builtin:extractive"}
    - {name: Writer, hears: [Law, Money]}
    - {name: Check, reviews: Writer, skip_below: 5s}
`

func TestConfig_ReadsATeamAndPrintsItSo(t *testing.T) {
	code, first, stderr := effective(t, nil, "--config", writeFile(t, threeAgents))
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(first, `{"name":"Money","model":"builtin:extractive","retrieves":true,"hears":[]}`) {
		t.Errorf("printed:\n%s", first)
	}
	code, second, stderr := effective(t, nil, "--config", writeFile(t, first))
	if code != exitOK || agentsIn(first) != agentsIn(second) || agentsIn(first) == "" {
		t.Errorf("exit %d: %s; read back:\n%s", code, stderr, second)
	}
}

// agentsIn returns the line of a printed configuration that has the agents, without its comment.
func agentsIn(text string) string {
	_, rest, _ := strings.Cut(text, "  agents: ")
	line, _, _ := strings.Cut(rest, " # ")
	return line
}

func TestTeam_IsWhatTheConfigurationSays(t *testing.T) {
	var list agents
	_, text, _ := strings.Cut(threeAgents, "agents:\n")
	if err := list.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.TeamAgents = list
	got, err := cfg.team()
	if err != nil {
		t.Fatal(err)
	}
	want := []team.Agent{
		{Name: "Law", Instructions: "Look at the law.\nOnly at that.\n", Model: "builtin:findings", Tools: []string{"calculator"}, Retrieves: true, Share: 2},
		{Name: "Money", Model: "builtin:extractive", Retrieves: true, Hears: []string{}},
		{Name: "Writer", Hears: []string{"Law", "Money"}},
		{Name: "Check", Reviews: "Writer", SkipBelow: 5 * time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	cfg = DefaultConfig()
	cfg.Model, cfg.TeamReviewer = "openai:gpt", true
	got, err = cfg.team()
	if diff := cmp.Diff(team.Default(true), got); diff != "" || err != nil {
		t.Errorf("the default team: %v (-want +got)\n%s", err, diff)
	}
}

func TestConfig_RefusesATeamThatCannotWork(t *testing.T) {
	cases := map[string]struct{ file, want string }{
		"no list":           {"team:\n  agents: {name: x}\n", "team.agents: expected a list of agents"},
		"unknown key":       {"team:\n  agents: [{name: x, color: red}]\n", "expected a list of agents"},
		"no name":           {"team:\n  agents: [{retrieves: true}]\n", `agent 1 (""): an agent needs a name`},
		"hears a later one": {"team:\n  agents: [{name: a, hears: [b]}, {name: b}]\n", `it hears "b"`},
		"time":              {"team:\n  agents: [{name: a, skip_below: soon}]\n", `skip_below of "a": "soon" is not a duration`},
		"model":             {"team:\n  agents: [{name: a, model: oracle:x}]\n", `model of "a": "oracle:x" names an unknown provider`},
		"tool":              {"team:\n  agents: [{name: a, tools: [web_search]}]\n", `tools of "a": "web_search" is not among the tools.enabled`},
		"reviewer twice":    {"team:\n  reviewer: true\n  agents: [{name: a}]\n", "team.reviewer is for the default team"},
		"format":            {"chatui:\n  format: tiny\n", `"tiny" is neither full nor minimal`},
	}
	for name, c := range cases {
		code, _, stderr := effective(t, nil, "--config", writeFile(t, c.file))
		want := strings.TrimPrefix(c.want, "team.agents: ")
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, want %q", name, code, stderr, want)
		}
	}
	code, _, stderr := effective(t, nil, "--config", writeFile(t, "tools:\n  enabled: [none]\nmcp:\n  files: {url: 'http://localhost:1/mcp'}\nteam:\n  agents: [{name: a, tools: [files__read]}]\n"))
	if code != exitOK {
		t.Errorf("a tool of an MCP server: exit %d, %s", code, stderr)
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	t.Parallel()
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

// agentsIn returns the line with the agents from a printed configuration, without its comment.
func agentsIn(text string) string {
	_, rest, _ := strings.Cut(text, "  agents: ")
	line, _, _ := strings.Cut(rest, " # ")
	return line
}

func TestTeam_IsWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
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
	if diff := cmp.Diff([]string{"Law", "Money", "Writer", "Check"}, cfg.agentNames()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	cfg = DefaultConfig()
	cfg.Model, cfg.TeamReviewer = "openai:gpt", true
	got, err = cfg.team()
	if diff := cmp.Diff(team.Default(true), got); diff != "" || err != nil {
		t.Errorf("the default team: %v (-want +got)\n%s", err, diff)
	}
}

func TestConfig_RefusesATeamThatCannotWork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ file, want string }{
		"no list":           {"team:\n  agents: {name: x}\n", "team.agents: expected a list of agents"},
		"unknown key":       {"team:\n  agents: [{name: x, color: red}]\n", "expected a list of agents"},
		"no name":           {"team:\n  agents: [{retrieves: true}]\n", `agent 1 (""): an agent needs a name`},
		"hears a later one": {"team:\n  agents: [{name: a, hears: [b]}, {name: b}]\n", `it hears "b"`},
		"time":              {"team:\n  agents: [{name: a, skip_below: soon}]\n", `skip_below of "a": "soon" is not a duration`},
		"model":             {"team:\n  agents: [{name: a, model: oracle:x}]\n", `model of "a": "oracle:x" names an unknown provider`},
		"tool":              {"team:\n  agents: [{name: a, tools: [web_search]}]\n", `tools of "a": "web_search" is neither in tools.enabled nor a tool of an MCP server`},
		"reviewer twice":    {"team:\n  reviewer: true\n  agents: [{name: a}]\n", "team.reviewer applies to the default team only"},
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

// The default team with a model: Writer receives Research's findings, and the failure of one agent
// does not affect the other.
func TestTeam_AnswersWithAModel(t *testing.T) {
	t.Parallel()
	up := startUpstream(t)
	docs := t.TempDir()
	const text = "# The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"
	if err := os.WriteFile(filepath.Join(docs, "lighthouse.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1", "PARLEY_TEAM_REVIEWER=true"}
	p := serveIngested(t, env, docs, "--model", "openai:test-model")
	ask := func(question string) (int, []struct{ AgentName, Status, Content string }) {
		t.Helper()
		status, body, err := call("POST", "http://"+p.addr+"/api/multi-agent-chat/batch", `{"messages":[{"role":"user","content":"`+question+`"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		var messages []struct{ AgentName, Status, Content string }
		if status == 200 {
			if err := json.Unmarshal([]byte(body), &messages); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
		}
		return status, messages
	}
	said := strings.Join(upstreamPieces, "")
	status, got := ask("How tall is the lighthouse?")
	want := []struct{ AgentName, Status, Content string }{
		{"Research", "completed", said}, {"Writer", "completed", said}, {"Reviewer", "completed", said},
	}
	if diff := cmp.Diff(want, got); diff != "" || status != 200 {
		t.Errorf("status %d (-want +got)\n%s", status, diff)
	}
	up.mu.Lock()
	seen := append([]string(nil), up.seen...)
	up.mu.Unlock()
	if len(seen) != 3 || !strings.Contains(seen[0], "You are Research") || !strings.Contains(seen[1], "You are Writer") ||
		!strings.Contains(seen[1], "From Research, as material") || !strings.Contains(seen[2], "From Writer, as material") {
		t.Errorf("the model was asked %d times: %q", len(seen), seen)
	}
	if status, _ := ask("How tall is it? " + faultRefuse); status != 503 {
		t.Errorf("every agent fails: status %d", status)
	}
}

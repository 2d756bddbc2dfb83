package aisdk

import (
	"net/http"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

// TestFixtures plays testdata/*.txtar. A file "config" enables parts of Config.
func TestFixtures(t *testing.T) {
	wiretest.PlayTurns(t, func(t *testing.T, f wiretest.Fixture, r chat.Runner) http.Handler {
		return serve(handlerOf(r, func(c *Config) { c.Vision = strings.Contains(f.Text("config"), "vision") }))
	})
}

// Every chunk of every fixture is one line of data with an empty line behind it, and [DONE] is the last one.
func TestFixtures_AreFramed(t *testing.T) {
	for _, f := range wiretest.Fixtures(t) {
		head, body, _ := strings.Cut(f.Text("response"), "\n\n")
		if !strings.Contains(head, "text/event-stream") {
			continue
		}
		events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
		for i, event := range events {
			data, ok := strings.CutPrefix(event, "data: ")
			if last := i == len(events)-1; !ok || strings.Contains(data, "\n") || last != (data == "[DONE]") {
				t.Errorf("%s: event %d is %q", f.Path, i, event)
			}
		}
	}
}

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, nil).Protocol(), "")
}

// Every member that a request may have is described, and nothing else.
func TestOpenAPI_DescribesTheMembersOfARequest(t *testing.T) {
	names := []string{"id", "messages", "trigger", "model", "system", "tools", "toolChoice"}
	for _, o := range wire.PageOptions {
		names = append(names, o.Name)
	}
	wiretest.Read(t, handlerOf(nil, nil).Protocol()).TestMembers(t, "UIChatRequest", names)
}

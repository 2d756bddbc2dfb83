package agui

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

// The streams of all fixtures have the order of the protocol, as the clients' verifyEvents demands it.
func TestFixtures_AreInOrder(t *testing.T) {
	for _, f := range wiretest.Fixtures(t) {
		head, body, _ := strings.Cut(f.Text("response"), "\n\n")
		if strings.Contains(head, "text/event-stream") {
			if err := verify(body); err != nil {
				t.Errorf("%s: %v", f.Path, err)
			}
		}
	}
}

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, nil).Protocol(), "")
}

// Every option that a request may have is described, and nothing else.
func TestOpenAPI_DescribesTheOptions(t *testing.T) {
	names := []string{"namespace"}
	for _, o := range wire.PageOptions {
		names = append(names, o.Name)
	}
	wiretest.Read(t, handlerOf(nil, nil).Protocol()).TestMembers(t, "AGUIOptions", names)
}

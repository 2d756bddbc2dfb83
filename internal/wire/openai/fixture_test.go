package openai

import (
	"net/http"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire/wiretest"
)

// TestFixtures plays testdata/*.txtar. A file "config" enables parts of Config.
func TestFixtures(t *testing.T) {
	wiretest.PlayTurns(t, func(t *testing.T, f wiretest.Fixture, r chat.Runner) http.Handler {
		return serve(handlerOf(r, func(c *Config) { configure(t, c, f.Text("config")) }))
	})
}

// Every event of every streamed fixture is one line of data with an empty line behind it, and [DONE]
// is the last one unless there was an error.
func TestFixtures_AreFramed(t *testing.T) {
	for _, f := range wiretest.Fixtures(t) {
		head, body, _ := strings.Cut(f.Text("response"), "\n\n")
		if strings.Contains(head, "text/event-stream") {
			checkFraming(t, f.Path, body)
		}
	}
}

func checkFraming(t *testing.T, path, body string) {
	t.Helper()
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	for i, event := range events {
		last := i == len(events)-1
		data, ok := strings.CutPrefix(event, "data: ")
		switch {
		case !ok || strings.Contains(data, "\n"):
			t.Errorf("%s has the event %q", path, event)
		case last != (data == "[DONE]" || strings.HasPrefix(data, `{"error":`)):
			t.Errorf("%s: %q is event %d of %d", path, event, i+1, len(events))
		}
	}
}

func configure(t *testing.T, c *Config, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "vision":
			c.Vision = true
		case "namespace":
			c.Namespace = rest
		case "public_url":
			c.PublicURL = rest
		default:
			t.Fatalf("no part of the configuration is called %q", name)
		}
	}
}

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, nil).Protocol(), "")
}

func TestFixtures_AreValidForOpenAI(t *testing.T) { wiretest.TestOpenAI(t) }

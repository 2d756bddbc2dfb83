package responses

import (
	"fmt"
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

// Every event of every streamed fixture has its type as its name and a number, one more than the one before it, and
// [DONE] is the last one. Only a stream that is resumed does not begin with 0.
func TestFixtures_AreFramed(t *testing.T) {
	for _, f := range wiretest.Fixtures(t) {
		for _, name := range f.Names() {
			head, body, _ := strings.Cut(f.Text(name), "\n\n")
			if strings.Contains(head, "text/event-stream") {
				checkFraming(t, f.Path, body)
			}
		}
	}
}

func checkFraming(t *testing.T, path, body string) {
	t.Helper()
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	first := 0
	if _, number, _ := strings.Cut(events[0], `"sequence_number":`); !strings.Contains(events[0], "response.created") {
		_, _ = fmt.Sscanf(number, "%d", &first)
	}
	for i, event := range events[:len(events)-1] {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\n")
		if want := fmt.Sprintf(`data: {"type":%q,"sequence_number":%d,`, name, first+i); !strings.HasPrefix(data, want) || strings.Contains(data, "\n") {
			t.Errorf("%s: event %d is %q", path, i, event)
		}
	}
	if last := events[len(events)-1]; last != "data: [DONE]" {
		t.Errorf("%s ends with %q", path, last)
	}
}

func configure(t *testing.T, c *Config, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "vision":
			c.Vision = true
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

// The document describes every member of requests, and no others.
func TestOpenAPI_DescribesTheMembersOfARequest(t *testing.T) {
	names := []string{"input"}
	for name := range members {
		names = append(names, name)
	}
	wiretest.Read(t, handlerOf(nil, nil).Protocol()).TestMembers(t, "ResponseRequest", names)
}

func TestFixtures_AreValidForOpenAI(t *testing.T) { wiretest.TestOpenAI(t) }

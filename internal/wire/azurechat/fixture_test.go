package azurechat

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/wire/wiretest"
)

// TestFixtures plays every testdata/*.txtar: prose, a request, the events of a scripted turn,
// and the exact bytes of the response. A file "config" switches parts of Config on; a file
// "asked" holds what the Runner was asked.
func TestFixtures(t *testing.T) {
	wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) map[string]string {
		runner := &wiretest.Scripted{Steps: wiretest.Script(t, f.Text("events"))}
		h := handlerOf(runner, func(c *Config) { configure(t, c, f.Text("config")) })
		w := httptest.NewRecorder()
		serve(h).ServeHTTP(w, requestOf(t, f.Text("request")))
		return map[string]string{"response": wiretest.Response(w, w.Body.String()), "asked": askedText(runner.Asked)}
	})
}

func configure(t *testing.T, c *Config, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "vision":
			c.Vision = true
		case "history":
			c.History = true
		case "model":
			c.Model = rest
		case "require_user":
			c.Defaults.RequireUser = true
		case "known":
			c.Known = func(_ context.Context, _ access.Principal, id string) (bool, error) { return id == rest, nil }
		default:
			t.Fatalf("no part of the configuration is called %q", name)
		}
	}
}

func askedText(asked []chat.Request) string {
	var b strings.Builder
	for _, req := range asked {
		fmt.Fprintf(&b, "turn %s namespace %s conversation %q\n", req.TurnID, req.Namespace, req.ConversationID)
		for _, m := range req.Messages {
			fmt.Fprintf(&b, "%s %q\n", m.Role, m.Parts)
		}
		fmt.Fprintln(&b, chattest.Options(req.Options))
	}
	return b.String()
}

// Every line of every streamed fixture is one JSON object with "\n" behind it.
func TestFixtures_AreFramed(t *testing.T) {
	for _, f := range wiretest.Fixtures(t) {
		_, body, _ := strings.Cut(f.Text("response"), "\n\n")
		for line := range strings.Lines(body) {
			if !strings.HasSuffix(line, "}\n") || !strings.HasPrefix(line, "{") {
				t.Errorf("%s has the line %q", f.Path, line)
			}
		}
		if slices.Contains(strings.Split(body, "\n"), "{}") {
			t.Errorf("%s has an empty object", f.Path)
		}
	}
}

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, nil).Protocol(), "")
}

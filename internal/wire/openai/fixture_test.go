package openai

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

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
		serve(h).ServeHTTP(w, wiretest.Request(t, f.Text("request")))
		return map[string]string{"response": wiretest.Response(w, w.Body.String()), "asked": askedText(runner.Asked)}
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

func askedText(asked []chat.Request) string {
	var b strings.Builder
	for _, req := range asked {
		fmt.Fprintf(&b, "turn %s namespace %s conversation %q\n", req.TurnID, req.Namespace, req.ConversationID)
		for _, m := range req.Messages {
			fmt.Fprintf(&b, "%s %q\n", m.Role, m.Parts)
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, "  calls %q\n", c)
			}
			if m.ToolCallID != "" {
				fmt.Fprintf(&b, "  answers %q\n", m.ToolCallID)
			}
		}
		o := req.Options
		for _, t := range o.Tools {
			fmt.Fprintf(&b, "tool %q %q %s\n", t.Name, t.Description, t.Parameters)
		}
		if o.Schema != nil {
			fmt.Fprintf(&b, "schema %s\n", o.Schema)
		}
		if o.Stop != nil {
			fmt.Fprintf(&b, "stop %q\n", o.Stop)
		}
		o.Tools, o.Schema, o.Stop = nil, nil, nil
		fmt.Fprintln(&b, chattest.Options(o))
	}
	return b.String()
}

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, nil).Protocol(), "")
}

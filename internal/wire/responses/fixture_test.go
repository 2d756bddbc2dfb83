package responses

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/wire/wiretest"
)

// TestFixtures plays every testdata/*.txtar: prose, requests in order (request, request2…), the events
// of a scripted turn, and the exact bytes of the responses. A file "config" enables parts of Config; a
// file "asked" has the requests that the Runner received.
func TestFixtures(t *testing.T) {
	wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) map[string]string {
		runner := &wiretest.Scripted{Steps: wiretest.Script(t, f.Text("events"))}
		h := handlerOf(runner, func(c *Config) { configure(t, c, f.Text("config")) })
		got := map[string]string{}
		for _, name := range f.Names() {
			number, ok := strings.CutPrefix(name, "request")
			if !ok {
				continue
			}
			w := httptest.NewRecorder()
			serve(h).ServeHTTP(w, wiretest.Request(t, f.Text(name)))
			got["response"+number] = wiretest.Response(w, w.Body.String())
		}
		got["asked"] = askedText(runner.Asked)
		return got
	})
}

// Every event of every streamed fixture has its type as its name and a number, and [DONE] is the last
// one.
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
	for i, event := range events[:len(events)-1] {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\n")
		if want := fmt.Sprintf(`data: {"type":%q,"sequence_number":%d,`, name, i); !strings.HasPrefix(data, want) || strings.Contains(data, "\n") {
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

func askedText(asked []chat.Request) string {
	var b strings.Builder
	for _, req := range asked {
		fmt.Fprintf(&b, "turn %s namespace %s\n", req.TurnID, req.Namespace)
		for _, m := range req.Messages {
			fmt.Fprintf(&b, "%s %q\n", m.Role, m.Parts)
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, "  calls %q\n", c)
			}
			if m.ToolCallID != "" {
				fmt.Fprintf(&b, "  answers %q\n", m.ToolCallID)
			}
		}
		if req.Within != nil {
			fmt.Fprintf(&b, "within %v\n", req.Within.IDs())
		}
		o := req.Options
		for _, t := range o.Tools {
			fmt.Fprintf(&b, "tool %q %q %s\n", t.Name, t.Description, t.Parameters)
		}
		if o.Schema != nil {
			fmt.Fprintf(&b, "schema %s\n", o.Schema)
		}
		o.Tools, o.Schema = nil, nil
		fmt.Fprintln(&b, chattest.Options(o))
	}
	return b.String()
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

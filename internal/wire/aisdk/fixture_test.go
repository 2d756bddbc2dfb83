package aisdk

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

// TestFixtures plays every testdata/*.txtar: prose, a request, the events of a scripted turn, and the exact
// bytes of the response. A file "config" switches parts of Config on; a file "asked" holds what the Runner was
// asked.
func TestFixtures(t *testing.T) {
	wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) map[string]string {
		runner := &wiretest.Scripted{Steps: wiretest.Script(t, f.Text("events"))}
		h := handlerOf(runner, func(c *Config) { c.Vision = strings.Contains(f.Text("config"), "vision") })
		w := httptest.NewRecorder()
		serve(h).ServeHTTP(w, wiretest.Request(t, f.Text("request")))
		return map[string]string{"response": wiretest.Response(w, w.Body.String()), "asked": askedText(runner.Asked)}
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
		o.Tools = nil
		fmt.Fprintln(&b, chattest.Options(o))
	}
	return b.String()
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

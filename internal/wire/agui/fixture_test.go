package agui

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

// Every option that a request may have is described, and nothing else.
func TestOpenAPI_DescribesTheOptions(t *testing.T) {
	names := []string{"namespace"}
	for _, o := range wire.PageOptions {
		names = append(names, o.Name)
	}
	wiretest.Read(t, handlerOf(nil, nil).Protocol()).TestMembers(t, "AGUIOptions", names)
}

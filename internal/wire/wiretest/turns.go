package wiretest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
)

// PlayTurns is Play for fixtures of turns: prose, requests in order (request, request2…), the events of a
// scripted turn (see Script), and the exact bytes of the responses. The file "asked" has the requests that the
// Runner received. begin is called for each fixture. It must return a handler that runs turns with r.
func PlayTurns(t *testing.T, begin func(t *testing.T, f Fixture, r chat.Runner) http.Handler) {
	t.Helper()
	Play(t, func(t *testing.T, f Fixture) map[string]string {
		runner := &Scripted{Steps: Script(t, f.Text("events"))}
		h := begin(t, f, runner)
		got := f.respond(t, func(_ string, r *http.Request) string { return Serve(h, r) })
		got["asked"] = Asked(runner.Asked)
		return got
	})
}

// Asked returns requests in the form of a fixture. It omits members that few protocols set if they are zero.
func Asked(requests []chat.Request) string {
	var b strings.Builder
	for _, req := range requests {
		fmt.Fprintf(&b, "turn %s namespace %s conversation %q", req.TurnID, req.Namespace, req.ConversationID)
		for _, field := range []struct{ name, value string }{
			{"kind", req.Kind}, {"home", req.Home}, {"subject", req.Principal.Subject},
		} {
			if field.value != "" {
				fmt.Fprintf(&b, " %s %q", field.name, field.value)
			}
		}
		if req.Account != (chat.Account{}) {
			fmt.Fprintf(&b, " account %+v", req.Account)
		}
		if req.Within != nil {
			fmt.Fprintf(&b, " within %v", req.Within.IDs())
		}
		if req.Options.Where != nil {
			fmt.Fprintf(&b, " where %v", req.Options.Where)
		}
		if req.Whole {
			b.WriteString(" whole")
		}
		if req.Team {
			b.WriteString(" team")
		}
		b.WriteByte('\n')
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

// Send makes a request with pairs of header names and values, and returns the response.
func Send(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// token is the most frequent event of a stream.
var token chat.Event = chat.TextDelta{ID: "m", Text: " deductible"}

// TestTokens checks that write, for a stream that has begun, writes a token without allocating memory.
func TestTokens(t *testing.T, write func(chat.Event) error) {
	t.Helper()
	allocs := testing.AllocsPerRun(1000, func() {
		if err := write(token); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations a token", allocs)
	}
}

// BenchmarkTokens measures the cost of a token, from its event to the flushed bytes.
func BenchmarkTokens(b *testing.B, write func(chat.Event) error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := write(token); err != nil {
			b.Fatal(err)
		}
	}
}

package yourdata

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat. The header X-Test-User names the caller.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	cfg := Config{
		Runner:   runner,
		Store:    &transcripttest.Store{},
		Defaults: chat.Options{Mode: "hybrid", Temperature: 0.3},
		NewID:    wiretest.IDs(),
		Now:      func() time.Time { at = at.Add(time.Second); return at },
		Complete: func(w http.ResponseWriter, r *wire.Request) error {
			return wire.WriteJSON(w, http.StatusOK, fmt.Appendf(nil, `{"id":"x","object":"chat.completion","created":1,"model":"parley","choices":[],"asked":%s}`, r.Body))
		},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// serve stands in for internal/server.
func serve(h *Handler) http.Handler {
	return wiretest.Mount(h.Protocol(), slog.New(slog.DiscardHandler))
}

// TestFixtures plays every testdata/*.txtar: prose, the events of a scripted turn, and one request or more
// with the exact bytes of each response, "request" with "response", "request 2" with "response 2", and so on. A
// file "asked" holds what the Runner was asked.
func TestFixtures(t *testing.T) {
	wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) map[string]string {
		runner := &wiretest.Scripted{Steps: wiretest.Script(t, f.Text("events"))}
		h := serve(handlerOf(runner, nil))
		got := map[string]string{}
		for _, name := range f.Names() {
			if number, ok := strings.CutPrefix(name, "request"); ok {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, wiretest.Request(t, f.Text(name)))
				got["response"+number] = wiretest.Response(w, w.Body.String())
			}
		}
		var asked strings.Builder
		for _, req := range runner.Asked {
			fmt.Fprintf(&asked, "turn %s namespace %s whole %v\n", req.TurnID, req.Namespace, req.Whole)
			for _, m := range req.Messages {
				fmt.Fprintf(&asked, "%s %q\n", m.Role, m.Text())
			}
			fmt.Fprintln(&asked, chattest.Options(req.Options))
		}
		got["asked"] = asked.String()
		return got
	})
}

// Every line of every stream of the front end is ASCII, and one JSON object.
func TestFixtures_AreFramed(t *testing.T) {
	for _, f := range wiretest.Fixtures(t) {
		for _, name := range f.Names() {
			head, body, _ := strings.Cut(f.Text(name), "\n\n")
			if !strings.HasPrefix(name, "response") || !strings.Contains(head, "application/json-lines") {
				continue
			}
			for line := range strings.Lines(body) {
				if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "}\n") || strings.ContainsFunc(line, func(r rune) bool { return r > 0x7f }) {
					t.Errorf("%s has the line %q", f.Path, line)
				}
			}
		}
	}
}

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, nil).Protocol(), "")
}

const asking = `{"messages":[{"id":"m1","role":"user","content":"my secret"}]}`

func TestClientsThatLeave(t *testing.T) {
	for stream, reply := range map[string]string{
		"/conversation": asking, "/history/generate": asking,
	} {
		wiretest.Protocol{
			Handler: func(r chat.Runner, log *slog.Logger) http.Handler {
				return wiretest.Mount(handlerOf(r, nil).Protocol(), log)
			},
			ReplyPath: stream, ReplyBody: strings.Replace(reply, "{", `{"stream":false,`, 1),
			StreamPath: stream, StreamBody: reply,
		}.TestLeaving(t)
	}
	const call = `{"messages":[{"role":"user","content":"my secret"}],"data_sources":[{"type":"azure_search","parameters":{}}]`
	wiretest.Protocol{
		Handler: func(r chat.Runner, log *slog.Logger) http.Handler {
			return wiretest.Mount(handlerOf(r, nil).Protocol(), log)
		},
		ReplyPath: "/openai/deployments/x/chat/completions", ReplyBody: call + "}",
		StreamPath: "/openai/deployments/x/chat/completions", StreamBody: call + `,"stream":true}`,
	}.TestLeaving(t)
}

package yourdata

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/chat"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat. The header X-Test-User names the caller.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	cfg := Config{
		Base: wire.Base{
			Runner:   runner,
			Defaults: chat.Options{Mode: "hybrid", Temperature: 0.3},
			NewID:    wiretest.IDs(),
			Now:      func() time.Time { at = at.Add(time.Second); return at },
		},
		Store: &transcripttest.Store{},
		Complete: func(w http.ResponseWriter, r *wire.Request) error {
			return wire.WriteJSON(w, http.StatusOK, fmt.Appendf(nil, `{"id":"x","object":"chat.completion","created":1,"model":"parley","choices":[],"asked":%s}`, r.Body))
		},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }

func TestFixtures(t *testing.T) {
	wiretest.PlayTurns(t, func(_ *testing.T, _ wiretest.Fixture, r chat.Runner) http.Handler { return serve(handlerOf(r, nil)) })
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
	const call = `{"messages":[{"role":"user","content":"my secret"}],"data_sources":[{"type":"azure_search","parameters":{}}],"stream":`
	const asking = `{"messages":[{"id":"m1","role":"user","content":"my secret"}],"stream":`
	for path, body := range map[string]string{"/conversation": asking, "/history/generate": asking, "/openai/deployments/x/chat/completions": call} {
		wiretest.Leaving{
			Protocol:  func(r chat.Runner) wire.Protocol { return handlerOf(r, nil).Protocol() },
			ReplyPath: path, ReplyBody: body + "false}",
			StreamPath: path, StreamBody: body + "true}",
		}.Test(t)
	}
}

package ragchat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/wire/wiretest"
)

// TestFixtures plays every testdata/*.txtar: prose, a request, the events of a scripted turn with its
// entries in the ledger, and the exact bytes of the response. A file "config" changes the Config,
// "asked" has the requests that the Runner received, "steps" the processing steps of the run, and "did"
// the changes in the store.
func TestFixtures(t *testing.T) {
	wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) map[string]string {
		runner := &wiretest.Scripted{Steps: wiretest.Script(t, f.Text("events"))}
		b := &books{sessions: someSessions()}
		b.readLedger(t, f.Text("ledger"))
		h := handlerOf(runner, b, func(c *Config) { configure(t, c, b, f.Text("config")) })
		w := httptest.NewRecorder()
		serve(h).ServeHTTP(w, wiretest.Request(t, f.Text("request")))
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("internal text reached the client: %s", w.Body)
		}
		return map[string]string{
			"response": wiretest.Response(w, w.Body.String()), "asked": wiretest.Asked(runner.Asked), "steps": stepsText(h),
			"did": strings.Join(b.did, "\n") + "\n",
		}
	})
}

// configure reads lines "default NAME JSON", a default by its name in GET /api/config, "namespace
// NAME", "public URL", "model KEY", "synthesis KEY", "embedding KEY" and "broken", which makes the store fail.
func configure(t *testing.T, c *Config, b *books, text string) {
	t.Helper()
	c.Parameters = DefaultDefaults()
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "default":
			key, value, _ := strings.Cut(rest, " ")
			if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", key, value), &c.Parameters); err != nil {
				t.Fatal(err)
			}
		case "namespace":
			c.Namespace = rest
		case "public":
			c.PublicURL = rest
		case "model":
			c.Defaults.Models.Inference = rest
		case "synthesis":
			c.Defaults.Models.Synthesis = rest
		case "embedding":
			c.Embedding = rest
		case "broken":
			b.err = errors.New("secret disk")
		default:
			t.Fatalf("no part of the configuration is called %q", name)
		}
	}
}

// stepsText returns the processing steps of all runs, one a line.
func stepsText(h *Handler) string {
	var b strings.Builder
	for _, r := range h.hub.runs {
		if r.log != nil {
			b.WriteString("not done\n")
			continue
		}
		err := r.follow(context.Background(), func(e []byte) error {
			fmt.Fprintf(&b, "%s\n", e)
			return nil
		}, func() error { return nil })
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
	}
	return b.String()
}

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, &books{}, nil).Protocol(), "/p/ragchat")
}

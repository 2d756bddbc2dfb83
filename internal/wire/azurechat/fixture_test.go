package azurechat

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire/wiretest"
)

// TestFixtures plays testdata/*.txtar. A file "config" enables parts of Config.
func TestFixtures(t *testing.T) {
	wiretest.PlayTurns(t, func(t *testing.T, f wiretest.Fixture, r chat.Runner) http.Handler {
		return asForms(serve(handlerOf(r, func(c *Config) { configure(t, c, f.Text("config")) })))
	})
}

// asForms ends the lines of forms with CRLF and hides their length.
func asForms(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))))
			r.ContentLength = -1
		}
		h.ServeHTTP(w, r)
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

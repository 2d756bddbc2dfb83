package ragchat

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
)

var update = flag.Bool("update", false, "write what the handler answers into the fixtures")

// TestFixtures plays every testdata/*.txtar: prose, a request, the events of a scripted turn with
// what the ledger has of it, and the exact bytes of the response. A file "config" changes the
// Config, "asked" holds what the Runner was asked, "steps" the processing steps that the run left,
// and "did" what was changed in the store.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(strings.TrimSpace(string(archive.Comment))) < 20 {
				t.Error("the fixture does not say what it shows")
			}
			got := play(t, archive)
			if *update {
				writeFixture(t, path, archive, got)
				return
			}
			for name, want := range files(archive) {
				if have, ok := got[name]; ok {
					if diff := cmp.Diff(want, have); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
				}
			}
		})
	}
}

func files(a *txtar.Archive) map[string]string {
	m := map[string]string{}
	for _, f := range a.Files {
		m[f.Name] = string(f.Data)
	}
	return m
}

func play(t *testing.T, archive *txtar.Archive) map[string]string {
	t.Helper()
	f := files(archive)
	for _, required := range []string{"request", "response"} {
		if _, ok := f[required]; !ok {
			t.Fatalf("the fixture has no %s", required)
		}
	}
	runner := &scripted{steps: script(t, f["events"])}
	b := &books{sessions: someSessions()}
	b.readLedger(t, f["ledger"])
	h := handlerOf(runner, b, func(c *Config) { configure(t, c, b, f["config"]) })
	w := httptest.NewRecorder()
	serve(h).ServeHTTP(w, requestOf(t, []byte(f["request"])))
	if strings.Contains(w.Body.String(), "secret") {
		t.Errorf("internal text reached the client: %s", w.Body)
	}
	return map[string]string{
		"response": responseText(w), "asked": askedText(runner.asked), "steps": stepsText(h),
		"did": strings.Join(b.did, "\n") + "\n",
	}
}

// configure reads lines "default NAME JSON", a default by its name in GET /api/config, "namespace
// NAME", "public URL", "model KEY", "synthesis KEY", "embedding KEY" and "broken", which makes the store fail.
func configure(t *testing.T, c *Config, b *books, text string) {
	t.Helper()
	c.Defaults = DefaultDefaults()
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "default":
			key, value, _ := strings.Cut(rest, " ")
			if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", key, value), &c.Defaults); err != nil {
				t.Fatal(err)
			}
		case "namespace":
			c.Namespace = rest
		case "public":
			c.PublicURL = rest
		case "model":
			c.Engine.Models.Inference = rest
		case "synthesis":
			c.Engine.Models.Synthesis = rest
		case "embedding":
			c.Embedding = rest
		case "broken":
			b.err = errors.New("secret disk")
		default:
			t.Fatalf("no part of the configuration is called %q", name)
		}
	}
}

func responseText(w *httptest.ResponseRecorder) string {
	var b strings.Builder
	fmt.Fprintln(&b, w.Code)
	for _, key := range []string{"Content-Type", "Retry-After", "X-Turn-Id"} {
		if v := w.Header().Get(key); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, v)
		}
	}
	return b.String() + "\n" + w.Body.String()
}

func askedText(asked []chat.Request) string {
	var b strings.Builder
	for _, req := range asked {
		fmt.Fprintf(&b, "turn %s namespace %s conversation %q kind %q home %q account %+v\n",
			req.TurnID, req.Namespace, req.ConversationID, req.Kind, req.Home, req.Account)
		for _, m := range req.Messages {
			fmt.Fprintf(&b, "%s %q\n", m.Role, m.Text())
		}
		fmt.Fprintln(&b, chattest.Options(req.Options))
	}
	return b.String()
}

// stepsText returns the processing steps of all runs, one a line.
func stepsText(h *Handler) string {
	var b strings.Builder
	for _, r := range h.hub.runs {
		for _, e := range r.events {
			fmt.Fprintf(&b, "%s\n", e)
		}
		if !r.done {
			b.WriteString("not done\n")
		}
	}
	return b.String()
}

func writeFixture(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	for i, f := range archive.Files {
		if text, ok := got[f.Name]; ok {
			archive.Files[i].Data = []byte(text)
		}
	}
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

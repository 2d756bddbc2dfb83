package openai

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
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

// TestFixtures plays every testdata/*.txtar: prose, a request, the events of a scripted turn,
// and the exact bytes of the response. A file "config" switches parts of Config on; a file
// "asked" holds what the Runner was asked.
func TestFixtures(t *testing.T) {
	for _, path := range fixtures(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
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

// Every event of every streamed fixture is one line of data with an empty line behind it, [DONE]
// is the last one unless there was an error, and every fixture says in prose what it shows.
func TestFixtures_AreFramedAndExplained(t *testing.T) {
	for _, path := range fixtures(t) {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(archive.Comment)) < 40 {
			t.Errorf("%s does not say what it shows", path)
		}
		head, body, _ := strings.Cut(files(archive)["response"], "\n\n")
		if strings.Contains(head, "text/event-stream") {
			checkFraming(t, path, body)
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

func fixtures(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return paths
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
	h := handlerOf(runner, func(c *Config) { configure(t, c, f["config"]) })
	w := httptest.NewRecorder()
	serve(h).ServeHTTP(w, requestOf(t, f["request"]))
	return map[string]string{"response": responseText(w), "asked": askedText(runner.asked)}
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

// requestOf parses a request as a fixture prints it: method and path, headers, an empty line,
// the body.
func requestOf(t *testing.T, text string) *http.Request {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	r, err := http.NewRequestWithContext(t.Context(), method, "http://parley.example"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, ": ")
		r.Header.Set(key, value)
	}
	return r
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

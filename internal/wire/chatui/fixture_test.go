package chatui

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/chat"
)

var update = flag.Bool("update", false, "write what the handler answers into the fixtures")

// TestFixtures plays every testdata/*.txtar: prose, the events of a scripted turn, and one request
// or more with the exact bytes of each response, "request" with "response", "request 2" with
// "response 2", and so on, a second apart. The parts of a stream stand behind the time at which they
// arrived. A file "config" switches parts of Config on; a file "asked" holds what the Runner was
// asked. Time is the one of testing/synctest.
func TestFixtures(t *testing.T) {
	for _, path := range fixtures(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]string
			synctest.Test(t, func(t *testing.T) { got = play(t, archive) })
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

// Every event of every stream is one line of data with an empty line behind it, and every fixture
// says in prose what it shows.
func TestFixtures_AreFramedAndExplained(t *testing.T) {
	for _, path := range fixtures(t) {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(archive.Comment)) < 40 {
			t.Errorf("%s does not say what it shows", path)
		}
		for name, text := range files(archive) {
			head, body, _ := strings.Cut(text, "\n\n")
			if strings.HasPrefix(name, "response") && strings.Contains(head, "text/event-stream") {
				checkFraming(t, path, body)
			}
		}
	}
}

func checkFraming(t *testing.T, path, body string) {
	t.Helper()
	if !strings.HasSuffix(body, "\n\n") {
		t.Errorf("%s does not end with an empty line", path)
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		at, line, _ := strings.Cut(event, "\n")
		if !strings.HasPrefix(at, "@") || strings.ContainsAny(line, "\n\r") ||
			!strings.HasPrefix(line, `data: {"messageId":`) && line != ": keep-alive" {
			t.Errorf("%s has the event %.100q", path, event)
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
	runner := &scripted{steps: script(t, f["events"])}
	h := serve(handlerOf(runner, func(c *Config) { configure(t, c, f["config"]) }))
	got := map[string]string{}
	for _, file := range archive.Files {
		number, ok := strings.CutPrefix(file.Name, "request")
		if !ok {
			continue
		}
		if _, ok := f["response"+number]; !ok {
			t.Fatalf("the fixture has no response%s", number)
		}
		w := record()
		h.ServeHTTP(w, requestOf(t, string(file.Data)))
		got["response"+number] = responseText(w)
		time.Sleep(time.Second)
	}
	if len(got) == 0 {
		t.Fatal("the fixture has no request")
	}
	got["asked"] = askedText(runner.asked)
	return got
}

func configure(t *testing.T, c *Config, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "minimal":
			c.Minimal = true
		case "no_partials":
			c.NoPartials = true
		case "agents":
			c.Agents = strings.Fields(rest)
		case "public_url":
			c.PublicURL = rest
		case "max_messages":
			c.MaxMessages = 2
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

func responseText(w *arrivals) string {
	var b strings.Builder
	fmt.Fprintln(&b, w.Code)
	for _, key := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering", "Retry-After", "X-Turn-Id"} {
		if v := w.Header().Get(key); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, v)
		}
	}
	return b.String() + "\n" + w.text()
}

func askedText(asked []chat.Request) string {
	var b strings.Builder
	for _, req := range asked {
		fmt.Fprintf(&b, "turn %s team %v namespace %s conversation %q subject %q\n",
			req.TurnID, req.Team, req.Namespace, req.ConversationID, req.Principal.Subject)
		for _, m := range req.Messages {
			fmt.Fprintf(&b, "%s %q\n", m.Role, m.Parts)
		}
		fmt.Fprintf(&b, "top %d, follow-ups %v\n", req.Options.Top, req.Options.FollowUps)
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

package chatui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/wire/wiretest"
)

// TestFixtures plays every testdata/*.txtar: prose, the events of a scripted turn, and one or more
// requests with the exact bytes of each response, "request" with "response", "request 2" with "response
// 2", and so on, a second apart. Each part of a stream follows the time of its arrival. A file "config"
// enables parts of Config; a file "asked" has the requests that the Runner received. The time is that of
// testing/synctest.
func TestFixtures(t *testing.T) {
	wiretest.Play(t, func(t *testing.T, f wiretest.Fixture) (got map[string]string) {
		synctest.Test(t, func(t *testing.T) { got = play(t, f) })
		return got
	})
}

func play(t *testing.T, f wiretest.Fixture) map[string]string {
	t.Helper()
	runner := &wiretest.Scripted{Steps: script(t, f.Text("events"))}
	h := serve(handlerOf(runner, func(c *Config) { configure(t, c, f.Text("config")) }))
	got := map[string]string{}
	for _, name := range f.Names() {
		number, ok := strings.CutPrefix(name, "request")
		if !ok {
			continue
		}
		w := record()
		h.ServeHTTP(w, wiretest.Request(t, f.Text(name)))
		got["response"+number] = wiretest.Response(w.ResponseRecorder, w.text(), "Cache-Control", "X-Accel-Buffering")
		time.Sleep(time.Second)
	}
	if len(got) == 0 {
		t.Fatal("the fixture has no request")
	}
	got["asked"] = wiretest.Asked(runner.Asked)
	return got
}

// Every event of every stream is one line of data followed by an empty line.
func TestFixtures_AreFramed(t *testing.T) {
	for _, f := range wiretest.Fixtures(t) {
		for _, name := range f.Names() {
			head, body, _ := strings.Cut(f.Text(name), "\n\n")
			if strings.HasPrefix(name, "response") && strings.Contains(head, "text/event-stream") {
				checkFraming(t, f.Path, body)
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

func TestFixtures_AreDescribed(t *testing.T) {
	wiretest.TestDescribed(t, handlerOf(nil, nil).Protocol(), "")
}

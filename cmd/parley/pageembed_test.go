package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
)

// startHost starts a web site that shows the chat of a server. Its policy allows no inline script or style.
func startHost(t *testing.T, server string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src %[1]s; connect-src %[1]s; frame-src %[1]s", server))
		options := ""
		for _, name := range []string{"theme", "color", "lang"} {
			if value := r.URL.Query().Get(name); value != "" {
				options += fmt.Sprintf(" data-%s=%q", name, value)
			}
		}
		chat := ""
		if r.URL.Path == "/component" {
			options, chat = ` data-launcher="none"`, "<parley-chat></parley-chat>"
		}
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Shop</title><script src="%s/embed.js"%s async></script></head>`+
			`<body><main><h1>Shop</h1><p>We sell amber.</p>%s</main></body></html>`, server, options, chat)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A question that a text file answers. A PDF takes a minute to read on a busy machine.
const (
	askedOfText = "How many passengers does the rescue boat Martha carry?"
	citedText   = "The rescue boat Martha carries twelve passengers and two crew."
)

func TestPage_IsAChatOnOtherSites(t *testing.T) {
	pageTest(t)
	docs := folderOf(t, map[string]string{"boats.txt": "Boats\n\n" + citedText + "\n\nIt was repaired in winter.\n"})
	server, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	listed, other := startHost(t, "http://"+server), startHost(t, "http://"+server)
	// The last --addr counts.
	env := []string{"PARLEY_EMBED_ORIGINS=" + listed, "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + startCitingEcho(t) + "/v1"}
	p := startServe(t, env, "--addr", server, "--model", "openai:test-model", "--stages-rewrite", "builtin:rules", docs)
	p.addr = server
	if err := awaitIngested(p.addr); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Title, Answer, Source, Focused, Kept, Component, FramedText string
		Findings, Errors, Foreign, Loaded, Said, Refused            []string
		Rules, Dialogs, FramesAtFirst, Cookies, CookiesSent         int
		Rendered                                                    int
		Closed, Framed                                              bool
	}
	onPage(t, "embed", p.addr, map[string]any{"question": askedOfText, "listed": listed, "other": other, "shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	for _, finding := range append(got.Findings, got.Errors...) {
		t.Error(finding)
	}
	if len(got.Foreign) > 0 || got.Dialogs > 0 || len(got.Said) > 0 {
		t.Errorf("requests to %q, %d dialogs, and in the console %q", got.Foreign, got.Dialogs, got.Said)
	}
	if got.FramesAtFirst != 1 {
		t.Errorf("the page has %d frames before somebody opens the chat", got.FramesAtFirst)
	}
	if got.Title != "Ask a question" || !strings.Contains(got.Answer, "twelve passengers") || got.Kept != got.Answer ||
		!strings.HasPrefix(got.Source, "/content/boats.txt") || !strings.Contains(got.Focused, "source") || !got.Closed || got.Component != askedOfText {
		t.Errorf("the chat: %+v", got)
	}
	if got.Cookies > 0 || got.CookiesSent > 0 {
		t.Errorf("%d cookies, %d of them sent", got.Cookies, got.CookiesSent)
	}
	if got.Rules < 60 {
		t.Errorf("axe checked %d rules", got.Rules)
	}
	if len(got.Refused) != 1 || !strings.Contains(got.Refused[0], other) || !strings.Contains(got.Refused[0], "embed.origins") || got.Rendered != 0 || got.Framed || got.FramedText != "" {
		t.Errorf("a page that is not listed: the console says %q, %d elements, a frame says it is ready: %v %q", got.Refused, got.Rendered, got.Framed, got.FramedText)
	}
	checkEmbedSize(t, p.addr, got.Loaded)
}

// startCitingEcho starts a model that says what it was asked, except for the one question that it answers.
func startCitingEcho(t *testing.T) string {
	t.Helper()
	echo, err := url.Parse(startEcho(t))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(body, []byte(askedOfText+`\n\nSources`)) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			httputil.NewSingleHostReverseProxy(echo).ServeHTTP(w, r)
			return
		}
		scriptedAnswer{text: citedText + " [boats.txt]"}.send(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// maxEmbedded is the limit in bytes, compressed, of what a frame loads when somebody opens its chat.
const maxEmbedded = 27 << 10

func checkEmbedSize(t *testing.T, addr string, loaded []string) {
	t.Helper()
	total := 0
	for _, path := range append(loaded, "/embed") {
		r, err := http.NewRequest(http.MethodGet, "http://"+addr+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		reply, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, reply.Body)
		if reply.Body.Close(); err != nil {
			t.Fatal(err)
		}
		total += int(n)
	}
	if t.Logf("the embedded chat is %d bytes in %d files, compressed", total, len(loaded)+1); total > maxEmbedded || len(loaded) < 3 {
		t.Errorf("the embedded chat is %d bytes in %q, compressed; at most %d are allowed", total, loaded, maxEmbedded)
	}
}

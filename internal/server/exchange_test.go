package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/internal/ident"
	"parley/internal/wire"
)

// lines decodes a JSON log.
func lines(t testing.TB, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	d := json.NewDecoder(log)
	for d.More() {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

func TestExchange_HasAnIdAndOneLogLineWithoutPathsAndQueries(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, options{log: &log})
	ids := map[string]bool{}
	requests := []struct{ method, target, body, route string }{
		{"POST", "/chat?token=canary", question, "/chat"},
		{"GET", "/content/canary.pdf", "", "/content/{path...}"},
		{"GET", "/canary", "", "unknown"},
		{"CANARY", "/chat", "", "/chat"},
		{"GET", "/healthz", "", "/healthz"},
	}
	for _, r := range requests {
		w := do(s, r.method, r.target, r.body, "X-Request-Id", "canary")
		id := w.Header().Get("X-Request-Id")
		if !ident.Valid(id) || ids[id] {
			t.Errorf("%s %s: the request id is %q", r.method, r.target, id)
		}
		ids[id] = true
	}
	text := log.String()
	if strings.Contains(strings.ToLower(text), "canary") || strings.Contains(text, "What is covered") {
		t.Errorf("the log holds what the client sent: %s", text)
	}
	logged := lines(t, &log)
	if len(logged) != len(requests) {
		t.Fatalf("%d log lines for %d requests: %s", len(logged), len(requests), text)
	}
	for i, line := range logged {
		if line["msg"] != "request served" || line["route"] != requests[i].route || !ids[line["request_id"].(string)] {
			t.Errorf("line %d is %v", i, line)
		}
	}
	if logged[0]["turn_id"] == "" || logged[0]["turn_id"] == nil {
		t.Errorf("the line of a turn has no turn_id: %v", logged[0])
	}
	// The runner logs a turn at level Info. A refusal has only this line.
	for i, want := range []string{"DEBUG", "INFO", "INFO", "INFO", "DEBUG"} {
		if logged[i]["level"] != want {
			t.Errorf("%s %s is logged at %v, want %s", requests[i].method, requests[i].route, logged[i]["level"], want)
		}
	}
}

// A client that leaves is not the server's fault: the log has no error and the metrics no 500.
func TestExchange_CountsALeavingClientAsSuch(t *testing.T) {
	var log bytes.Buffer
	ctx, leave := context.WithCancel(t.Context())
	runner := held()
	s := newServer(t, options{runner: runner, log: &log})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/chat", strings.NewReader(question))
	r.Host = "localhost"
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}()
	wait(t, runner.started)
	leave()
	wait(t, done)
	if got := samples(t, s)[`parley_http_requests_total{route="/chat",status="499"}`]; got != "1" {
		t.Errorf("%q requests are counted as 499", got)
	}
	for _, line := range lines(t, &log) {
		if line["level"] != "DEBUG" {
			t.Errorf("logged: %v", line)
		}
	}
}

func TestExchange_SetsSecurityHeadersOnEverything(t *testing.T) {
	s := newServer(t, options{})
	targets := append(pathsOf(s, http.MethodGet), "/none", "/chat")
	for _, target := range targets {
		for _, method := range []string{"GET", "POST", "OPTIONS", "DELETE"} {
			h := do(s, method, target, question).Header()
			for _, name := range []string{
				"X-Content-Type-Options", "Referrer-Policy", "Content-Security-Policy", "Cross-Origin-Resource-Policy", "Cache-Control",
			} {
				if h.Get(name) == "" {
					t.Errorf("%s %s: no %s", method, target, name)
				}
			}
		}
	}
}

// panicking replaces a route by one that panics, before or after its reply has begun.
func panicking(begun bool) func(wire.Route) wire.Route {
	return func(rt wire.Route) wire.Route {
		rt.Handle = func(w http.ResponseWriter, _ *wire.Request) error {
			if begun {
				_, _ = io.WriteString(w, "{\"delta\":{}}\n")
				_ = http.NewResponseController(w).Flush()
			}
			panic("canary")
		}
		return rt
	}
}

func TestExchange_AnswersAPanicInTheShapeOfTheRoute(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, options{wrap: panicking(false), log: &log})
	const sentence = `"The app encountered an error processing your request.\nIf you are an administrator of the app, view the full error in the logs."`
	for path, want := range map[string]string{
		"/chat":      `{"error":` + sentence + "}\n",
		"/api/chat/": `{"error":{"code":"internal_error","message":` + sentence + "}}\n",
	} {
		log.Reset()
		w := do(s, http.MethodPost, path, question)
		if w.Code != http.StatusInternalServerError || w.Body.String() != want {
			t.Errorf("POST %s: status %d, body %q, want %q", path, w.Code, w.Body, want)
		}
		logged := lines(t, &log)
		if len(logged) != 2 || logged[0]["level"] != "ERROR" || !strings.Contains(logged[0]["stack"].(string), "exchange_test.go") ||
			logged[1]["status"] != float64(500) {
			t.Errorf("POST %s: the log is %v", path, logged)
		}
	}
}

func TestExchange_CutsTheConnectionWhenAStreamPanics(t *testing.T) {
	l := start(t, options{wrap: panicking(true)})
	res, err := l.client.Post(l.url+"/chat/stream", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != "{\"delta\":{}}\n" {
		t.Errorf("the stream ended with %q, %v", body, err)
	}
	res, err = l.client.Get(l.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

// deadlines is a writer that records its write deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func TestRecorder_GivesWritesADeadlineAtMostOnceASecond(t *testing.T) {
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	w := newRecorder(d, time.Minute, prometheus.NewGauge(prometheus.GaugeOpts{Name: "x"}))
	for range 100 {
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.set) != 1 || time.Until(d.set[0]) > time.Minute {
		t.Fatalf("the deadlines are %v", d.set)
	}
	w.armed = w.armed.Add(-rearmAfter)
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Fatal(err)
	}
	if len(d.set) != 2 || !d.Flushed {
		t.Errorf("after a second: deadlines %v, flushed %v", d.set, d.Flushed)
	}
}

package server

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostileBodies returns the bodies of row R13 of HARDENING.md.
func hostileBodies() map[string]struct {
	body   string
	status int
} {
	message := `{"role":"user","content":"q"}`
	const mib = 1 << 20
	return map[string]struct {
		body   string
		status int
	}{
		"1 MiB":              {`{"messages":[{"role":"user","content":"` + strings.Repeat("a", mib-len(`{"messages":[{"role":"user","content":"`)-len(`"}]}`)) + `"}]}`, 200},
		"1 MiB + 1":          {`{"messages":[{"role":"user","content":"` + strings.Repeat("a", mib-len(`{"messages":[{"role":"user","content":"`)-len(`"}]}`)+1) + `"}]}`, 413},
		"depth 10,000":       {`{"messages":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, 400},
		"open depth":         {`{"messages":` + strings.Repeat(`{"a":`, 100_000), 400},
		"1e6 messages":       {`{"messages":[` + strings.Repeat(message+",", 1_000_000) + message + `]}`, 413},
		"messages to 1 MiB":  {`{"messages":[` + strings.Repeat(message+",", mib/(len(message)+1)-2) + message + `]}`, 400},
		"1e6 empty elements": {`{"messages":[` + strings.Repeat("0,", 500_000) + `0]}`, 400},
		"NaN":                {`{"messages":[` + message + `],"context":{"overrides":{"temperature":NaN}}}`, 400},
		"Infinity":           {`{"messages":[` + message + `],"context":{"overrides":{"temperature":-Infinity}}}`, 400},
		"1e999":              {`{"messages":[` + message + `],"context":{"overrides":{"temperature":1e999}}}`, 400},
		"duplicate keys":     {`{"messages":[` + message + `],"messages":[` + message + `]}`, 400},
		"nested duplicates":  {`{"messages":[{"role":"user","content":"a","content":"b"}]}`, 400},
		"invalid UTF-8":      {"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", 400},
		"BOM":                {"\ufeff" + question, 400},
		"two values":         {question + question, 400},
		"control character":  {"{\"messages\":[{\"role\":\"user\",\"content\":\"\n\"}]}", 400},
		"trailing comma":     {`{"messages":[` + message + `,]}`, 400},
		"comment":            {`{"messages":[` + message + `]} # q`, 400},
		"null":               {`null`, 400},
	}
}

func TestTurns_RefuseHostileBodiesOnEveryPath(t *testing.T) {
	s := newServer(t, options{})
	for name, c := range hostileBodies() {
		for _, path := range postPaths(s) {
			if strings.HasSuffix(path, "/") && path != "/api/chat/" {
				continue // the same handler as without the slash
			}
			w := do(s, http.MethodPost, path, c.body, "Content-Type", "application/json")
			if w.Code != c.status {
				t.Errorf("%s: POST %s: status %d, want %d: %.200s", name, path, w.Code, c.status, w.Body)
			}
			if w.Code != http.StatusOK && !strings.HasPrefix(w.Body.String(), `{"error":`) {
				t.Errorf("%s: POST %s: body %.200s", name, path, w.Body)
			}
		}
	}
}

func TestTurns_AllocateAtMostTenTimesAHostileBody(t *testing.T) {
	s := newServer(t, options{})
	for name, c := range hostileBodies() {
		if c.status == http.StatusOK {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do(s, http.MethodPost, "/chat", c.body)
		runtime.ReadMemStats(&after)
		const fixed = 64 << 10 // overhead of any request
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(10*len(c.body)+fixed); got > most {
			t.Errorf("%s: %d bytes for a body of %d", name, got, len(c.body))
		}
	}
}

func TestTurns_UseTheConfiguredBodyLimit(t *testing.T) {
	s := newServer(t, options{cfg: Config{MaxBody: int64(len(question)) - 1}})
	for _, path := range postPaths(s) {
		if w := do(s, http.MethodPost, path, question); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("POST %s: status %d, want 413", path, w.Code)
		}
	}
}

const busy = "Too many answers are in progress. Please try again in a moment."

func TestTurns_OverTheLimitAnswer429InTheShapeOfTheProtocolAndFreesPlaces(t *testing.T) {
	runner := held()
	l := start(t, options{runner: runner, turnMax: 1})
	res, _ := openStream(t, l, "/chat/stream")
	wait(t, runner.started)
	for path, want := range map[string]string{
		"/chat":            `{"error":"` + busy + "\"}\n",
		"/chat/stream":     `{"error":"` + busy + "\"}\n",
		"/api/chat/":       `{"error":{"code":"rate_limited","message":"` + busy + "\"}}\n",
		"/api/chat/stream": `{"error":{"code":"rate_limited","message":"` + busy + "\"}}\n",
	} {
		w := do(l.Server, http.MethodPost, path, question)
		if w.Code != http.StatusTooManyRequests || w.Body.String() != want {
			t.Errorf("POST %s: status %d, body %q, want 429 and %q", path, w.Code, w.Body, want)
		}
		if w.Header().Get("Retry-After") == "" {
			t.Errorf("POST %s: no Retry-After", path)
		}
	}
	if w := do(l.Server, http.MethodGet, "/config", ""); w.Code != http.StatusOK {
		t.Errorf("GET /config while busy: status %d", w.Code)
	}
	res.Body.Close()
	wait(t, runner.ended)
	close(runner.resume)
	// The place becomes free when the turn's range ends, a moment after the turn was cancelled.
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if w := do(l.Server, http.MethodPost, "/chat", question); w.Code == http.StatusOK {
			return
		}
	}
	t.Error("the place of the turn that ended was never free again")
}

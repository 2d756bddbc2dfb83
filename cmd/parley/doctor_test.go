package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/test/needs"
)

// doctor runs the command and returns its findings by check, and its exit code.
func doctor(t *testing.T, env []string, args ...string) (findings map[string][]finding, code int) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"doctor", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var report doctorReport
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if report.OK != (code == exitOK) {
		t.Errorf("ok is %v, and the exit code is %d", report.OK, code)
	}
	findings = map[string][]finding{}
	for _, f := range report.Findings {
		findings[f.Check] = append(findings[f.Check], f)
	}
	return findings, code
}

// wantFinding fails unless a check found this, and says what to do if it is not fine.
func wantFinding(t *testing.T, findings map[string][]finding, check string, v verdict, text string) {
	t.Helper()
	for _, f := range findings[check] {
		if f.Verdict == v && strings.Contains(f.Found+" "+f.Remedy, text) {
			return
		}
	}
	t.Errorf("%s: %+v, want a %s with %q", check, findings[check], v, text)
}

// What another server says is in it, so it must not control the terminal, or look like a finding of its own.
func TestFound_IsOneLineOfVisibleCharacters(t *testing.T) {
	f := found(broken, "", "it says %s", "\x1b[2Jno\nok       all: fine"+strings.Repeat("é", 2000))[0].Found
	if !strings.HasPrefix(f, "it says [2Jno ok all: fine") || len([]rune(f)) != maxFound+1 {
		t.Errorf("%q", f)
	}
}

// modelServer lists a model for the key "right". Its clock is wrong.
func modelServer(t *testing.T, clock time.Duration) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(clock).UTC().Format(http.TimeFormat))
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"object":"list","data":[{"id":"gpt-4o-mini","object":"model"}]}`)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestDoctor_SaysWhatIsWrongWithModels(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		name, key, model string
		clock            time.Duration
		check            string
		verdict          verdict
		text             string
		code             int
	}{
		{"all is well", "right", "openai:gpt-4o-mini", 0, "models", fine, "the key is accepted", exitOK},
		{"a wrong key", "wrong", "openai:gpt-4o-mini", 0, "models", broken, "check the API key of openai", exitFailure},
		{"no key", "", "anthropic:claude", 0, "models", broken, "ANTHROPIC_API_KEY", exitFailure},
		{"an unknown model", "right", "openai:gpt-4o-mimi", 0, "models", warned, "does not list gpt-4o-mimi", exitOK},
		{"a clock that agrees", "right", "openai:gpt-4o-mini", 0, "clock", fine, "agrees", exitOK},
		{"a clock that is wrong", "right", "openai:gpt-4o-mini", time.Hour, "clock", broken, "timedatectl", exitFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := []string{"OPENAI_API_KEY=" + c.key, "OPENAI_BASE_URL=" + modelServer(t, c.clock), "ANTHROPIC_API_KEY="}
			findings, code := doctor(t, env, "--data", data, "--model", c.model)
			wantFinding(t, findings, c.check, c.verdict, c.text)
			if code != c.code {
				t.Errorf("exit code %d, want %d: %+v", code, c.code, findings)
			}
		})
	}
	if exists(data) {
		t.Error("the data folder was created")
	}
}

func TestDoctor_SaysWhatIsWrongWithTheDataFolder(t *testing.T) {
	t.Parallel()
	data := stationFolder(t, "one")
	findings, code := doctor(t, nil, "--data", data)
	wantFinding(t, findings, "databases", fine, "1 document")
	wantFinding(t, findings, "data folder", fine, "can be written")
	wantFinding(t, findings, "vectors", skipped, "no vectors")
	if code != exitOK {
		t.Errorf("exit code %d: %+v", code, findings)
	}
	findings, _ = doctor(t, nil, "--data", data, "--embedding", "builtin:multilingual-e5-small")
	wantFinding(t, findings, "vectors", warned, "by words alone")

	if runtime.GOOS != "windows" {
		if err := os.Chmod(data, 0o755); err != nil {
			t.Fatal(err)
		}
		findings, _ = doctor(t, nil, "--data", data)
		wantFinding(t, findings, "data folder", warned, "chmod 700")
	}

	name := filepath.Join(data, "corpus.db")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := 5000; at < len(raw); at += 4096 {
		raw[at] ^= 1
	}
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	findings, code = doctor(t, nil, "--data", data)
	wantFinding(t, findings, "databases", broken, "restore it from a backup")
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	findings, _ = doctor(t, nil, "--data", name)
	wantFinding(t, findings, "data folder", broken, "is a file")
}

func TestDoctor_ComparesTheEmbeddingModelWithTheStoredVectors(t *testing.T) {
	t.Parallel()
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(filepath.Join(docs, "a.md"), []byte("# A\n\nThe keeper is called Ada.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parley(t, "ingest", docs, "--data", data, "--embedding", "builtin:multilingual-e5-small")
	for _, c := range []struct {
		embedding string
		verdict   verdict
		text      string
	}{
		{"builtin:multilingual-e5-small", fine, "builtin:multilingual-e5-small"},
		{wordsAlone, warned, "they are not used"},
		{"ollama:nomic-embed-text", warned, "embed all documents again"},
	} {
		findings, _ := doctor(t, []string{"PARLEY_EMBEDDING=" + c.embedding, "OLLAMA_HOST=127.0.0.1:1"}, "--data", data)
		wantFinding(t, findings, "vectors", c.verdict, c.text)
	}
}

func TestDoctor_FindsWhatAProxyDoes(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := startServe(t, nil, "--data", data)
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	target := &url.URL{Scheme: "http", Host: p.addr}
	forward := httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	small := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1000 {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	defer small.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, c := range []struct {
		url     string
		check   string
		verdict verdict
		text    string
	}{
		{"http://" + p.addr, "public URL", fine, "leads to a server"},
		{"http://" + p.addr, "idle connections", fine, "was not cut"},
		{small.URL, "public URL", broken, "client_max_body_size"},
		{other.URL, "public URL", broken, "answers 404"},
		{"http://127.0.0.1:1", "public URL", broken, "start the server"},
	} {
		findings, code := doctor(t, nil, "--data", data, "--public-url", c.url, "--idle", "200ms")
		wantFinding(t, findings, c.check, c.verdict, c.text)
		if c.verdict == fine && (code != exitOK || len(findings[c.check]) != 1) {
			t.Errorf("%s: exit code %d, %+v", c.url, code, findings)
		}
	}
	cut := cuttingProxy(t, p.addr)
	findings, _ := doctor(t, nil, "--data", data, "--public-url", "http://"+cut, "--idle", "1h")
	wantFinding(t, findings, "idle connections", broken, "proxy_read_timeout")
}

// cuttingProxy forwards connections, and cuts those on which nothing was received for a while.
func cuttingProxy(t *testing.T, to string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	pass := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		buf := make([]byte, 4096)
		for from.SetReadDeadline(time.Now().Add(10*time.Second)) == nil {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go func() { // until the listener is closed
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return l.Addr().String()
}

package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/test/needs"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // without this the server does not notice that a client leaves
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func run(t *testing.T, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fakeClock matches the fake times in the replies of the servers' tests.
var fakeClock = regexp.MustCompile(`"created": ?[01]([,}])`)

// The servers of the Azure sample wrote these replies. A rule that they break is therefore not a rule of the protocol.
func TestRules_HoldForWhatTheOriginalServersSent(t *testing.T) {
	root := "../../../shared/data/wire-golds"
	if _, err := os.Stat(root); err != nil {
		needs.Missing(t, "the golds of the folder shared")
	}
	for dir, p := range map[string]Protocol{"legacy-choices-2024-06": azure0128(), "aichatprotocol-2026-04": azure0529()} {
		paths, _ := filepath.Glob(filepath.Join(root, dir, "test_chat_*", "*", "result.json*"))
		judged := 0
		for _, path := range paths {
			if strings.Contains(path, "exception") {
				continue
			}
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			body = fakeClock.ReplaceAll(body, []byte(`"created": 1706301586$1`))
			name, media := "reply", "application/json"
			if strings.HasSuffix(path, ".jsonlines") {
				name, media = "stream", "application/json-lines"
			}
			x := p.Exchanges[slices.IndexFunc(p.Exchanges, func(x Exchange) bool { return x.Name == name })]
			r := &Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {media}}, Body: body, exchange: x}
			r.decode()
			if _, choices := r.at("choices"); choices != (p.Name == "azure-0128") {
				continue // left behind by an older version
			}
			judged++
			for _, f := range judge(x, r, "") {
				if f.Outcome != Held {
					t.Errorf("%s: %s: %s", strings.TrimPrefix(path, root), f.Rule, f.Detail)
				}
			}
		}
		if judged < 5 {
			t.Errorf("%s: only %d replies were judged", dir, judged)
		}
	}
}

func TestRun_EndsWhateverTheServerDoes(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = io.CopyN(z, zeros{}, 64<<20)
	_ = z.Close()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	for name, h := range map[string]http.HandlerFunc{
		"an endless body": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("a"), 1<<20)); err != nil {
					return
				}
			}
		},
		"a body that never ends": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"a reply that never comes": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		},
		"a bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		},
		"deep JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("[", 1<<20)) },
		"a cut body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, Options{URL: serve(t, h), Protocols: []string{"azure-0529", "openai", "mcp"}, Timeout: time.Second / 5})
			if r.Broken < 3 || r.Held > r.Broken {
				t.Errorf("%d rules held, %d broken", r.Held, r.Broken)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestRun_SaysThatAServerCannotBeReached(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	if _, err := Run(t.Context(), Options{URL: s.URL}); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("the error is %v", err)
	}
	for _, o := range []Options{{URL: "localhost:8000"}, {URL: "ftp://a"}, {URL: "http://a", Protocols: []string{"gopher"}}} {
		if _, err := Run(t.Context(), o); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestReport_NeverShowsTheHeadersThatWereGiven(t *testing.T) {
	const key = "key-of-the-user"
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Error("the header was not sent")
		}
		_, _ = io.WriteString(w, "{}")
	})
	r := run(t, Options{URL: url, Protocols: []string{"openai"}, Header: http.Header{"Authorization": {"Bearer " + key}}})
	var all bytes.Buffer
	for _, write := range []func(io.Writer) error{r.Print, r.JSON, r.JUnit} {
		if err := write(&all); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(all.String(), key) || !strings.Contains(all.String(), "Authorization: …") {
		t.Error("the report shows the key, or not that there is one")
	}
}

func TestRun_ReadOnlyStoresNothing(t *testing.T) {
	var methods []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m"}],"id":"x","session_id":"s"}`)
	})
	run(t, Options{URL: url, ReadOnly: true, Protocols: []string{"files", "ragchat", "chatui", "responses"}})
	for _, m := range methods {
		if strings.HasPrefix(m, "PUT") || strings.HasPrefix(m, "DELETE") || strings.Contains(m, "session") && !strings.Contains(m, "/v1/") || m == "POST /v1/files" {
			t.Errorf("%s was sent", m)
		}
	}
}

func TestReport_IsReadByPrograms(t *testing.T) {
	r := run(t, Options{URL: serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\x00<b>]]>\xff") }), Protocols: []string{"openai"}})
	var j, x bytes.Buffer
	if err := errors.Join(r.JSON(&j), r.JUnit(&x)); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(j.Bytes(), &back); err != nil || back.Broken != r.Broken {
		t.Errorf("JSON: %v", err)
	}
	var suites junitSuites
	if err := xml.Unmarshal(x.Bytes(), &suites); err != nil || len(suites.Suites) != 1 || suites.Suites[0].Failures != r.Broken {
		t.Errorf("JUnit: %v", err)
	}
}

func TestDecoded_IsOneValueWithoutAKeyTwice(t *testing.T) {
	for in, ok := range map[string]bool{
		`{"a":[{"b":1},{"b":2}],"b":{"a":1}}`: true, `{"a":1,"a":2}`: false, `[{"x":{"a":[],"a":1}}]`: false,
		`{"a":"a","b":"a"}`: true, `{} {}`: false, `{}x`: false, "\"\xff\"": false, ``: false, `[]`: true, `5`: true,
	} {
		if _, err := decoded([]byte(in)); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("{\"delta\":{}}\n{}\n"))
	f.Add([]byte(`{"choices":[{"index":0}],"output":[{"content":[{"text":"a","annotations":[{}]}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range Protocols() {
			for _, x := range p.Exchanges {
				for _, status := range []int{200, 400} {
					r := &Reply{Status: status, Header: http.Header{}, Body: body, exchange: x}
					r.decode()
					for _, f := range judge(x, r, "") {
						if f.Outcome == Broken && f.Detail == "" {
							t.Errorf("%s, %s: no detail", f.Exchange, f.Rule)
						}
					}
				}
			}
		}
	})
}

func TestRules_HaveNamesOfTheirOwn(t *testing.T) {
	for _, p := range Protocols() {
		seen := map[string]bool{}
		for _, x := range p.Exchanges {
			for _, rule := range x.Rules {
				name := fmt.Sprint(x.Name, "/", rule.Name)
				if seen[name] || rule.Demand == "" || rule.Place == "" || rule.holds == nil {
					t.Errorf("%s: the rule %s occurs twice or is not complete", p.Name, name)
				}
				seen[name] = true
			}
		}
	}
}

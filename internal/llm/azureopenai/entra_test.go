package azureopenai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/upstream"
)

// identity issues tokens, as Entra ID or as the identity endpoint of a machine.
type identity struct {
	*httptest.Server
	answer func(n int, w http.ResponseWriter) // to the n-th request, from 1; nil gives a token for an hour

	mu    sync.Mutex
	asked []string
}

func newIdentity(t *testing.T) *identity {
	i := &identity{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		i.mu.Lock()
		i.asked = append(i.asked, fmt.Sprintf("%s %s %s metadata=%s header=%s", r.Method, r.URL.Path, r.Form.Encode(),
			r.Header.Get("Metadata"), r.Header.Get("X-Identity-Header")))
		n := len(i.asked)
		i.mu.Unlock()
		if i.answer != nil {
			i.answer(n, w)
			return
		}
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3599,"access_token":"token-%d"}`, n)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *identity) calls() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.asked)
}

// asks makes a completion with tokens of Entra ID and returns the header that the resource received.
func asks(t *testing.T, entra Entra) (http.Header, error) {
	t.Helper()
	up := llmtest.NewUpstreamFor(t, llmtest.AzureOpenAI)
	p, err := New(Config{Endpoint: up.URL, Entra: entra, Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}})
	if err != nil {
		t.Fatal(err)
	}
	got := llmtest.Ask(t.Context(), p, llmtest.Question("m"))
	if got.Err == nil {
		got = llmtest.Ask(t.Context(), p, llmtest.Question("m"))
	}
	_, h := up.Last()
	return h, got.Err
}

func TestEntra_GetsTokensInEveryWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "assertion")
	if err := os.WriteFile(file, []byte("signed.by.cluster\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const scope = "scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default"
	const resource = "resource=https%3A%2F%2Fcognitiveservices.azure.com"
	for name, c := range map[string]struct {
		entra func(url string) Entra
		want  string
	}{
		"secret": {
			func(url string) Entra {
				return Entra{Tenant: "my-tenant", Client: "app", Secret: "s3cret", Authority: url + "/", Managed: true}
			},
			"POST /my-tenant/oauth2/v2.0/token client_id=app&client_secret=s3cret&grant_type=client_credentials&" + scope + " metadata= header=",
		},
		"workload identity": {
			func(url string) Entra {
				return Entra{Tenant: "my-tenant", Client: "app", AssertionFile: file, Authority: url, Endpoint: "x", Header: "y"}
			},
			"POST /my-tenant/oauth2/v2.0/token client_assertion=signed.by.cluster&" +
				"client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_id=app&" +
				"grant_type=client_credentials&" + scope + " metadata= header=",
		},
		"App Service": {
			func(url string) Entra { return Entra{Endpoint: url + "/msi/token", Header: "h3ader", Client: "one"} },
			"GET /msi/token api-version=2019-08-01&client_id=one&" + resource + " metadata= header=h3ader",
		},
		"virtual machine": {
			func(url string) Entra { return Entra{Managed: true, metadata: url} },
			"GET /metadata/identity/oauth2/token api-version=2018-02-01&" + resource + " metadata=true header=",
		},
		"another scope": {
			func(url string) Entra {
				return Entra{Managed: true, metadata: url, Scope: "https://ai.azure.com/.default"}
			},
			"GET /metadata/identity/oauth2/token api-version=2018-02-01&resource=https%3A%2F%2Fai.azure.com metadata=true header=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIdentity(t)
			h, err := asks(t, c.entra(i.URL))
			if err != nil || h.Get("Authorization") != "Bearer token-1" || h.Get("Api-Key") != "" {
				t.Errorf("header %v, %v", h, err)
			}
			if diff := cmp.Diff([]string{c.want}, i.asked); diff != "" {
				t.Errorf("asked for a token (-want +got):\n%s", diff)
			}
		})
	}
}

// The canaries of S10: no error contains a secret, an assertion or a token.
func TestEntra_RefusalsAreErrorsWithoutSecrets(t *testing.T) {
	const secret = "canary~secret.0123"
	answers := map[string]struct {
		status int
		body   string
		says   string
		want   llm.Error
	}{
		"wrong secret": {401, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: ` + secret + `"}`,
			"AADSTS7000215", llm.Error{Status: 401}},
		"busy":       {429, `{"error":"temporarily_unavailable","error_description":"wait"}`, "wait", llm.Error{Status: 429, Retryable: true}},
		"down":       {500, secret, "status 500", llm.Error{Status: 500, Retryable: true}},
		"updating":   {410, "", "status 410", llm.Error{Status: 410, Retryable: true}},
		"redirect":   {302, "", "status 302", llm.Error{Status: 401}},
		"no token":   {200, `{"expires_in":3599}`, "not a token", llm.Error{Status: 502, Retryable: true}},
		"two lines":  {200, `{"access_token":"a\nX-Evil: b"}`, "not a token", llm.Error{Status: 502, Retryable: true}},
		"not JSON":   {200, "<html>" + secret, "not a token", llm.Error{Status: 502, Retryable: true}},
		"not a life": {200, `{"access_token":"a","expires_in":"soon"}`, "not a token", llm.Error{Status: 502, Retryable: true}},
	}
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			i := newIdentity(t)
			i.answer = func(_ int, w http.ResponseWriter) {
				w.Header().Set("Location", "https://evil.example/")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}
			_, err := asks(t, Entra{Tenant: "t", Client: "c", Secret: secret, Authority: i.URL})
			checkRefusal(t, err, c.says, c.want, secret)
			if i.calls() != 1 {
				t.Errorf("asked %d times", i.calls())
			}
		})
	}
	gone := newIdentity(t)
	gone.Close()
	_, err := asks(t, Entra{Tenant: "t", Client: "c", Secret: secret, Authority: gone.URL})
	checkRefusal(t, err, "ask for a token", llm.Error{Status: 502, Retryable: true}, secret)
	_, err = asks(t, Entra{Tenant: "t", Client: "c", AssertionFile: filepath.Join(t.TempDir(), "none")})
	checkRefusal(t, err, "read the token", llm.Error{Status: 401}, secret)
}

func checkRefusal(t *testing.T, err error, says string, want llm.Error, secret string) {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || !strings.Contains(e.Error(), says) || strings.Contains(fmt.Sprintf("%v %+v", err, *e), secret) {
		t.Fatalf("error = %v", err)
	}
	bare := *e
	bare.Err = nil
	if diff := cmp.Diff(want, bare); diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestEntra_RefusesWhatCannotWork(t *testing.T) {
	for name, entra := range map[string]Entra{
		"nothing":           {},
		"no secret":         {Tenant: "t", Client: "c"},
		"no tenant":         {Client: "c", Secret: "s"},
		"no header":         {Endpoint: "http://127.0.0.1/token"},
		"an open authority": {Tenant: "t", Client: "c", Secret: "s", Authority: "http://login.example"},
		"no authority":      {Tenant: "t", Client: "c", Secret: "s", Authority: "login.microsoftonline.com"},
	} {
		if _, err := New(Config{Endpoint: "https://x.openai.azure.com", Entra: entra}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestEntra_AsksForTheScopeOfTheCloud(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://x.openai.azure.com": "https://cognitiveservices.azure.com/.default",
		"https://x.openai.azure.us":  "https://cognitiveservices.azure.us/.default",
		"https://x.openai.azure.cn":  "https://cognitiveservices.azure.cn/.default",
		"https://proxy.example.net":  "https://cognitiveservices.azure.com/.default",
	} {
		u, err := url.Parse(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		var e Entra
		if err := e.check(u); err != nil || e.Scope != want {
			t.Errorf("%s: %q, %v", endpoint, e.Scope, err)
		}
		for suffix, authority := range map[string]string{
			".com": "https://login.microsoftonline.com", ".us": "https://login.microsoftonline.us", ".cn": "https://login.partner.microsoftonline.cn",
		} {
			if strings.HasSuffix(endpoint, suffix) && e.Authority != authority {
				t.Errorf("%s: tokens come from %s", endpoint, e.Authority)
			}
		}
	}
}

func TestReadAnswer_RefreshesBeforeTheEnd(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for body, want := range map[string][2]time.Duration{
		`{"access_token":"a","expires_in":3600}`:            {55 * time.Minute, time.Hour},
		`{"access_token":"a","expires_in":"86400"}`:         {24*time.Hour - 5*time.Minute, 24 * time.Hour},
		`{"access_token":"a","expires_in":240}`:             {2 * time.Minute, 4 * time.Minute},
		`{"access_token":"a","expires_on":"1003600"}`:       {55 * time.Minute, time.Hour},
		`{"access_token":"a"}`:                              {150 * time.Second, 5 * time.Minute},
		`{"access_token":"a","expires_in":-5}`:              {0, 0},
		`{"access_token":"a","expires_in":999999999999999}`: {24*time.Hour - 5*time.Minute, 24 * time.Hour},
	} {
		got, err := readAnswer([]byte(body), now)
		if err != nil || got.refresh.Sub(now) != want[0] || got.expires.Sub(now) != want[1] {
			t.Errorf("%s: refresh in %v, expires in %v, %v; want %v", body, got.refresh.Sub(now), got.expires.Sub(now), err, want)
		}
	}
}

// clock is a time that only tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// source issues tokens for an hour, each with a number. It waits at its gate before it answers.
type source struct {
	clock *clock
	gate  chan error // an error received from it is the answer

	mu    sync.Mutex
	calls int
}

func (s *source) fetch(ctx context.Context) (token, error) {
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.mu.Unlock()
	select {
	case err := <-s.gate:
		if err != nil {
			return token{}, err
		}
	case <-ctx.Done():
		return token{}, ctx.Err()
	}
	now := s.clock.Now()
	return token{text: fmt.Sprint("token-", n), refresh: now.Add(55 * time.Minute), expires: now.Add(time.Hour)}, nil
}

func opened() (*source, *tokens, *clock) {
	c := &clock{now: time.Unix(1_000_000, 0)}
	s := &source{clock: c, gate: make(chan error)}
	return s, newTokens(s.fetch, c.Now), c
}

func TestTokens_AreAskedForOnce(t *testing.T) {
	s, tokens, _ := opened()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got, err := tokens.get(t.Context()); got != "token-1" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	s.gate <- nil
	wg.Wait()
	if s.calls != 1 {
		t.Errorf("asked %d times", s.calls)
	}
}

func TestTokens_AreRenewedBeforeTheyExpire(t *testing.T) {
	s, tokens, clock := opened()
	close(s.gate)
	want := func(text string) {
		t.Helper()
		if got, err := tokens.get(t.Context()); got != text || err != nil {
			t.Errorf("%q, %v, want %s", got, err, text)
		}
	}
	want("token-1")
	clock.add(54 * time.Minute)
	want("token-1")
	clock.add(2 * time.Minute)
	want("token-2")
	clock.add(2 * time.Hour)
	want("token-3")
}

func TestTokens_AreUsedWhileTheNextOneIsAskedFor(t *testing.T) {
	s, tokens, clock := opened()
	go func() { s.gate <- nil }()
	if _, err := tokens.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.add(56 * time.Minute)
	renewed := make(chan string)
	go func() {
		got, _ := tokens.get(t.Context())
		renewed <- got
	}()
	for len(tokens.turn) == 0 { // until it asks
		time.Sleep(time.Millisecond)
	}
	if got, err := tokens.get(t.Context()); got != "token-1" || err != nil {
		t.Errorf("meanwhile: %q, %v", got, err)
	}
	s.gate <- nil
	if got := <-renewed; got != "token-2" {
		t.Errorf("then: %q", got)
	}
}

func TestTokens_OutliveAFailureToRenewThem(t *testing.T) {
	s, tokens, clock := opened()
	go func() { s.gate <- nil }()
	if _, err := tokens.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.add(56 * time.Minute)
	go func() { s.gate <- errors.New("down") }()
	for range 3 { // the second and the third do not ask
		if got, err := tokens.get(t.Context()); got != "token-1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	clock.add(5 * time.Minute)
	go func() { s.gate <- errors.New("still down") }()
	if got, err := tokens.get(t.Context()); got != "" || err == nil {
		t.Errorf("after its end: %q, %v", got, err)
	}
	if s.calls != 3 {
		t.Errorf("asked %d times", s.calls)
	}
}

func TestTokens_AFailureIsSharedByThoseWhoWaited(t *testing.T) {
	s, tokens, clock := opened()
	var come atomic.Int32
	tokens.now = func() time.Time { come.Add(1); return clock.Now() }
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := tokens.get(t.Context()); err == nil {
				t.Error("no error")
			}
		})
	}
	for come.Load() < 20 { // all have seen that there is no token
		time.Sleep(time.Millisecond)
	}
	s.gate <- errors.New("down")
	wg.Wait()
	if s.calls != 1 {
		t.Errorf("asked %d times", s.calls)
	}
}

func TestTokens_ACallerWhoLeavesTakesNobodyAlong(t *testing.T) {
	s, tokens, _ := opened()
	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := tokens.get(ctx)
		first <- err
	}()
	for len(tokens.turn) == 0 {
		time.Sleep(time.Millisecond)
	}
	second := make(chan string)
	go func() {
		got, _ := tokens.get(t.Context())
		second <- got
	}()
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the one who left: %v", err)
	}
	s.gate <- nil
	if got := <-second; got != "token-2" {
		t.Errorf("the other: %q", got)
	}
}

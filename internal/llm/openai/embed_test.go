package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
)

func openEmbedder(t *testing.T, url string, short bool) llm.Embedder {
	cfg := openai.Config{BaseURL: url + "/v1", APIKey: "test-key"}
	if short {
		cfg.Upstream.FirstByte, cfg.Upstream.Idle = 500*time.Millisecond, 500*time.Millisecond
	}
	return provider(t, cfg)
}

func TestEmbed_EndsEveryFaultInVectorsOrAnError(t *testing.T) {
	llmtest.RunEmbedFaults(t, llmtest.OpenAIEmbeddings, llmtest.DocumentWants(), openEmbedder)
}

func TestEmbedFixtures(t *testing.T) { llmtest.RunEmbedFixtures(t, *update, openEmbedder) }

// embedServer answers each request with one vector, or refuses it as refuse says.
func embedServer(t *testing.T, refuse func(format string) (status int, body string)) (e llm.Embedder, formats *[]string) {
	formats = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Format string `json:"encoding_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		*formats = append(*formats, req.Format)
		w.Header().Set("Content-Type", "application/json")
		if status, body := refuse(req.Format); status != 0 {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return
		}
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,2]}]}`)
	}))
	t.Cleanup(s.Close)
	return openEmbedder(t, s.URL, false), formats
}

func TestEmbed_AsksNoMoreForAFormatThatWasRefused(t *testing.T) {
	e, formats := embedServer(t, func(format string) (int, string) {
		if format != "" {
			return 400, `{"error":{"message":"Unrecognized request argument supplied: encoding_format"}}`
		}
		return 0, ""
	})
	for range 2 {
		if _, err := e.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"base64", "", ""}, *formats); diff != "" {
		t.Error(diff)
	}
}

func TestEmbed_MakesOneCallWhenSomethingElseIsRefused(t *testing.T) {
	e, formats := embedServer(t, func(string) (int, string) { return 400, `{"error":{"message":"too long"}}` })
	_, err := e.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: []string{"a"}})
	if err == nil || !strings.Contains(err.Error(), "too long") || len(*formats) != 1 {
		t.Errorf("%v after %q", err, *formats)
	}
}

func TestEmbedLimits_AreThoseOfOpenAIForItsOwnServerOnly(t *testing.T) {
	for base, want := range map[string]llm.EmbedLimits{
		"": openai.OwnEmbedLimits, "https://api.openai.com/v1/": openai.OwnEmbedLimits, "http://localhost:8000/v1": {},
	} {
		if got := provider(t, openai.Config{BaseURL: base}).EmbedLimits("m"); got != want {
			t.Errorf("%q: %+v, want %+v", base, got, want)
		}
	}
}

func TestEmbed_EndsWhatTakesTooLongOverall(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.OpenAIEmbeddings)
	e := provider(t, openai.Config{BaseURL: up.URL + "/v1", Upstream: upstream.Config{Overall: 50 * time.Millisecond}})
	_, err := e.Embed(t.Context(), llm.EmbedRequest{Model: "stall", Texts: []string{"a"}})
	if e, ok := errors.AsType[*llm.Error](err); !ok || !e.Retryable || !strings.Contains(e.Error(), "longer than allowed") {
		t.Errorf("error = %v", err)
	}
	if up.Calls() > 0 { // else the time was over before the request was sent
		<-up.Aborted()
	}
}

func TestEmbed_UsesTheConnectionAgain(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.OpenAIEmbeddings)
	e := openEmbedder(t, up.URL, false)
	ports := map[string]bool{}
	for range 3 {
		if _, err := e.Embed(t.Context(), llm.EmbedRequest{Model: "none", Texts: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		ports[up.Peer()] = true
	}
	if len(ports) != 1 {
		t.Errorf("connections: %v, want one", ports)
	}
}

package llmtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"parley/internal/llm"
)

// RunSizes asks a provider for the contexts of models and compares them with want. The provider's server
// has the list at a path; the provider must read it only once. open is as for RunFaults.
func RunSizes(t *testing.T, path, list string, want map[string]int, open func(t *testing.T, url string, short bool) llm.Model) {
	var reads atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reads.Add(1); r.URL.Path != path {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, list)
	}))
	defer s.Close()
	router := llm.Router{Providers: map[string]llm.Model{"p": open(t, s.URL, false)}}
	var all sync.WaitGroup
	for range 5 {
		for model, tokens := range want {
			all.Go(func() {
				if got := router.Window(t.Context(), "p:"+model); got != tokens {
					t.Errorf("%s: %d tokens, want %d", model, got, tokens)
				}
			})
		}
	}
	all.Wait()
	if n := reads.Load(); n != 1 {
		t.Errorf("the list was read %d times", n)
	}
}

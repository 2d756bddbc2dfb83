package llmtest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/internal/llm"
)

// RunMiscall asks a provider for a completion. The upstream answers that the model has called a tool in
// a form that it cannot read. The error must tell that the model is at fault: asking the same again
// would not help, but the model can be told. open is as for RunFaults.
func RunMiscall(t *testing.T, status int, mediaType, body string, open func(t *testing.T, url string, short bool) llm.Model) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer s.Close()
	got := Ask(t.Context(), open(t, s.URL, false), Question("m"))
	if e, ok := errors.AsType[*llm.Error](got.Err); !ok || !e.Miscalled || e.Retryable || e.Filtered {
		t.Errorf("error = %+v", got.Err)
	}
}

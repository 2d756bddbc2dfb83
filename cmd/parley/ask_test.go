package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oneDocument returns a data folder with one document about leave.
func oneDocument(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	docs := filepath.Join(dir, "leave.md")
	if err := os.WriteFile(docs, []byte("Employees have twenty-five days of leave."), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	parley(t, "ingest", "--data", data, docs)
	return data
}

func TestAsk_SaysWhatToDoAboutAModelThatFails(t *testing.T) {
	t.Parallel()
	data := oneDocument(t)
	for _, c := range []struct {
		status int
		want   string
	}{
		{http.StatusUnauthorized, ": check the API key of openai; parley config shows where it is set\n"},
		{http.StatusForbidden, ": check the API key of openai; "},
		{http.StatusNotFound, ": check the model's name, which parley models lists, and the address of openai, "},
		{http.StatusBadRequest, "the upstream answered with status 400: "},
		{0, ": check that openai runs, and its address, which parley config shows\n"},
	} {
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			w.Write([]byte(`{"error":{"message":"No."}}`))
		}))
		if c.status == 0 {
			upstream.Close() // closes the port
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"ask", "--data", data, "--model", "openai:gpt", "How many days of leave?"}, &out, &errs,
			environment(map[string]string{"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": upstream.URL}))
		upstream.Close()
		if got := errs.String(); code != exitFailure || !strings.HasPrefix(got, "parley: no answer from openai:gpt: ") ||
			!strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 || strings.Contains(got, "secret") {
			t.Errorf("status %d: code %d, %s", c.status, code, got)
		}
	}
}

// The fallback's key is wrong, so the advice must not be to check the model's.
func TestAsk_BlamesNoModelForItsFallback(t *testing.T) {
	t.Parallel()
	data := oneDocument(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		w.Write([]byte(`{"error":{"message":"No."}}`))
	}))
	defer upstream.Close()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"ask", "--data", data, "--model", "openai:gpt", "--fallback", "anthropic:claude", "How many days of leave?"},
		&out, &errs, environment(map[string]string{"OPENAI_API_KEY": "sk-a", "OPENAI_BASE_URL": "http://127.0.0.1:1",
			"ANTHROPIC_API_KEY": "sk-b", "ANTHROPIC_BASE_URL": upstream.URL}))
	last := errs.String()[strings.LastIndex(strings.TrimSuffix(errs.String(), "\n"), "\n")+1:]
	if code != exitFailure || !strings.HasPrefix(last, "parley: no answer from openai:gpt or anthropic:claude: ") || strings.Contains(last, "openai;") {
		t.Errorf("code %d, %s", code, errs.String())
	}
}

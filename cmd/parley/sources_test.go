package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/retrieval"
)

// Who may change what the server has brought in manages its sources; names of files that failed are for owners.
func TestSources_AreManagedByThoseWhoMayChangeThem(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	const address = "s3://handbook/hr"
	corpus := m.serving.corpus
	err := corpus.Apply(t.Context(), retrieval.Batch{Namespace: "default", PutRoots: []retrieval.Root{{Path: address, Source: `{"remote":true}`}}})
	if err == nil {
		err = corpus.Apply(t.Context(), retrieval.Batch{Namespace: "default", PutStates: []retrieval.Root{{Path: address,
			State: `{"began":"2026-11-28T10:00:00Z","ended":"2026-11-28T10:01:00Z","failed":1,"failures":[{"path":"` + canary + `.docx","detail":"is torn"}]}`}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		State    string
		Failed   int
		Failures []struct{ Path string }
	}
	list := func(key string) []told {
		t.Helper()
		w := m.as(key, http.MethodGet, "/api/sources", "", "")
		var got struct{ Sources []told }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || len(got.Sources) != 1 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return got.Sources
	}
	if got := list(m.admin)[0]; got.State != "ok" || got.Failed != 1 || len(got.Failures) != 1 {
		t.Errorf("an administrator is told %+v", got)
	}
	if got := list(m.other)[0]; got.State != "ok" || got.Failed != 1 || len(got.Failures) != 0 {
		t.Errorf("an editor is told %+v", got)
	}
	body := `{"address":"` + address + `"}`
	for _, c := range []struct{ path, state string }{{"pause", "paused"}, {"run", "waiting"}, {"resume", "waiting"}} {
		if w := m.as(m.other, http.MethodPost, "/api/sources/"+c.path, body, "application/json"); w.Code != http.StatusOK || list(m.other)[0].State != c.state {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	for name, c := range map[string]struct {
		key, body string
		status    int
	}{
		"a reader":          {m.reader, body, http.StatusForbidden},
		"another namespace": {m.elsewhere, `{"address":"` + address + `","namespace":"elsewhere"}`, http.StatusNotFound},
		"its own namespace": {m.elsewhere, body, http.StatusNotFound},
		"no such source":    {m.other, `{"address":"s3://handbook"}`, http.StatusNotFound},
		"no address":        {m.other, `{}`, http.StatusNotFound},
		"a number":          {m.other, `{"address":7}`, http.StatusNotFound},
		"no object":         {m.other, `[]`, http.StatusBadRequest},
	} {
		for _, action := range []string{"pause", "run", "resume"} {
			if w := m.as(c.key, http.MethodPost, "/api/sources/"+action, c.body, "application/json"); w.Code != c.status || strings.Contains(w.Body.String(), canary) {
				t.Errorf("%s, %s: %d %s, want %d", name, action, w.Code, w.Body, c.status)
			}
		}
	}
	if w := m.as(newKey(t, m.serving.instance, apikey.Key{Role: access.Reader}), http.MethodGet, "/api/sources", "", ""); w.Code != http.StatusForbidden {
		t.Errorf("a reader: %d %s", w.Code, w.Body)
	}
	if log := m.as(m.admin, http.MethodGet, "/api/audit?action=change&limit=10000", "", "").Body.String(); !strings.Contains(log, "source "+address+" of default") {
		t.Errorf("the audit log does not name the source: %s", log)
	}
}

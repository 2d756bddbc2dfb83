package responses

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat, and with the namespaces default and hr.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Runner: runner,
		Store:  &transcripttest.Store{},
		Namespaces: func(context.Context, access.Principal) ([]string, error) {
			return []string{"default", "hr"}, nil
		},
		Defaults: chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, MaxOutputTokens: 1024, FollowUps: true},
		Now:      func() time.Time { return time.Unix(1706301586, 0) },
		NewID:    wiretest.IDs(),
		Open:     openStore,
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// openStore knows the store vs_tower, in which the document 01JDOC is of a file; a filter lets the revisions 5 and 7 through.
func openStore(_ context.Context, owner, id string, f filesapi.Filter) (s filesapi.Searched, err error) {
	if owner != "" || id != "vs_tower" {
		return s, library.ErrNotFound
	}
	if f != nil {
		s.Within = retrieval.NewRevisions([]int64{7, 5})
	}
	s.File = func(_ context.Context, document string) (m library.Member, err error) {
		if document != "01JDOC" {
			return m, library.ErrNotFound
		}
		return library.Member{File: "file-1", Filename: "Eiffel Tower.pdf", Attributes: json.RawMessage(`{"year":1889}`)}, nil
	}
	return s, nil
}

// serve stands in for internal/server.
func serve(h *Handler) http.Handler {
	return wiretest.Mount(h.Protocol(), slog.New(slog.DiscardHandler))
}

// send makes a request and returns what came.
func send(h *Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	serve(h).ServeHTTP(w, r)
	return w
}

// idIn returns the id in a JSON object.
func idIn(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var object struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &object); err != nil || object.ID == "" {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return object.ID
}

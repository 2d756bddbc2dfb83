package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler whose ids and times are the same in each run, with the namespaces default
// and hr.
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Base: wire.Base{
			Runner: runner,
			Namespaces: func(context.Context, access.Principal) ([]string, error) {
				return []string{"default", "hr"}, nil
			},
			Defaults: chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, MaxOutputTokens: 1024, FollowUps: true},
			Now:      func() time.Time { return time.Unix(1706301586, 0) },
			NewID:    wiretest.IDs(),
		},
		Store: &transcripttest.Store{},
		Open:  openStore,
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// openStore opens only the store vs_tower. Its document 01JDOC belongs to a file; a filter accepts the
// revisions 5 and 7.
func openStore(_ context.Context, owner, id string) (s filesapi.Searched, err error) {
	if owner != "" || id != "vs_tower" {
		return s, library.ErrNotFound
	}
	s.File = func(_ context.Context, document string) (m library.Member, err error) {
		if document != "01JDOC" {
			return m, library.ErrNotFound
		}
		return library.Member{File: "file-1", Filename: "Eiffel Tower.pdf", Attributes: json.RawMessage(`{"year":1889}`)}, nil
	}
	return s, nil
}

// send makes a request and returns the response.
func send(h *Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return wiretest.Send(serve(h), method, target, body, headers...)
}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }

// idIn returns the id of a JSON object.
func idIn(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var object struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &object); err != nil || object.ID == "" {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return object.ID
}

package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
)

func TestRequest_AgainAsksTheGateForTheSameRight(t *testing.T) {
	asked := 0
	s := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(),
		Admit: func(r *http.Request, right wire.Right) (access.Principal, error) {
			if asked++; right != wire.Change || r.Header.Get("Authorization") != "Bearer k" {
				t.Errorf("%v %v", right, r.Header)
			}
			if asked == 1 {
				return access.Principal{Subject: "ann"}, nil
			}
			return access.Principal{}, &chat.Error{Kind: chat.Forbidden, Msg: "Not any more."}
		},
		Protocols: []wire.Protocol{{Routes: []wire.Route{{Pattern: "POST /keep", Right: wire.Change, Fail: wire.PlainError, Handle: func(w http.ResponseWriter, r *wire.Request) error {
			if who, err := r.Again(); err == nil || who.Subject != "" {
				t.Errorf("%+v, %v", who, err)
			}
			return wire.Reply(w, http.StatusOK, r.Who.Subject)
		}}}}},
	})
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://localhost/keep", nil)
	r.Header.Set("Authorization", "Bearer k")
	s.serveHTTP(w, r)
	if w.Code != http.StatusOK || asked != 2 {
		t.Errorf("%d %s, asked %d times", w.Code, w.Body, asked)
	}
}

package server

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestIndex_PointsToTheRoutes(t *testing.T) {
	w := do(newServer(t, options{cfg: Config{Version: "1.2.3"}}), http.MethodGet, "/", "")
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, "Parley 1.2.3 ") || !strings.Contains(body, "curl http://localhost:8000/chat ") {
		t.Errorf("status %d, body %s", w.Code, body)
	}
}

func TestReadyz_SaysWhetherQuestionsCanBeAnsweredAndHowIngestionGoes(t *testing.T) {
	st := &state{ready: errors.New("the store at /var/secret opens"), ingestion: Ingestion{Running: true, Files: 9, Done: 4, Indexed: 3, Failed: 1}}
	s := newServer(t, options{state: st})
	w := do(s, http.MethodGet, "/readyz", "")
	const ingestion = `"ingestion":{"running":true,"files":9,"done":4,"indexed":3,"unchanged":0,"skipped":0,"failed":1,"documents":0,"pages":0,"chunks":0,"partly":0,"embedding":false,"unembedded":0}}` + "\n"
	if want := `{"status":"starting",` + ingestion; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("before: status %d, body %s, want %s", w.Code, w.Body, want)
	}
	st.ready = nil
	w = do(s, http.MethodGet, "/readyz", "")
	if want := `{"status":"ready",` + ingestion; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("after: status %d, body %s, want %s", w.Code, w.Body, want)
	}
	if w := do(s, http.MethodGet, "/healthz", ""); w.Body.String() != `{"status":"ok"}`+"\n" {
		t.Errorf("/healthz says %s", w.Body)
	}
}

func TestConfig_FillsEveryZeroFieldThatHasADefault(t *testing.T) {
	cfg := reflect.ValueOf(Config{}.withDefaults())
	mayBeZero := map[string]bool{"PublicURL": true, "Origins": true, "EmbedOrigins": true}
	for i := range cfg.NumField() {
		if name := cfg.Type().Field(i).Name; cfg.Field(i).IsZero() && !mayBeZero[name] {
			t.Errorf("%s has no default", name)
		}
	}
	if got := (Config{Drain: -1}).withDefaults().Drain; got != 0 {
		t.Errorf("a negative drain window is %v", got)
	}
}

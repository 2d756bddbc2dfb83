package server

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/wire"
)

func admitAll(*http.Request, wire.Right) (access.Principal, error) { return access.Principal{}, nil }

// A path with another beginning leads to the same route with the same rights, and what has no route is refused in the
// form of the API.
func TestAlias_LeadsToTheRouteWithItsRight(t *testing.T) {
	var saw string
	route := wire.Route{
		Pattern: "GET /v1/things/{id}", Right: wire.Ask, Fail: wire.PlainError,
		Handle: func(w http.ResponseWriter, r *wire.Request) error {
			saw = r.PathValue("id") + " " + r.URL.Query().Get("api-version")
			return wire.WriteJSON(w, http.StatusOK, []byte("{}"))
		},
	}
	log := slog.New(slog.DiscardHandler)
	s := New(Config{}, Deps{Log: log, Metrics: NewMetrics(), Admit: admitAll, Protocols: []wire.Protocol{{
		Routes: []wire.Route{route}, Root: "/v1/",
		Aliases: []wire.Alias{{From: "/openai/v1/", To: "/v1/"}, {From: "/openai/", To: "/v1/"}},
		Unknown: func(w http.ResponseWriter, _ *wire.Request, _ error) { w.WriteHeader(http.StatusTeapot) },
	}}})
	for target, want := range map[string]int{
		"/v1/things/a%2Fb?api-version=1":              200,
		"/openai/v1/things/a%2Fb?api-version=1":       200,
		"/openai/things/a%2Fb?api-version=1":          200,
		"/openai/v2/things/a":                         http.StatusTeapot,
		"/openai/v1/":                                 http.StatusTeapot,
		"/openaix/things/a":                           404,
		"/openai/v1/../v1/things/a":                   http.StatusTeapot,
		"/openai/openai/things/a":                     http.StatusTeapot,
		"/openai/" + strings.Repeat("v1/", 1000) + "": http.StatusTeapot,
	} {
		saw = ""
		w := do(s, http.MethodGet, target, "")
		if w.Code != want || want == 200 && saw != "a/b 1" {
			t.Errorf("%.60s: %d %s, saw %q, want %d", target, w.Code, w.Body, saw, want)
		}
	}
}

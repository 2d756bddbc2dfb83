package server

import (
	"net/http"

	"parley/internal/wire"
)

// The states of /readyz.
const (
	stateReady    = "ready"
	stateStarting = "starting"
	stateStopping = "stopping"
)

type health struct {
	Status string `json:"status"`
}

type readiness struct {
	Status    string    `json:"status"`
	Ingestion Ingestion `json:"ingestion"`
}

// healthz reports that the process is alive.
func (s *Server) healthz(w http.ResponseWriter, _ *wire.Request) error {
	return wire.Reply(w, http.StatusOK, health{Status: "ok"})
}

// readyz reports whether questions can be answered now, which may be true during ingestion.
func (s *Server) readyz(w http.ResponseWriter, r *wire.Request) error {
	body := readiness{Status: stateReady, Ingestion: s.deps.Status.Ingestion()}
	status := http.StatusOK
	if s.draining.Load() {
		body.Status, status = stateStopping, http.StatusServiceUnavailable
	} else if err := s.deps.Status.Ready(r.Context()); err != nil {
		s.log.DebugContext(r.Context(), "not ready", "error", err)
		body.Status, status = stateStarting, http.StatusServiceUnavailable
	}
	if status != http.StatusOK {
		w.Header().Set("Retry-After", "1")
	}
	return wire.Reply(w, status, body)
}

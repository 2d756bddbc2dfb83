package server

import (
	_ "embed"
	"net/http"
	"strings"

	"parley/internal/wire"
)

// openAPIDocument is kept by hand. Its test calls every operation with the document's examples,
// and compares its paths with the table of routes.
//
//go:embed openapi.json
var openAPIDocument string

func (s *Server) openAPI(w http.ResponseWriter, _ *wire.Request) error {
	return wire.WriteJSON(w, http.StatusOK, []byte(strings.TrimSuffix(openAPIDocument, "\n")))
}

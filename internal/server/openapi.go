package server

import (
	_ "embed"
	"net/http"

	"parley/internal/wire"
)

// ownOpenAPI describes the server's own routes; see wire.OpenAPI for what it omits.
//
//go:embed openapi.json
var ownOpenAPI []byte

// openAPI handles GET /openapi.json: the combined description of all protocols.
func (s *Server) openAPI(w http.ResponseWriter, _ *wire.Request) error {
	doc, err := s.description()
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, http.StatusOK, doc)
}

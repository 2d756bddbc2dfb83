package auditapi

import (
	_ "embed"

	"parley/internal/audit"
)

// openAPI describes the routes; see wire.OpenAPI for what it omits.
//
//go:embed openapi.json
var openAPI []byte

// types are the Go types that schemas in openapi.json are derived from; see wire.Protocol.Types.
var types = map[string]any{
	"AuditEntry": audit.Entry{},
}

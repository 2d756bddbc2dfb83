package librechat

import _ "embed"

// openAPI describes the routes; wire.OpenAPI adds what follows from the routes themselves.
//
//go:embed openapi.json
var openAPI []byte

// types are the Go types that schemas of the description are derived from.
var types = map[string]any{
	"LibreChatUpload":   uploaded{},
	"LibreChatMetadata": metadata{},
}

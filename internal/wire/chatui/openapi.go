package chatui

import _ "embed"

// openAPI describes the routes; wire.OpenAPI adds what follows from the routes themselves.
//
//go:embed openapi.json
var openAPI []byte

package agui

import _ "embed"

// openAPI describes the routes; see wire.OpenAPI for what it omits.
//
//go:embed openapi.json
var openAPI []byte

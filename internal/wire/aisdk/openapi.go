package aisdk

import _ "embed"

// openAPI describes the routes; see wire.OpenAPI for what is left out.
//
//go:embed openapi.json
var openAPI []byte

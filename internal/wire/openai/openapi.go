package openai

import _ "embed"

// openAPI describes the routes; see apiPart in package wire for what it omits.
//
//go:embed openapi.json
var openAPI []byte

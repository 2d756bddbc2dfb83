package yourdata

import _ "embed"

// openAPI describes the routes; see wire.OpenAPI for what it omits.
//
//go:embed openapi.json
var openAPI []byte

// types maps schemas in openAPI to the Go types that they describe.
var types = map[string]any{
	"YourDataStored": stored{},
}

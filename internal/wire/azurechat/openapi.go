package azurechat

import _ "embed"

// openAPI describes the routes; see wire.OpenAPI for what is left out.
//
//go:embed openapi.json
var openAPI []byte

// types are the Go types behind schemas of the description.
var types = map[string]any{
	"AuthSetup": authSettings{},
	"Scopes":    scopeRequest{},
	"Controls":  controls{},
	"Context":   replyContext{},
}

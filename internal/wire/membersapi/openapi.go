package membersapi

import _ "embed"

// openAPI describes the routes; see apiPart in package wire for what it omits.
//
//go:embed openapi.json
var openAPI []byte

// types are the Go types behind schemas of the description.
var types = map[string]any{
	"AccessList": list{},
	"Member":     shown{},

	"Instructions": instructionsBody{},
}

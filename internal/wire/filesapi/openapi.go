package filesapi

import _ "embed"

// openAPI describes the routes; wire.OpenAPI adds what follows from the routes themselves.
//
//go:embed openapi.json
var openAPI []byte

// types are the Go types that schemas of the description are derived from.
var types = map[string]any{
	"File":                fileBody{},
	"StoreExpiry":         storeExpiry{},
	"Upload":              uploadBody{},
	"UploadPart":          partBody{},
	"FileList":            page[fileBody]{},
	"Deletion":            deletion{},
	"VectorStore":         storeBody{},
	"VectorStoreList":     page[storeBody]{},
	"VectorStoreFile":     memberBody{},
	"VectorStoreFileList": page[memberBody]{},
	"VectorStoreBatch":    batchBody{},
	"VectorStoreResults":  resultsPage{},
}

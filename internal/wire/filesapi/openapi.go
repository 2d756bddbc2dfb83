package filesapi

import _ "embed"

// openAPI describes the routes; see wire.OpenAPI for what it omits.
//
//go:embed openapi.json
var openAPI []byte

// types are the Go types behind schemas of the description.
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

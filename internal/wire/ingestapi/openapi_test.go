package ingestapi_test

import (
	"slices"
	"testing"

	"parley/internal/documents"
	"parley/internal/wire/wiretest"
)

func TestOpenAPI_DescribesEveryKindOfJob(t *testing.T) {
	t.Parallel()
	d := wiretest.Read(t, newSite(t, nil).protocol)
	job := d.Components.Schemas["Job"].(map[string]any)["properties"].(map[string]any)["kind"].(map[string]any)
	for _, kind := range []string{documents.Upload, documents.PDF, documents.Index, documents.MediaWiki, documents.PDFPage, documents.Reindex} {
		if !slices.Contains(job["enum"].([]any), any(kind)) {
			t.Errorf("the kind %s is not described", kind)
		}
	}
}

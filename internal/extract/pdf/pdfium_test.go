package pdf

import (
	"os"
	"path/filepath"
	"testing"

	"parley/internal/extract"
)

// Code that cannot be stored is compiled all the same.
func TestNewPDFium_NeedsNoFolderToWriteTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := newPDFium(dir, moduleMemory(extract.Limits{}.WithDefaults()))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

package extracttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/extract"
)

// ReadParts returns the files inside a file with their content, one to a line.
func ReadParts(t *testing.T, name string, data []byte, passwords ...string) (doc *extract.Document, list string) {
	t.Helper()
	in := Input(name, data)
	in.Spool, in.Passwords = filepath.Join(t.TempDir(), "spool"), passwords
	doc, err := (&extract.Extractor{CacheDir: ParserCache}).File(t.Context(), in)
	if err != nil {
		t.Fatalf("File(%s) = %v", name, err)
	}
	var b strings.Builder
	for i, p := range doc.Parts {
		if p.Refused != nil {
			b.WriteString(p.Name + " refused: " + string(p.Refused.Reason) + "\n")
			continue
		}
		content, err := os.ReadFile(filepath.Join(in.Spool, extract.PartName(i)))
		if err != nil || int64(len(content)) != p.Size {
			t.Errorf("part %d has %d bytes and says %d: %v", i, len(content), p.Size, err)
		}
		b.WriteString(p.Name + " = " + string(content) + "\n")
	}
	return doc, b.String()
}

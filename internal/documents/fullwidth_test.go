package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/retrieval"
)

// Full-width letters and digits are found by plain ones and the other way around, and cited as they stand in the document.
func TestIngest_FullWidthTextIsFoundByPlainLetters(t *testing.T) {
	t.Parallel()
	s := newScanShelf(t)
	for name, text := range map[string]string{
		"wide.txt":  "製品番号は１２３ＡＢＣです。価格は￥５，０００です。\n",
		"plain.txt": "The model is sold as 987XYZ in all shops.\n",
		"other.txt": "Nothing of that is said here about 123 things or ABC.\n",
	} {
		if err := os.WriteFile(filepath.Join(s.docs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.ingest(s.service(nil))
	for query, want := range map[string]string{"123ABC": "１２３ＡＢＣ", "１２３ＡＢＣ": "１２３ＡＢＣ", "９８７ＸＹＺ": "987XYZ", "987xyz": "987XYZ"} {
		found, err := s.corpus.Search(t.Context(), retrieval.Query{Filter: retrieval.Filter{Namespace: "default"}, Text: query, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Passages) != 1 || !strings.Contains(found.Passages[0].Chunk.Text, want) {
			t.Errorf("%s: %+v", query, found)
		}
	}
}

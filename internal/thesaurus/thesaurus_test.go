package thesaurus

import (
	"bytes"
	"slices"
	"testing"
)

func TestLike_KnowsWordsOfLikeMeaning(t *testing.T) {
	for _, c := range []struct{ language, word, like string }{
		{"en", "salary", "pay"},
		{"en", "Salaries", "pay"},
		{"de", "Passwort", "kennwort"},
		{"de", "Räder", ""},
		{"fr", "rétribuer", "payer"},
		{"es", "comprar", "adquirir"},
		{"en", "parley-1234", ""},
		{"nl", "fiets", ""},
	} {
		like := Like(c.language, c.word)
		if c.like != "" && !slices.Contains(like, c.like) || len(like) > 8 {
			t.Errorf("%s %s: %q, want among them %q", c.language, c.word, like, c.like)
		}
	}
}

// A search in a table needs its lines in order, each word once.
func TestTables_AreInOrder(t *testing.T) {
	for language, open := range tables {
		table, last := open(), ""
		if !bytes.HasSuffix(table, []byte("\n")) {
			t.Errorf("%s does not end with a line", language)
		}
		for line := range bytes.Lines(table) {
			word, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
			if string(word) <= last {
				t.Fatalf("%s: %s stands behind %s", language, word, last)
			}
			if last = string(word); table.find(last) == nil {
				t.Fatalf("%s: %s is not found", language, last)
			}
		}
	}
}

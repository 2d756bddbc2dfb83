package thesaurus

import (
	"bytes"
	"slices"
	"strings"
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

func TestPhrases_KnowsPhrasesOfLikeMeaning(t *testing.T) {
	for _, c := range []struct{ language, question, want string }{
		{"en", "What was the capex in 2020?", "purchases of property, plant and equipment"},
		{"en", "How large are additions to property, plant and equipment?", "capex"},
		{"en", "May I work from home on Fridays?", "wfh"},
		{"en", "What is a capital?", ""},
		{"de", "What was the capex in 2020?", ""},
	} {
		found := Phrases(c.language, c.question)
		if c.want == "" && len(found) > 0 || c.want != "" && !slices.Contains(found, c.want) {
			t.Errorf("%s %q: %q, want %q", c.language, c.question, found, c.want)
		}
	}
}

func TestPhrases_CanBeFound(t *testing.T) {
	for language, open := range phrases {
		for key, others := range open() {
			if n := len(strings.Fields(key)); n < 1 || n > maxPhrase || len(others) == 0 {
				t.Errorf("%s: %q has %d terms and the others %q", language, key, n, others)
			}
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

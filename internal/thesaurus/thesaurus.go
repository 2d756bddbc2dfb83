// Package thesaurus knows words and phrases of like meaning in a few languages.
package thesaurus

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"strings"
	"sync"

	"parley/internal/text"
)

// The tables are made by generate; NOTICE says from what, and under which licences. The phrases are our own.
//
//go:embed tables/*.gz phrases/*.txt
var files embed.FS

// tables are the tables of each language, by its ISO 639-1 code. Each is read at its first use.
var tables = map[string]func() table{
	"de": sync.OnceValue(func() table { return read("de") }),
	"en": sync.OnceValue(func() table { return read("en") }),
	"es": sync.OnceValue(func() table { return read("es") }),
	"fr": sync.OnceValue(func() table { return read("fr") }),
}

// table holds lines in the order of their first words: a word, and those of like meaning, the closest first.
type table []byte

func read(language string) table {
	f, err := files.Open("tables/" + language + ".gz")
	if err != nil {
		panic(err) // it is part of the program
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		panic(err)
	}
	t, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	return t
}

// Like returns words of like meaning, folded, the closest first; none for a word or a language that it does
// not know. An inflected word is looked up by its other forms.
func Like(language, word string) []string {
	open := tables[language]
	if open == nil {
		return nil
	}
	t := open()
	for _, form := range text.Inflections(language, word) {
		if like := t.find(form); like != nil {
			return like
		}
	}
	return nil
}

// find returns the words of like meaning in the line of a word.
func (t table) find(word string) []string {
	from, to := 0, len(t)
	for from < to {
		start := bytes.LastIndexByte(t[:(from+to)/2], '\n') + 1
		if start < from {
			start = from
		}
		end := start + bytes.IndexByte(t[start:], '\n')
		first, rest, _ := strings.Cut(string(t[start:end]), " ")
		switch strings.Compare(first, word) {
		case 0:
			return strings.Fields(rest)
		case 1:
			to = start
		default:
			from = end + 1
		}
	}
	return nil
}

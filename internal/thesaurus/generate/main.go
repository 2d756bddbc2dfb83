// Command generate makes the tables of package thesaurus from those of LibreOffice, which Debian packages:
//
//	apt-get download mythes-en-us mythes-de mythes-fr mythes-es
//	for f in mythes-*.deb; do dpkg -x $f unpacked; done
//	go run ./internal/thesaurus/generate unpacked/usr/share/mythes internal/thesaurus/tables
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"parley/internal/lazyregexp"
	"parley/internal/text"
)

// sources are the tables of LibreOffice by language.
var sources = map[string]string{
	"de": "th_de_DE_v2.dat",
	"en": "th_en_US_v2.dat",
	"es": "th_es_ES_v2.dat",
	"fr": "thes_fr.dat",
}

// Limits on what is kept of a table.
const (
	maxWords = 25_000 // the words that the table names most often, alone or in an expression
	maxLike  = 8      // words of like meaning for each word
	maxRunes = 24     // of a word
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: generate FOLDER-OF-LIBREOFFICE-TABLES FOLDER-OF-TABLES")
	}
	for language, name := range sources {
		data, err := os.ReadFile(filepath.Join(os.Args[1], name))
		if err != nil {
			log.Fatal(err)
		}
		words, named, err := parse(language, data)
		if err != nil {
			log.Fatal(err)
		}
		if err := write(filepath.Join(os.Args[2], language+".gz"), words, named); err != nil {
			log.Fatal(err)
		}
	}
}

// neighbours are the words of like meaning of each word, with the number of the sense that lists it first.
type neighbours map[string]map[string]int

// aside matches a remark of a table on a word: "(antonym)", "(ugs.)".
var aside = lazyregexp.New(`\([^)]*\)`)

// other matches the remarks that name a relation other than like meaning.
var other = lazyregexp.New(`(?i)\((?:antonym|generic term|similar term|related term|oberbegriff|unterbegriff|assoziation)`)

// parse reads a table: a line "word|senses", then a line "part of speech|word|word…" for each sense.
// It also returns how often the table names each word.
func parse(language string, data []byte) (neighbours, map[string]int, error) {
	encoding, body, _ := bytes.Cut(data, []byte("\n"))
	if !strings.EqualFold(strings.TrimSpace(string(encoding)), "UTF-8") {
		var err error
		if body, err = charmap.ISO8859_15.NewDecoder().Bytes(body); err != nil {
			return nil, nil, fmt.Errorf("decode %s: %w", language, err)
		}
	}
	all, named := make(neighbours), make(map[string]int)
	link := func(a, b string, sense int) {
		if all[a] == nil {
			all[a] = make(map[string]int)
		}
		if old, ok := all[a][b]; !ok || sense < old {
			all[a][b] = sense
		}
	}
	word, sense := "", 0
	for line := range strings.Lines(string(body)) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) == 2 && strings.Trim(fields[1], "0123456789") == "" {
			word, sense = wordOf(language, fields[0]), 0
			continue
		}
		sense++
		for _, f := range fields[1:] {
			for _, w := range strings.Fields(aside.ReplaceAllString(f, "")) {
				named[wordOf(language, w)]++
			}
			if like := wordOf(language, aside.ReplaceAllString(f, "")); word != "" && like != "" && like != word && !other.MatchString(f) {
				link(word, like, sense)
				link(like, word, sense+1)
			}
		}
	}
	return all, named, nil
}

// wordOf returns s folded, or "" if s is not a single word.
func wordOf(language, s string) string {
	s = strings.TrimSpace(s)
	if n := utf8.RuneCountInString(s); n < 3 || n > maxRunes || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return ""
	}
	return text.Inflections(language, s)[0]
}

// write writes the words that the table names most often, each with its closest neighbours.
func write(name string, all neighbours, named map[string]int) error {
	words := slices.Collect(maps.Keys(all))
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(named[b]+len(all[b]), named[a]+len(all[a])), cmp.Compare(a, b))
	})
	words = words[:min(len(words), maxWords)]
	kept := make(map[string]bool)
	for _, w := range words {
		kept[w] = true
	}
	slices.Sort(words)
	var out bytes.Buffer
	for _, w := range words {
		like := all.closest(w, kept)
		if len(like) > 0 {
			fmt.Fprintf(&out, "%s %s\n", w, strings.Join(like, " "))
		}
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(out.Bytes()); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	log.Printf("%s: %d words, %d bytes, %d packed", name, len(words), out.Len(), packed.Len())
	return os.WriteFile(name, packed.Bytes(), 0o644)
}

// closest returns the best neighbours of a word, best first: those of its first senses that share most neighbours with it.
func (all neighbours) closest(w string, kept map[string]bool) []string {
	own := all[w]
	score := make(map[string]float64)
	var like []string
	for l, sense := range own {
		if !kept[l] {
			continue
		}
		shared := 0
		for n := range all[l] {
			if _, ok := own[n]; ok {
				shared++
			}
		}
		score[l] = (1 + float64(shared)) / float64(1+len(own)+len(all[l])-shared) / float64(sense+1)
		like = append(like, l)
	}
	slices.SortFunc(like, func(a, b string) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b))
	})
	return like[:min(len(like), maxLike)]
}

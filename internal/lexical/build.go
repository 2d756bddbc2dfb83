// Package lexical is a BM25 index in immutable segments.
//
// A segment covers whole revisions of documents and is one block of bytes, so that a store can
// commit it together with its chunks. A Reader searches any number of segments at once. The caller
// chooses the visible revisions at each search with a View, so that a deletion or a change of
// rights needs no new segment. The rarity of a word is computed over all revisions in the segments,
// including hidden ones and, until a merge drops them, deleted ones, as in Lucene. Nothing else
// about hidden revisions affects a View.
//
//	data := lexical.Build(revisions) // to be stored
//	segment, err := lexical.Open(data)
//	if err != nil { … }
//	reader := lexical.NewReader([]*lexical.Segment{segment})
//	hits, matched, err := reader.View(nil).Search(ctx, terms, 10)
package lexical

import (
	"slices"
	"strings"

	"parley/internal/text"
)

// Generation names the text analyser and the segment format. Segments of another generation cannot
// be read and must be rebuilt.
const Generation = "lex4"

// Chunk is one unit to index. Chunks of a revision are numbered from 0 in order.
type Chunk struct {
	Body   string   // the text that is quoted
	Titles []string // title and file name of the document, indexed like the body
	Name   string   // file name of the document, also indexed as one term
	Page   int      // page on which the chunk begins, 0 if there are no pages
}

// Revision is one version of a document with its chunks in order.
type Revision struct {
	ID     int64
	Chunks []Chunk
}

// Build returns a segment that covers revisions, which must ascend by ID.
func Build(revisions []Revision) []byte {
	b := newBuilder()
	counts := make(map[string]uint32)
	for _, rev := range revisions {
		b.begin(rev.ID)
		for _, c := range rev.Chunks {
			clear(counts)
			length := count(counts, c.Body)
			for _, t := range c.Titles {
				length += count(counts, t)
			}
			if name := Phrase(text.Analyze(c.Name)); name != "" {
				counts[name] = 1
			}
			b.add(counts, length, c.Page)
		}
	}
	return b.bytes()
}

// count adds the terms of s to counts and returns the number of words.
func count(counts map[string]uint32, s string) int {
	words, end := 0, -1
	for _, t := range text.Analyze(s) {
		if t.Stop {
			continue
		}
		counts[t.Term]++
		if t.Start >= end { // the parts of an identifier do not lengthen the text
			words++
			end = t.End
		}
	}
	return words
}

// Phrase returns the term under which several words are indexed together, "" for fewer than two.
func Phrase(tokens []text.Token) string {
	var words []string
	for _, t := range tokens {
		if t.Parts == 0 {
			words = append(words, t.Term)
		}
	}
	if len(words) < 2 {
		return ""
	}
	return strings.Join(words, " ")
}

// builder collects the postings of chunks, which are added in ascending order.
type builder struct {
	chunkTable
	terms map[string]*postings
}

// postings is the growing list of one term.
type postings struct {
	df   int
	last int // the last chunk added
	data []byte
}

func newBuilder() *builder { return &builder{terms: make(map[string]*postings)} }

// add appends one chunk of length words that begins on a page.
func (b *builder) add(counts map[string]uint32, length, page int) {
	doc := len(b.lengths)
	b.chunkTable.add(uint16(min(length, 1<<16-1)), uint32(page))
	for term, tf := range counts {
		p := b.terms[term]
		if p == nil {
			p = &postings{last: -1}
			b.terms[term] = p
		}
		p.add(doc, tf)
	}
}

func (p *postings) add(doc int, tf uint32) {
	p.data = appendPosting(p.data, doc-p.last, tf)
	p.last = doc
	p.df++
}

func (b *builder) bytes() []byte {
	names := make([]string, 0, len(b.terms))
	for t := range b.terms {
		names = append(names, t)
	}
	slices.Sort(names)
	var d dictionary
	for _, t := range names {
		d.add([]byte(t), b.terms[t].df, b.terms[t].data)
	}
	return encode(&b.chunkTable, &d)
}

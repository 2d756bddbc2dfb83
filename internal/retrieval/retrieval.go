// Package retrieval finds the passages of a corpus that answer a query.
//
// The Store is the source of truth. The lexical index is derived from it, one index per namespace, kept as immutable segments
// that are committed in the same transaction as the chunks they cover. A Corpus holds those indexes in memory, with the access
// rights of their documents; it follows changes made by any process through the store's version, and rebuilds missing or
// outdated parts when it opens. Passages that a caller may not see have one effect: the rarity of a word, and so the order of
// passages, depends on all documents of the namespace, never on those of another one.
package retrieval

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/llm"
)

// Document is one version of one ingested document. A new version has a new Revision and the
// same ID; exactly one revision of a document is in the corpus at any moment.
type Document struct {
	ID         string // see package ident; the same for all versions
	Revision   int64  // unique over the whole corpus, never used again
	Namespace  string
	Name       string // citation name and /content/ path: "/"-separated, unique per namespace
	Alias      string // how one turn cites it instead, because another document has the same Name; "" for most
	Title      string // for people; never empty
	URL        string // where the original lives for users; "" when only under /content/
	Category   string
	MediaType  string // of the original, e.g. "application/pdf"
	Access     access.List
	Owner      string // subject that ingested it; "" for the operator
	SHA256     string // of the original's bytes, lower-case hex; the key of its blob
	Size       int64  // bytes of the original
	Pages      int    // pages with a number; 0 for formats without pages
	Chunks     int
	Generation string    // which extractor and splitter made the chunks
	Notes      string    // what could not be read although the rest could, for people; "" for a document read whole
	IndexedAt  time.Time // UTC, microseconds

	Attributes json.RawMessage `json:",omitempty"` // the document's attributes, see package attribute; nil for none
}

// AttributesOver returns the document's attributes, and those of the others whose names the document lacks.
func (d *Document) AttributesOver(others json.RawMessage) json.RawMessage {
	all := attribute.Decode(others)
	if all == nil {
		all = attribute.Values{}
	}
	maps.Copy(all, attribute.Decode(d.Attributes))
	return all.Bounded().Encode()
}

// The attributes that every document has, for conditions. They take precedence over a document's own attributes of the same
// name.
const (
	AttributePath      = "path" // Name
	AttributeTitle     = "title"
	AttributeURL       = "url"
	AttributeCategory  = "category"
	AttributeMediaType = "media_type"
	AttributeIndexedAt = "indexed_at"
)

// AllAttributes returns the document's attributes and those that every document has, for conditions. An empty text counts as missing.
func (d *Document) AllAttributes() attribute.Values {
	all := attribute.Decode(d.Attributes)
	if all == nil {
		all = attribute.Values{}
	}
	for key, value := range map[string]string{
		AttributePath: d.Name, AttributeTitle: d.Title, AttributeURL: d.URL, AttributeCategory: d.Category,
		AttributeMediaType: d.MediaType, AttributeIndexedAt: d.IndexedAt.UTC().Format(time.RFC3339),
	} {
		if delete(all, key); value != "" {
			all[key] = value
		}
	}
	return all
}

// CitedAs returns the name of the document in citations.
func (d *Document) CitedAs() string { return cmp.Or(d.Alias, d.Name) }

// Page is the stored text of one page of a document's revision.
type Page struct {
	Number int    // from 1; 0 where the format has no pages
	Text   string // chunk spans index into it
	Map    []byte // encoded offset → original character map (see extract.Run); nil when none
}

// ChunkKey names a chunk forever: revisions are never reused.
type ChunkKey struct {
	Revision int64
	Ordinal  int // position in the document, from 0
}

// Chunk is a stored piece of a document: what is indexed, retrieved, quoted and cited.
type Chunk struct {
	Key      ChunkKey
	Text     string   // never empty; the page texts of Spans, joined by what Text holds between them
	Headings []string // heading path, outermost first
	Spans    []Span   // ascending; at least one
	Tokens   int      // counted once, with the default tokenizer
}

// Span says that Text[Offset : Offset+(End-Start)] of a chunk is the page's Text[Start:End].
type Span struct {
	Page       int // Page.Number
	Start, End int // byte offsets in the page's text, End exclusive
	Offset     int // byte offset in the chunk's text
}

// PageAt returns the number of the page on which the byte at offset of the chunk's text stands.
func (c Chunk) PageAt(offset int) int {
	page := c.Spans[0].Page
	for _, s := range c.Spans {
		if s.Offset > offset {
			break
		}
		page = s.Page
	}
	return page
}

// Mode says which signals a search uses.
type Mode string

// The modes of a search.
const (
	Text    Mode = "text"
	Vectors Mode = "vectors"
	Hybrid  Mode = "hybrid"
)

// WeightedTerm is a word of the conversation that is not part of the question but helps to
// find its answer.
type WeightedTerm struct {
	Word   string  // as written; the index analyses it
	Weight float64 // in (0, 1], relative to a word of the question
}

// Filter restricts a search or a listing to what the caller may and wants to see. It is applied
// before the best passages are chosen.
type Filter struct {
	Principal       access.Principal
	Namespace       string
	IncludeCategory string // only documents of this category; "" for all
	ExcludeCategory string // no documents of this category; "" excludes none
	RequireUser     bool   // only documents that name the principal's subject
	RequireGroup    bool   // … or, with RequireUser, that name one of the principal's groups

	Within *Revisions           // only these revisions of documents; nil for all
	Where  *attribute.Condition // only documents with attributes that meet it; nil for all. Searches, FindDocuments and EachFound of stores apply it
}

// Query asks for the passages that answer a standalone question.
type Query struct {
	Filter
	Text     string         // the standalone question; protocols show it as the generated query
	Context  []WeightedTerm // weighted words of the conversation, beside Text
	Mode     Mode           // "" means Hybrid
	Limit    int            // the number of passages, at least 1
	MinScore float64        // in [0, 1]; passages below it are left out
	Captions bool           // fill Passage.Captions
}

// Passage is a chunk retrieved for a query.
type Passage struct {
	Chunk    Chunk
	Document Document
	Score    float64 // in [0, 1]; thresholds use it: the cosine, or without one BM25 in relation to the best
	Rank     float64 // in [0, 1]; how good it is in relation to the best passage, whatever found it
	Scores   Scores
	Captions []string // the spans of the text that match best; only when asked for
}

// BestPage returns the page on which the best match of the passage stands, if Captions are filled; else the
// first page. A passage may span several pages.
func (p Passage) BestPage() int {
	at := 0
	if len(p.Captions) > 0 {
		at = max(0, strings.Index(p.Chunk.Text, p.Captions[0]))
	}
	return p.Chunk.PageAt(at)
}

// Scores are the raw scores of each source; nil where the source did not rank the passage.
type Scores struct {
	BM25   *float64
	Vector *float64 // cosine; of every passage that has a vector, when the question has one
	Rerank *float64
}

// Term is one analysed term of a query, with what the searched index knows of it.
type Term struct {
	Text   string  // as it stands in the index
	Word   string  // as it stood in the query
	Weight float64 // 1 for a term of the question, less for one of the context
	IDF    float64 // the largest possible when Known is false
	Known  bool    // some chunk that the filter lets through holds it
	Other  bool    // another form of the term before it: one of them is enough
	Like   bool    // a word of like meaning for the term before it
}

// Result is the answer to a Query.
type Result struct {
	Passages  []Passage // best first
	Terms     []Term    // in the order of the query
	Mode      Mode      // what was really used: Text where the question has no vector
	HasVector bool      // whether the query was embedded
	Matched   int       // chunks with a score above zero, before the limit; with both kinds of score, the larger number

	Usage     llm.Usage     // of embedding the question; zero when its vector was known
	Model     string        // that embedded it, as "provider:model"; "" when none was asked
	EmbedTime time.Duration // how long that took
	Note      string        // why there is no vector although the mode asks for one and there is an embedder, for people
}

package ingest

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// SplitOptions says how large chunks are. A zero field means its default.
type SplitOptions struct {
	Size    int // target size in characters; 1000. The limit is a fifth more.
	Overlap int // maximum number of characters of whole sentences repeated from the previous chunk; 100, negative for none
	Min     int // a section or page with fewer characters joins the next one; 250, or a quarter of a larger Size
	Tokens  int // maximum number of tokens of a chunk; 512, or proportionally more for a larger Size
}

// The defaults of SplitOptions, and the smallest size and token limit. Below these, a chunk might not
// hold a word.
const (
	defaultSize    = 1000
	defaultOverlap = 100
	defaultTokens  = 512
	minSize        = 16
)

// The limits of the setting ingest.chunk_size. Smaller chunks say too little to be found, and larger
// ones leave no room for others in a prompt.
const (
	minChunkSize = 200
	maxChunkSize = 8000
)

// CheckChunkSize returns an error if users may not set this size.
func CheckChunkSize(size int) error {
	if size < minChunkSize || size > maxChunkSize {
		return fmt.Errorf("must be between %d and %d characters", minChunkSize, maxChunkSize)
	}
	return nil
}

// CheckChunkOverlap returns an error if chunks of this size cannot overlap by this much.
func CheckChunkOverlap(overlap, size int) error {
	if overlap < 0 || overlap > size/2 {
		return fmt.Errorf("must be between 0 and half of ingest.chunk_size (%d characters)", size/2)
	}
	return nil
}

// encode encodes the options for Post in another process.
func (o SplitOptions) encode() []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("ingest: four numbers are not JSON: %v", err))
	}
	return data
}

// Generation identifies everything that determines the chunks of a document: the extractors, the
// splitter, and these options unless they are the defaults. Documents of another generation are read
// again at the next ingestion.
func (o SplitOptions) Generation() string {
	o = o.withDefaults()
	if o == (SplitOptions{}).withDefaults() {
		return generation
	}
	return fmt.Sprintf("%s/%d-%d-%d-%d", generation, o.Size, max(o.Overlap, 0), o.Min, o.Tokens)
}

// generation must change with each change of the extractors or the splitter that affects chunks, or that keeps out
// documents that were indexed before.
const generation = "extract-13/split-3"

func (o SplitOptions) withDefaults() SplitOptions {
	if o.Size <= 0 {
		o.Size = defaultSize
	}
	o.Size = max(o.Size, minSize)
	if o.Overlap == 0 {
		o.Overlap = defaultOverlap
	}
	o.Overlap = min(o.Overlap, o.Size/2)
	if o.Min <= 0 {
		o.Min = max(o.Size, defaultSize) / 4
	}
	o.Min = min(o.Min, o.Size/2)
	if o.Tokens <= 0 {
		o.Tokens = defaultTokens * max(o.Size, defaultSize) / defaultSize
	}
	o.Tokens = max(o.Tokens, minSize)
	return o
}

// limit returns the maximum number of characters of a chunk.
func (o SplitOptions) limit() int { return o.Size + o.Size/5 }

// Split cuts a document into chunks, in order; Key.Revision is left 0. The same document and
// options always give the same chunks, and every word of the document is in one of them.
//
// The document is split into units that stay whole if they fit (sentences, list items, table rows, blocks of
// code). The chunks are the grouping of units with the lowest cost: see plan. A chunk's Text is the page texts of
// its Spans joined by "\n". A chunk that begins within a table repeats the table's header row as its first span;
// one that begins within a section repeats the last sentences of the chunk before.
func Split(doc *extract.Document, opts SplitOptions) []retrieval.Chunk {
	s := &splitter{opts: opts.withDefaults(), pages: doc.Pages}
	s.readUnits()
	var chunks []retrieval.Chunk
	for _, r := range s.plan() {
		chunks = s.emit(chunks, r.start, r.end, s.open(r.start))
	}
	return chunks
}

// emit appends the chunk with the units from i to j, after the repeated text o. The plan adds up tokens
// unit by unit; if the complete text has too many, emit drops the repeated text, and then cuts the chunk
// in two.
func (s *splitter) emit(chunks []retrieval.Chunk, i, j int, o opening) []retrieval.Chunk {
	text, spans := s.text(j, o)
	tokens := countTokens(text)
	switch {
	case tokens <= s.opts.Tokens:
	case o.from < i || o.table >= 0:
		return s.emit(chunks, i, j, opening{from: i, table: -1})
	case j-i > 1:
		m := s.middle(i, j)
		chunks = s.emit(chunks, i, m, o)
		return s.emit(chunks, m, j, opening{from: m, table: -1})
	}
	return append(chunks, retrieval.Chunk{
		Key:      retrieval.ChunkKey{Ordinal: len(chunks)},
		Text:     text,
		Headings: s.headings(i, j),
		Spans:    spans,
		Tokens:   tokens,
	})
}

// middle returns the best place for a cut between the units from i to j.
func (s *splitter) middle(i, j int) int {
	best, least := i+1, 0.0
	for m := i + 1; m < j; m++ {
		off := float64(2*m-i-j) / float64(j-i)
		cost := s.units[m].joint.cost() + off*off
		if m == i+1 || cost < least {
			best, least = m, cost
		}
	}
	return best
}

// headings returns the heading path of the first unit that is not a heading itself.
func (s *splitter) headings(i, j int) []string {
	for _, u := range s.units[i:j] {
		if u.kind != extract.Heading {
			return s.paths[u.path]
		}
	}
	return s.paths[s.units[j-1].path]
}

// text builds a chunk's text and spans: one span for the repeated header row, and one for each page,
// since the units of a page are adjacent.
func (s *splitter) text(j int, o opening) (string, []retrieval.Span) {
	var b strings.Builder
	var spans []retrieval.Span
	add := func(page, start, end int32) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		spans = append(spans, retrieval.Span{
			Page: s.pages[page].Number, Start: int(start), End: int(end), Offset: b.Len(),
		})
		b.WriteString(s.pages[page].Text[start:end])
	}
	if o.table >= 0 {
		h := s.tables[o.table]
		add(h.page, h.start, h.end)
	}
	for from := o.from; from < j; {
		to := from + 1
		for to < j && s.units[to].page == s.units[from].page {
			to++
		}
		add(s.units[from].page, s.units[from].start, s.units[to-1].end)
		from = to
	}
	return b.String(), spans
}

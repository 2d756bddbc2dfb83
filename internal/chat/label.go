package chat

import "parley/internal/retrieval"

// CitationOf returns the citation of a passage: the name of its document and, where there are
// pages, the one on which it begins, such as "handbook.pdf#page=3". It is the label that stands
// before the passage in the prompt.
func CitationOf(p retrieval.Passage) string {
	page := 0
	if len(p.Chunk.Spans) > 0 {
		page = p.Chunk.Spans[0].Page
	}
	return citationLabel(p.Document.Name, page)
}

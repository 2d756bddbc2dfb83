package chat

import (
	"parley/internal/chat/cite"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// evidence returns the input of models that do not read prompts: passages word for word, each part with
// the label of its page.
func (t *turn) evidence(passages []retrieval.Passage) *llm.Evidence {
	e := &llm.Evidence{
		Question: t.asked,
		Query:    t.query.Query,
		Terms:    make([]llm.Term, len(t.found.Terms)),
		Passages: make([]llm.Passage, len(passages)),
		Previous: t.previous,
		Missing:  t.missing,
	}
	for i, term := range t.found.Terms {
		e.Terms[i] = llm.Term(term)
	}
	for i := range passages {
		p := &passages[i]
		e.Passages[i] = llm.Passage{
			Text:     p.Chunk.Text,
			Marks:    cite.Marks(p),
			Score:    p.Rank,
			Title:    p.Document.Title,
			Headings: p.Chunk.Headings,
			Part:     p.Chunk.Key.Ordinal,
			Parts:    p.Document.Chunks,
		}
	}
	return e
}

package chat

import (
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// evidence returns what models that do not read prompts answer from: the passages of the prompt,
// word for word, each part with the label of its page.
func (t *turn) evidence() *llm.Evidence {
	e := &llm.Evidence{
		Question: t.asked,
		Query:    t.query.Query,
		Terms:    make([]llm.Term, len(t.found.Terms)),
		Passages: make([]llm.Passage, len(t.sent)),
		Previous: t.previous,
		Missing:  t.missing,
	}
	for i, term := range t.found.Terms {
		e.Terms[i] = llm.Term(term)
	}
	for i := range t.sent {
		p := &t.sent[i]
		e.Passages[i] = llm.Passage{
			Text:     p.Chunk.Text,
			Marks:    marks(p),
			Score:    p.Score,
			Title:    p.Document.Title,
			Headings: p.Chunk.Headings,
		}
	}
	return e
}

// marks returns where in a passage which page begins. What stands before the first span, such as
// a table's repeated header, belongs to the first page.
func marks(p *retrieval.Passage) []llm.Mark {
	var out []llm.Mark
	for i, s := range p.Chunk.Spans {
		m := llm.Mark{Offset: s.Offset, Citation: citationLabel(p.Document.Name, s.Page)}
		if i == 0 {
			m.Offset = 0
		} else if out[len(out)-1].Citation == m.Citation {
			continue
		}
		out = append(out, m)
	}
	return out
}

package chat

import (
	"context"

	"parley/internal/chat/cite"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// evidence returns the input for models that do not read prompts: the question, and passages word for
// word, with the label of the page of each part.
func (t *turn) evidence(passages []retrieval.Passage) *llm.Evidence {
	e := &llm.Evidence{
		Question: t.asked,
		Query:    t.query.Query,
		Terms:    make([]llm.Term, len(t.found.Terms)),
		Passages: make([]llm.Passage, len(passages)),
		Previous: t.previous,
		Missing:  t.missing,
	}
	if t.cfg.Coverage != nil {
		e.Documents = t.documents
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

// maxNamed is the maximum number of documents that an answer lists when the user asks which there are.
const maxNamed = 10

// documents returns the names of up to maxNamed documents that the turn searches, and the number of all of
// them. It returns none if the request has a condition on attributes: in a vector store, the condition is
// about the attributes of the store's files, which a list of documents does not include.
func (t *turn) documents(ctx context.Context) (names []string, total int) {
	f := t.filter()
	if f.Where != nil {
		return nil, 0
	}
	places := t.req.Places
	if len(places) == 0 {
		places = []Place{{Namespace: f.Namespace, Within: f.Within}}
	}
	for _, p := range places {
		if p.Given != nil {
			continue
		}
		f.Namespace, f.Within = p.Namespace, p.Within
		more, n := t.cfg.Coverage.Documents(ctx, f, maxNamed-len(names))
		names, total = append(names, more...), total+n
	}
	return names, total
}

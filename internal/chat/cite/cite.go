// Package cite checks the citations of answers against the passages that they were made from.
//
// While a model answers, its deltas pass through a Stream. It writes each citation that the passages
// allow in one form, "[name#page=N]", removes citations that the model invented, and keeps out
// whatever would make a renderer fetch something from another site. When the answer is complete, a
// Review tells which pages it cites, where the cited words stand, and which pages do not say what
// their sentence does.
//
//	s := cite.NewStream(cite.Prose, passages, cite.Seen{Given: given, Shown: shown})
//	for delta := range deltas {
//		emit(s.Add(delta))
//	}
//	emit(s.End())
//	citations, doubts := s.Review(answer, question).Result()
package cite

import (
	"slices"
	"strconv"

	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Citation is a passage, or a page of one, that an answer points to.
type Citation struct {
	Label      string `json:"label"` // as it stands in the answer between brackets: "a/b.pdf#page=3"
	DocumentID string `json:"document_id"`
	Namespace  string `json:"namespace,omitempty"` // of the document; "" in what earlier versions have stored
	Name       string `json:"name"`                // retrieval.Document.Name
	Title      string `json:"title"`
	URL        string `json:"url"`     // of the original elsewhere; "" when only under /content/
	Page       int    `json:"page"`    // 0 where the format has no pages
	Passage    int    `json:"passage"` // index into the passages that were retrieved
	Snippet    string `json:"snippet"` // the beginning of the passage

	Spans []Span `json:"spans,omitempty"` // the cited words, for each place in the answer where the label stands
}

// Span is where on its page the words stand that a citation is for.
type Span struct {
	Occurrence int    `json:"occurrence"` // which of the places in the answer where the label stands, from 0
	Start      int    `json:"start"`      // byte offsets in the text of the page as it was when the turn ran
	End        int    `json:"end"`        // exclusive; 0: no words of the page are close to the sentence
	Quote      string `json:"quote"`      // the words, shortened at the end
	Doubted    bool   `json:"doubted,omitempty"`
}

// Doubt is a citation of a model's answer that the check did not confirm.
type Doubt struct {
	Label    string    `json:"label"` // of an invented citation, as the model wrote it
	Kind     DoubtKind `json:"kind"`
	Sentence string    `json:"sentence"` // that the citation stands with, shortened
	Reason   string    `json:"reason"`   // not retrieved; or what is missing: words, numbers; or judge
}

// DoubtKind says what is wrong with a citation.
type DoubtKind string

// The kinds of doubt.
const (
	Invented    DoubtKind = "invented"    // no passage allows it; it was removed from the answer
	Unsupported DoubtKind = "unsupported" // the page does not say what the sentence does; it stands in the answer
)

// The reasons of a Doubt.
const (
	reasonNotRetrieved = "not retrieved"
	reasonWords        = "words"
	reasonNumbers      = "numbers"
	reasonJudge        = "judge"
)

// Label returns what stands between the brackets of a citation. A page of 0 stands for none.
func Label(name string, page int) string {
	name = prompt.SplitAngles(prompt.OneLine(name))
	if page == 0 {
		return name
	}
	return name + "#page=" + strconv.Itoa(page)
}

// LabelOf returns the label that stands before a passage in the prompt: the name of its document and,
// where there are pages, the page on which it begins, such as "handbook.pdf#page=3".
func LabelOf(p *retrieval.Passage) string {
	page := 0
	if len(p.Chunk.Spans) > 0 {
		page = p.Chunk.Spans[0].Page
	}
	return Label(p.Document.Name, page)
}

// Labels returns a label for each page that a passage spans.
func Labels(p *retrieval.Passage) []string {
	var labels []string
	for _, s := range p.Chunk.Spans {
		if label := Label(p.Document.Name, s.Page); !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// Marks returns where in a passage each page begins. What stands before the first span, such as the
// repeated header of a table, belongs to the first page.
func Marks(p *retrieval.Passage) []llm.Mark {
	var out []llm.Mark
	for i, s := range p.Chunk.Spans {
		m := llm.Mark{Offset: s.Offset, Citation: Label(p.Document.Name, s.Page)}
		if i == 0 {
			m.Offset = 0
		} else if out[len(out)-1].Citation == m.Citation {
			continue
		}
		out = append(out, m)
	}
	return out
}

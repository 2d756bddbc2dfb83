// Package cite checks the citations of answers against the passages that they were made from.
//
// While a model answers, its deltas pass through a Stream. The Stream rewrites each citation that the
// passages allow to the form "[name#page=N]", removes citations that the model invented, and removes
// anything that would make a renderer fetch from another site. When the answer is complete, a Review
// reports which pages it cites, where the cited words are on the page, and which pages do not support
// the sentence that cites them.
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

// Citation points from an answer to a passage, or to one page of a passage.
type Citation struct {
	Label      string `json:"label"` // as written between the brackets of the answer: "a/b.pdf#page=3"
	DocumentID string `json:"document_id"`
	Namespace  string `json:"namespace,omitempty"` // of the document; "" in records of earlier versions
	Name       string `json:"name"`                // retrieval.Document.Name
	Title      string `json:"title"`
	URL        string `json:"url"`     // of the original on another site; "" when only Parley serves it, under /content/
	Page       int    `json:"page"`    // 0 where the format has no pages
	Passage    int    `json:"passage"` // index into the passages that the answer may cite: first those retrieved, then those from tools
	Snippet    string `json:"snippet"` // the beginning of the passage

	Spans []Span `json:"spans,omitempty"` // the cited words; one span for each occurrence of the label in the answer, up to maxSpans
}

// Span locates the words of a page that a citation refers to.
type Span struct {
	Occurrence int    `json:"occurrence"`        // which occurrence of the label in the answer this is, from 0
	Start      int    `json:"start"`             // byte offsets in the text of the page at the time of the turn
	End        int    `json:"end"`               // exclusive; 0 when no words of the page are close to the sentence
	Quote      string `json:"quote"`             // the words, shortened at the end
	Doubted    bool   `json:"doubted,omitempty"` // there is a Doubt of kind Unsupported about the citation
}

// Doubt is a citation of a model's answer that the check did not confirm.
type Doubt struct {
	Label    string    `json:"label"` // for an invented citation, the label as the model wrote it
	Kind     DoubtKind `json:"kind"`
	Sentence string    `json:"sentence"` // the sentence that carries the citation, shortened
	Reason   string    `json:"reason"`   // "not retrieved", "judge", or what the page lacks: "words" or "numbers"
}

// DoubtKind says what is wrong with a citation.
type DoubtKind string

// The kinds of doubt.
const (
	Invented    DoubtKind = "invented"    // no passage allows it; it was removed from the answer
	Unsupported DoubtKind = "unsupported" // the page does not support the sentence; the citation stays in the answer
)

// The reasons for a Doubt.
const (
	reasonNotRetrieved = "not retrieved"
	reasonWords        = "words"
	reasonNumbers      = "numbers"
	reasonJudge        = "judge"
)

// Label returns the text between the brackets of a citation. Page 0 means that the document has no pages.
func Label(name string, page int) string {
	name = prompt.SplitAngles(prompt.OneLine(name))
	if page == 0 {
		return name
	}
	return name + "#page=" + strconv.Itoa(page)
}

// LabelOf returns the label that precedes a passage in the prompt: the name of its document and, where
// the document has pages, the page on which the passage begins, such as "handbook.pdf#page=3".
func LabelOf(p *retrieval.Passage) string {
	page := 0
	if len(p.Chunk.Spans) > 0 {
		page = p.Chunk.Spans[0].Page
	}
	return Label(p.Document.CitedAs(), page)
}

// Labels returns one label for each page that a passage spans.
func Labels(p *retrieval.Passage) []string {
	var labels []string
	for _, s := range p.Chunk.Spans {
		if label := Label(p.Document.CitedAs(), s.Page); !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// Marks returns the offsets in a passage at which its pages begin. Text before the first span, such as
// the repeated header of a table, counts as part of the first page.
func Marks(p *retrieval.Passage) []llm.Mark {
	var out []llm.Mark
	for i, s := range p.Chunk.Spans {
		m := llm.Mark{Offset: s.Offset, Citation: Label(p.Document.CitedAs(), s.Page)}
		if i == 0 {
			m.Offset = 0
		} else if out[len(out)-1].Citation == m.Citation {
			continue
		}
		out = append(out, m)
	}
	return out
}

package cite

import (
	"strings"

	"parley/internal/chat/prompt"
	"parley/internal/retrieval"
	"parley/internal/text"
)

const maxSnippetRunes = 200

// findCitations returns the citations in an answer, without duplicates, in order of first appearance.
func findCitations(answer string, known Known) []Citation {
	cited := []Citation{}
	seen := map[string]bool{}
	for i := strings.IndexByte(answer, '['); i >= 0; {
		if label, ok := LabelAt(answer[i+1:], known); ok {
			if !seen[label] {
				seen[label] = true
				cited = append(cited, known[label])
			}
			i += len(label) + 1
		}
		next := strings.IndexByte(answer[i+1:], '[')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return cited
}

// Known holds the citations that passages allow, by label.
type Known map[string]Citation

// Citable returns the citations that the passages allow. When several passages share a page, the citation
// points to the first of them, which is the best.
func Citable(passages []retrieval.Passage) Known {
	known := Known{}
	for i := range passages {
		p := &passages[i]
		for _, s := range p.Chunk.Spans {
			label := Label(p.Document.CitedAs(), s.Page)
			if _, ok := known[label]; ok {
				continue
			}
			known[label] = Citation{
				Label:      label,
				DocumentID: p.Document.ID,
				Namespace:  p.Document.Namespace,
				Name:       p.Document.Name,
				Title:      text.OneLine(p.Document.Title), // titles stored by earlier versions may have line breaks
				URL:        p.Document.URL,
				Page:       s.Page,
				Passage:    i,
				Snippet:    snippet(p.Chunk.Text),
			}
		}
	}
	return known
}

// LabelAt returns the label with which s begins, if a closing bracket follows it. If several labels match, it
// returns the longest, because document names may contain brackets themselves.
func LabelAt[V any](s string, labels map[string]V) (string, bool) {
	best := ""
	for label := range labels {
		if len(label) > len(best) && strings.HasPrefix(s, label) && strings.HasPrefix(s[len(label):], "]") {
			best = label
		}
	}
	return best, best != ""
}

// snippet returns the beginning of a passage on one line.
func snippet(text string) string {
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(prompt.Visible(text)) {
		size := len([]rune(word)) + 1
		if n+size > maxSnippetRunes {
			if n == 0 {
				b.WriteString(string([]rune(word)[:maxSnippetRunes-1]))
			}
			b.WriteString("…")
			break
		}
		if n > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		n += size
	}
	return b.String()
}

// Neutral is like prompt.Neutral, but for a line that another agent wrote about the passages: it keeps the
// citations that the passages allow.
func (k Known) Neutral(line string) string {
	var b strings.Builder
	for from := 0; ; {
		open := strings.IndexByte(line[from:], '[')
		if open < 0 {
			b.WriteString(prompt.Neutral(line))
			return b.String()
		}
		from += open + 1
		label, ok := LabelAt(line[from:], k)
		if !ok {
			continue
		}
		end := from + len(label) + 1
		b.WriteString(prompt.Neutral(line[:from-1]) + line[from-1:end])
		line, from = line[end:], 0
	}
}

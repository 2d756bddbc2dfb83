package chat

import (
	"regexp"
	"slices"
	"strings"

	"parley/internal/retrieval"
)

// The limits of what is read from an answer.
const (
	maxUnsupported  = 20
	maxLabelBytes   = 250
	maxSnippetRunes = 200
)

// citationLike matches labels that can only be meant as citations of documents.
var citationLike = regexp.MustCompile(`(?i)(?:#page=|[^\s.]\.(?:` + documentExts + `)$)`)

// findCitations reads the labels between brackets in an answer: those that the passages allow
// become citations, in the order in which they first appear; what looks like the citation of a
// document but is none of them is returned as unsupported. Passages are those of the prompt.
func findCitations(answer string, passages []retrieval.Passage) (cited []Citation, unsupported []string) {
	cited = []Citation{}
	known := citable(passages)
	seen := map[string]bool{}
	for i := strings.IndexByte(answer, '['); i >= 0; {
		rest := answer[i+1:]
		label, ok := knownLabel(rest, known)
		if !ok {
			label, ok = bracketText(rest)
		}
		if ok {
			for _, l := range splitLabel(label, known) {
				if seen[l] {
					continue
				}
				seen[l] = true
				if c, ok := known[l]; ok {
					cited = append(cited, c)
				} else if citationLike.MatchString(l) && len(unsupported) < maxUnsupported {
					unsupported = append(unsupported, l)
				}
			}
			i += len(label) + 1
		}
		next := strings.IndexByte(answer[i+1:], '[')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return cited, unsupported
}

// citable returns the citations that the passages allow, by label. Where several passages share
// a page, the best one counts.
func citable(passages []retrieval.Passage) map[string]Citation {
	known := map[string]Citation{}
	for i := range passages {
		p := &passages[i]
		for _, s := range p.Chunk.Spans {
			label := CitationLabel(p.Document.Name, s.Page)
			if _, ok := known[label]; ok {
				continue
			}
			known[label] = Citation{
				Label:      label,
				DocumentID: p.Document.ID,
				Name:       p.Document.Name,
				Title:      p.Document.Title,
				URL:        p.Document.URL,
				Page:       s.Page,
				Passage:    i,
				Snippet:    snippet(p.Chunk.Text),
			}
		}
	}
	return known
}

// knownLabel finds the label with which s begins, before a closing bracket. Names of documents
// may hold brackets themselves.
func knownLabel(s string, known map[string]Citation) (string, bool) {
	best := ""
	for label := range known {
		if len(label) > len(best) && strings.HasPrefix(s, label) && strings.HasPrefix(s[len(label):], "]") {
			best = label
		}
	}
	return best, best != ""
}

// bracketText returns what stands before the closing bracket, on one line and of sane length.
func bracketText(s string) (string, bool) {
	end := strings.IndexAny(s, "[]\n")
	if end <= 0 || end > maxLabelBytes || s[end] != ']' {
		return "", false
	}
	return s[:end], true
}

// splitLabel takes apart several labels in one pair of brackets, as some models write them.
func splitLabel(label string, known map[string]Citation) []string {
	if _, ok := known[label]; ok {
		return []string{label}
	}
	parts := strings.FieldsFunc(label, func(r rune) bool { return r == ',' || r == ';' })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	one := strings.TrimSpace(label)
	if _, ok := known[one]; ok || !slices.ContainsFunc(parts, func(p string) bool { _, ok := known[p]; return ok }) {
		return []string{one}
	}
	return parts
}

// snippet returns the beginning of a passage, on one line.
func snippet(text string) string {
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(visible(text)) {
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

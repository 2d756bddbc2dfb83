package yourdata

import (
	"cmp"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// citation is one page that an answer may cite.
type citation struct {
	Content  string `json:"content"` // what was found on the page
	ID       string `json:"id"`      // the label that other protocols have in the text
	Title    string `json:"title"`
	Filepath string `json:"filepath"`
	URL      string `json:"url"`
	ChunkID  string `json:"chunk_id"`
}

// found is the object that the sample calls the content of a tool message, and the service a context.
type found struct {
	Citations []citation `json:"citations"`
	Intent    string     `json:"intent"` // a list of queries as JSON
}

// foundOf returns what is known before the model is called.
func (h *Handler) foundOf(t *chat.Turn, namespace, base string) (found, error) {
	intent, err := wire.AppendJSON(nil, []string{cmp.Or(t.Rewrite.Query, t.Rewrite.Original)})
	if err != nil {
		return found{}, err
	}
	f := found{Citations: make([]citation, 0, len(t.Prompt.Labels)), Intent: string(intent)}
	for _, label := range t.Prompt.Labels {
		f.Citations = append(f.Citations, h.citationOf(label, t.Retrieved.Passages, namespace, base))
	}
	return f, nil
}

// citationOf returns the page with a label: the passages that stand on it, best first.
func (h *Handler) citationOf(label string, passages []retrieval.Passage, namespace, base string) citation {
	c := citation{ID: label, Title: label, Filepath: label}
	var texts []string
	for i := range passages {
		p := &passages[i]
		page, text := textOn(p, label)
		if text == "" {
			continue
		}
		if texts == nil {
			c.Title, c.Filepath = cmp.Or(p.Document.Title, p.Document.Name), p.Document.Name
			c.ChunkID = strconv.Itoa(p.Chunk.Key.Ordinal)
			c.URL = h.catalog.Link(p.Document.Name, page, base, namespace)
			if page > 0 {
				c.Title += ", page " + strconv.Itoa(page)
			}
		}
		texts = append(texts, text)
	}
	c.Content = strings.Join(texts, "\n\n")
	return c
}

// textOn returns what a passage has of the page with a label, "" for nothing, and the number of that page.
func textOn(p *retrieval.Passage, label string) (page int, text string) {
	marks := cite.Marks(p)
	for i, m := range marks {
		end := len(p.Chunk.Text)
		if i+1 < len(marks) {
			end = min(end, marks[i+1].Offset)
		}
		if m.Citation == label && m.Offset < end {
			page = p.Chunk.PageAt(m.Offset)
			text += p.Chunk.Text[m.Offset:end]
		}
	}
	return page, text
}

// marker writes the citations of an answer as [docN] while it streams: the Nth of labels.
type marker struct {
	labels []string
	held   string // text that may be the beginning of a citation
}

// add returns what is certain of the text so far.
func (m *marker) add(text string) string {
	if m.held == "" && strings.IndexByte(text, '[') < 0 {
		return text
	}
	var out strings.Builder
	text = m.held + text
	for m.held = ""; text != ""; {
		open := strings.IndexByte(text, '[')
		if open < 0 {
			out.WriteString(text)
			break
		}
		out.WriteString(text[:open])
		text = text[open:]
		docs, size, more := m.match(text)
		switch {
		case more:
			m.held = text
			return out.String()
		case size == 0:
			docs, size = "[", 1
		}
		out.WriteString(docs)
		text = text[size:]
	}
	return out.String()
}

// end returns what is held when the text is over.
func (m *marker) end() string {
	held := m.held
	m.held = ""
	return held
}

// match reads citations at the beginning of s. It returns what stands in their place and how many bytes they
// are, or more when s may still become some.
func (m *marker) match(s string) (docs string, size int, more bool) {
	if docs, size, more = m.cited(s); size > 0 || more {
		return docs, size, more
	}
	return literal(s)
}

// cited reads one or several labels between a pair of brackets.
func (m *marker) cited(s string) (docs string, size int, more bool) {
	for at := 1; ; {
		label, number, more := m.labelAt(s[at:])
		if label == "" {
			return "", 0, more
		}
		docs += "[doc" + strconv.Itoa(number) + "]"
		rest := strings.TrimLeft(s[at+len(label):], " ")
		switch {
		case rest == "":
			return "", 0, true
		case rest[0] == ']':
			return docs, len(s) - len(rest) + 1, false
		case rest[0] != ',' && rest[0] != ';':
			return "", 0, false
		}
		at = len(s) - len(strings.TrimLeft(rest[1:], " "))
	}
}

// labelAt returns the longest label with which s begins, and its number; or more when s may still become one.
func (m *marker) labelAt(s string) (best string, number int, more bool) {
	for i, label := range m.labels {
		switch {
		case len(s) <= len(label) && label != s && strings.HasPrefix(label, s):
			return "", 0, true
		case len(label) > len(best) && strings.HasPrefix(s, label) && (len(s) == len(label) || strings.IndexByte("],; ", s[len(label)]) >= 0):
			best, number = label, i+1
		}
	}
	return best, number, false
}

// literal breaks up a [docN] that a document or a model wrote: front ends would take it for a citation.
func literal(s string) (text string, size int, more bool) {
	const mark = "[doc"
	if len(s) <= len(mark) {
		return "", 0, strings.HasPrefix(mark, s)
	}
	if !strings.HasPrefix(s, mark) {
		return "", 0, false
	}
	digits := len(s[len(mark):]) - len(strings.TrimLeft(s[len(mark):], "0123456789"))
	rest := s[len(mark)+digits:]
	switch {
	case digits == 0 || digits > 3:
		return "", 0, false
	case rest == "":
		return "", 0, true
	case rest[0] == ']':
		return "[doc " + s[len(mark):len(mark)+digits+1], len(mark) + digits + 1, false
	}
	return "", 0, false
}

// unmarked returns an earlier answer without its [docN], whose list is not known any more.
func unmarked(text string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, "[doc")
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		if _, size, _ := literal(text[i:]); size > 0 {
			out.WriteString(strings.TrimRight(text[:i], " "))
			text = text[i+size:]
			continue
		}
		out.WriteString(text[:i+1])
		text = text[i+1:]
	}
}

// ascii escapes what is not ASCII in a line of JSON. The front end decodes what it receives without regard to
// characters that are cut in two.
func ascii(line []byte) []byte {
	for i, b := range line {
		if b >= 0x80 {
			return appendEscaped(append([]byte(nil), line[:i]...), string(line[i:]))
		}
	}
	return line
}

func appendEscaped(dst []byte, rest string) []byte {
	for _, r := range rest {
		switch {
		case r < 0x80:
			dst = append(dst, byte(r))
		case r < 0x10000:
			dst = appendUnit(dst, r)
		default:
			r -= 0x10000
			dst = appendUnit(appendUnit(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
		}
	}
	return dst
}

func appendUnit(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

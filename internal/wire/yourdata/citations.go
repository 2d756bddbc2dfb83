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
	Content  string `json:"content"` // text of the passages on the page
	ID       string `json:"id"`      // the label, which other protocols write in the text
	Title    string `json:"title"`
	Filepath string `json:"filepath"`
	URL      string `json:"url"`
	ChunkID  string `json:"chunk_id"`
}

// found is the result of the search: the content of a tool message for the sample, the context of a message for the service.
type found struct {
	Citations []citation `json:"citations"`
	Intent    string     `json:"intent"` // a JSON list of queries
}

// foundOf returns the result of the search of a turn, before the model is called.
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

// citationOf returns the citation for the page with a label. Its content is the text of the passages on that page, best first.
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

// textOn returns the part of a passage that is on the page with a label, or "", and the number of that page.
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

// marker rewrites the citations in a streamed answer: the Nth of labels becomes [docN].
type marker struct {
	labels []string
	held   string // text not returned yet, because it may be the beginning of a citation
}

// add adds a piece of text, and returns the rewritten text as far as it is certain.
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

// end returns the held text when no more follows.
func (m *marker) end() string {
	held := m.held
	m.held = ""
	return held
}

// match reads citations, or a literal [docN], at the beginning of s. It returns their replacement and their length in
// bytes; size 0 means that there are none. more means that this depends on the text that follows s.
func (m *marker) match(s string) (docs string, size int, more bool) {
	if docs, size, more = m.cited(s); size > 0 || more {
		return docs, size, more
	}
	return literal(s)
}

// cited is match for one or more labels in a pair of brackets.
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

// labelAt returns the longest label at the beginning of s, or "", and its number from 1. more means that this depends on the
// text that follows s.
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

// literal is match for a [docN] that a document or a model wrote. It becomes [doc N], because front ends would mistake it for
// a citation.
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

// unmarked returns an earlier answer without its [docN], since the list that they refer to is not known any more.
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

// ascii escapes all non-ASCII characters in a line of JSON. The front end decodes each chunk of bytes that it receives
// separately, and would garble a character that is split between two chunks.
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

package openai

import (
	"cmp"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/wire"
)

// Annotation is a url_citation: a mark in the answer, and the page that it cites.
type Annotation struct {
	Start, End int // of the mark, in Unicode code points; End is exclusive
	Title, URL string
	Name       string // of the document
	Document   string // its id; "" in records of earlier versions
	Page       int    // 0 if the document has no pages
}

// span is a range of bytes in a text.
type span struct{ start, end int }

func (h *Handler) annotationsOf(x *exchange, m chat.MessageFinished) []Annotation {
	if x.links {
		return nil // links change the text, so offsets would be wrong
	}
	return h.catalog.Annotations(m, x.base, x.req.Namespace)
}

// Annotations returns an annotation for each mark in the text of m that is one of its citations, in the order of the text.
// base is the server's URL, with which the URLs begin. namespace is the one that the turn searched.
func (c Catalog) Annotations(m chat.MessageFinished, base, namespace string) []Annotation {
	if len(m.Citations) == 0 {
		return nil
	}
	cited := make(map[string]*chat.Citation, len(m.Citations))
	for i := range m.Citations {
		cited[m.Citations[i].Label] = &m.Citations[i]
	}
	var list []Annotation
	runes, counted := 0, 0 // number of code points before byte counted
	index := func(offset int) int {
		runes += utf8.RuneCountInString(m.Text[counted:offset])
		counted = offset
		return runes
	}
	for s, at := range marks(m.Text, cited) {
		list = append(list, Annotation{
			Start: index(s.start), End: index(s.end),
			Title: cmp.Or(at.Title, at.Name), URL: c.LinkTo(at, base, namespace),
			Name: at.Name, Document: at.DocumentID, Page: at.Page,
		})
	}
	return list
}

// marks yields each citation in a text with its span. The span includes the brackets, unless several citations share a pair
// of brackets.
func marks(text string, cited map[string]*chat.Citation) iter.Seq2[span, *chat.Citation] {
	return func(yield func(span, *chat.Citation) bool) {
		for from := 0; ; {
			open := strings.IndexByte(text[from:], '[')
			if open < 0 {
				return
			}
			open += from
			from = open + 1
			if label, ok := cite.LabelAt(text[from:], cited); ok {
				from += len(label) + 1
				if !yield(span{open, from}, cited[label]) {
					return
				}
				continue
			}
			inside, ok := insideOf(text[from:])
			if !ok {
				continue
			}
			for s := range parts(inside) {
				c, ok := cited[inside[s.start:s.end]]
				if ok && !yield(span{from + s.start, from + s.end}, c) {
					return
				}
			}
			from += len(inside) + 1
		}
	}
}

// insideOf returns the text before the closing bracket on the same line, or false if there is none.
func insideOf(s string) (string, bool) {
	end := strings.IndexAny(s, "[]\n")
	if end < 0 || s[end] != ']' {
		return "", false
	}
	return s[:end], true
}

// parts yields the trimmed parts of a list that commas or semicolons separate.
func parts(list string) iter.Seq[span] {
	return func(yield func(span) bool) {
		for from := 0; from <= len(list); {
			end := strings.IndexAny(list[from:], ",;")
			if end < 0 {
				end = len(list) - from
			}
			part := list[from : from+end]
			start := from + len(part) - len(strings.TrimLeft(part, " "))
			if !yield(span{start, start + len(strings.TrimSpace(part))}) {
				return
			}
			from += end + 1
		}
	}
}

// Link returns the absolute URL, below base, at which this server shows a page of a document. Page 0 means
// that there are no pages. The URL names the namespace only if it is not the server's own.
func (c Catalog) Link(name string, page int, base, namespace string) string {
	if namespace == c.Own {
		namespace = ""
	}
	link := wire.ContentURLIn(base, name, namespace)
	if page > 0 {
		link += "#page=" + strconv.Itoa(page)
	}
	return link
}

func appendAnnotations(dst []byte, list []Annotation) []byte {
	dst = append(dst, '[')
	for i, a := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"type":"url_citation","url_citation":{"start_index":`...), int64(a.Start), 10)
		dst = strconv.AppendInt(append(dst, `,"end_index":`...), int64(a.End), 10)
		dst = wire.AppendString(append(dst, `,"title":`...), a.Title)
		dst = wire.AppendString(append(dst, `,"url":`...), a.URL)
		dst = append(dst, `}}`...)
	}
	return append(dst, ']')
}

// Package markup reads formats that are text with markup: HTML, EPUB, Markdown, JSON, XML of any kind, and
// plain text.
package markup

import (
	"bytes"
	"cmp"
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/internal/attribute"
	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("HTML", extract.Reader{Read: readHTML, Looks: func(f *extract.File) bool { return f.IsMisnamed() && looksLikeHTML(f.Head) }})

// MaxHTMLBytes bounds a web page: its tree takes about ten times the memory of its source.
const MaxHTMLBytes = 16 << 20

// readHTML reads the main content of a web page. If the article finder keeps little of the page, as for reference pages
// with many short sections, it reads the whole body without navigation, headers, footers and forms.
func readHTML(ctx context.Context, f *extract.File) (*extract.Document, error) {
	data, err := f.All(min(f.Limits.TextBytes, MaxHTMLBytes))
	if err != nil {
		return nil, err
	}
	source, err := compose.DecodeText(data, MetaCharset(data))
	if err != nil {
		return nil, err
	}
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	root, err := html.Parse(strings.NewReader(source))
	if err != nil { // nested deeper than the parser allows
		doc := &extract.Document{Notes: []string{"the page is nested too deeply, and was read without its structure"}}
		if err := out.Add(extract.Paragraph, 0, FlatHTML(source)); err != nil {
			return nil, err
		}
		doc.Pages = []extract.Page{out.Page(0, false)}
		return doc, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	head := readHTMLHead(root)
	body := mainContent(root, len(source))
	w := htmlWalker{out: &out}
	if !hasElement(body, atom.H1) {
		// The article finder removes a heading that repeats the title.
		if h1 := find(root, atom.H1); h1 != nil && find(body, atom.Body) == nil {
			w.heading(1, h1)
		}
	}
	w.walk(body)
	w.flush()
	if w.err != nil {
		return nil, w.err
	}
	doc := &extract.Document{Title: head.title, Pages: []extract.Page{out.Page(0, false)}}
	doc.Meta.URL, doc.Meta.Attributes = head.url, head.attributes.Encode()
	return doc, nil
}

// MetaCharset returns the charset that the page's meta elements or XML declaration name (HTML standard, section
// 13.2.3.2), or "" for none.
func MetaCharset(data []byte) string {
	const searched = 64 << 10 // the standard allows 1,024 bytes, but not every page complies
	m := charsetPattern.FindSubmatch(data[:min(len(data), searched)])
	if m == nil {
		return ""
	}
	return strings.ToLower(string(bytes.TrimSpace(m[1])))
}

var charsetPattern = lazyregexp.New(`(?i)<(?:meta\s[^>]*charset|\?xml\s[^>]*encoding)\s*=\s*["']?\s*([-\w:.]+)`)

// htmlHead is the metadata of a page.
type htmlHead struct {
	title, url string
	attributes attribute.Values
}

func readHTMLHead(root *html.Node) htmlHead {
	h := htmlHead{attributes: attribute.Values{}}
	ogTitle := ""
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Title:
			if h.title == "" && n.Namespace == "" {
				h.title = compose.OneLine(nodeText(n))
			}
		case atom.Link:
			if h.url == "" && strings.EqualFold(attr(n, "rel"), "canonical") {
				h.url = webURL(attr(n, "href"))
			}
		case atom.Meta:
			switch {
			case attr(n, "property") == "og:title":
				ogTitle = compose.OneLine(attr(n, "content"))
			case attr(n, "property") == "og:url" && h.url == "":
				h.url = webURL(attr(n, "content"))
			default:
				h.describe(cmp.Or(attr(n, "name"), attr(n, "property")), attr(n, "content"))
			}
		}
	}
	if h.title == "" {
		h.title = ogTitle
	}
	return h
}

// descriptions match the names of meta elements that describe a page: those of the HTML standard, of Dublin Core, of
// Google Scholar, and of articles in Open Graph.
var descriptions = lazyregexp.New(`^(author|keywords|date|subject|language|last-modified|dc\..+|dcterms\..+|citation_.+|article:.+)$`)

// describe adds the content of a meta element to the attributes. A name that comes several times makes a list.
func (h *htmlHead) describe(name, content string) {
	name, content = strings.ToLower(strings.TrimSpace(name)), compose.OneLine(content)
	if !descriptions.MatchString(name) {
		return
	}
	if name == "keywords" {
		h.attributes.AddAll(name, content)
	} else {
		h.attributes.Add(name, content)
	}
}

// webURL returns an absolute http or https address, and "" for anything else.
func webURL(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.String()
}

// skipped are the elements whose content does not belong to the text of the page.
var skipped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Iframe: true,
	atom.Object: true, atom.Svg: true, atom.Math: false, atom.Canvas: true, atom.Select: true,
	atom.Button: true, atom.Textarea: true, atom.Audio: true, atom.Video: true,
}

func isHidden(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" || a.Key == "style" && hidingStyle.MatchString(a.Val) {
			return true
		}
	}
	return false
}

// hidingStyle matches a style that makes browsers hide an element.
var hidingStyle = lazyregexp.New(`(?i)(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))`)

// isBoilerplate reports whether an element surrounds the content on every page of a site. A header inside an article or
// main element belongs to the content.
func isBoilerplate(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside:
		return true
	case atom.Header, atom.Footer:
		return n.Parent != nil && (n.Parent.DataAtom == atom.Body || n.Parent.DataAtom == atom.Div) && find(n, atom.H1) == nil
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "search":
		return find(n, atom.H1) == nil
	}
	return false
}

func removeElements(root *html.Node, remove func(*html.Node) bool) {
	for n := root.FirstChild; n != nil; {
		next := n.NextSibling
		if n.Type == html.ElementNode && n.DataAtom != atom.Body && n.DataAtom != atom.Html && remove(n) {
			root.RemoveChild(n)
		} else {
			removeElements(n, remove)
		}
		n = next
	}
}

func find(root *html.Node, name atom.Atom) *html.Node {
	if root.DataAtom == name {
		return root
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == name {
			return n
		}
	}
	return nil
}

func hasElement(root *html.Node, name atom.Atom) bool { return find(root, name) != nil }

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// nodeText returns the raw text under a node.
func nodeText(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return compose.Clean(b.String())
}

func textLength(root *html.Node) int {
	total := 0
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			for _, word := range strings.Fields(n.Data) {
				total += len(word)
			}
		}
	}
	return total
}

// FlatHTML returns a page with its tags replaced by spaces, for pages that cannot be parsed.
func FlatHTML(source string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(source))
	skip := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return compose.OneLine(compose.Clean(b.String()))
		case html.TextToken:
			if skip == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			if name, _ := z.TagName(); atom.Lookup(name) == atom.Script || atom.Lookup(name) == atom.Style {
				skip++
			}
			b.WriteByte(' ')
		case html.EndTagToken:
			if name, _ := z.TagName(); atom.Lookup(name) == atom.Script || atom.Lookup(name) == atom.Style {
				skip = max(0, skip-1)
			}
			b.WriteByte(' ')
		}
	}
}

// AddWholeHTML appends the whole body of a page.
func AddWholeHTML(out *compose.Builder, source string) error {
	root, err := html.Parse(strings.NewReader(source))
	if err != nil { // nested deeper than the parser allows
		return out.Add(extract.Paragraph, 0, FlatHTML(source))
	}
	prepareHTML(root)
	removeElements(root, isHidden)
	w := htmlWalker{out: out}
	w.walk(root)
	w.flush()
	return w.err
}

func looksLikeHTML(head []byte) bool {
	start := strings.ToLower(string(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

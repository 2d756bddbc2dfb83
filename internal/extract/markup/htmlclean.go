package markup

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// prepareHTML prepares a page for the article finder and the walker, which both judge elements by their names. It makes
// sure that headings stay, and removes elements that only help with navigation.
func prepareHTML(root *html.Node) {
	writeFormulas(root)
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			// The finder drops a heading with the id or class of page furniture: "Contact", "Sharing".
			n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "id" || a.Key == "class" })
			keepButtons(n)
		case atom.Summary:
			keepButtons(n)
		}
	}
	removeElements(root, isWayfinding)
}

// keepButtons turns the buttons in a heading, which fold a section, into text.
func keepButtons(heading *html.Node) {
	for n := range heading.Descendants() {
		if n.DataAtom == atom.Button {
			n.DataAtom, n.Data = atom.Span, "span"
		}
	}
}

// isWayfinding reports whether an element only helps with navigation: a permanent link, a mark of a footnote or the link
// back from it, a table of contents, or an element that MediaWiki puts around its text.
func isWayfinding(n *html.Node) bool {
	if n.DataAtom == atom.A && strings.HasPrefix(attr(n, "href"), "#") {
		if inHeading(n) && utf8.RuneCountInString(strings.TrimSpace(nodeText(n))) <= 2 {
			return true // a permanent link
		}
		role := attr(n, "role")
		if role == "doc-noteref" || role == "doc-backlink" || attr(n, "epub:type") == "noteref" {
			return true
		}
	}
	if attr(n, "role") == "doc-toc" {
		return true
	}
	for class := range strings.FieldsSeq(attr(n, "class")) {
		switch class {
		case "mw-editsection", "mw-jump-link", "navbox", "catlinks", "printfooter", "headerlink", "hash-link":
			return true
		case "toc":
			return n.DataAtom == atom.Div && attr(n, "id") == "toc"
		case "reference":
			return n.DataAtom == atom.Sup
		}
	}
	return false
}

func inHeading(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		switch p.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true
		}
	}
	return false
}

package markup

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/internal/extract/latex"
)

// writeFormulas replaces the formulas of a page by their LaTeX. If a site hides a formula and shows a picture of it, the
// picture is removed.
func writeFormulas(root *html.Node) {
	var formulas []*html.Node
	for n := range root.Descendants() {
		if isFormula(n) && !isFormula(n.Parent) {
			formulas = append(formulas, n)
		}
	}
	for _, n := range formulas {
		if n.Parent == nil || n.Parent.Namespace == "math" { // in another formula
			continue
		}
		text := &html.Node{Type: html.TextNode, Data: formulaOf(n)}
		n.Parent.InsertBefore(text, n)
		n.Parent.RemoveChild(n)
		shown := text.Parent
		if shown.DataAtom != atom.Span {
			continue
		}
		shown.Attr = slices.DeleteFunc(shown.Attr, func(a html.Attribute) bool { return a.Key == "style" || a.Key == "aria-hidden" })
		if picture := shown.NextSibling; picture != nil && picture.DataAtom == atom.Img && strings.Contains(attr(picture, "class"), "math") {
			picture.Parent.RemoveChild(picture)
		}
	}
}

func isFormula(n *html.Node) bool {
	return n != nil && n.Type == html.ElementNode && n.Namespace == "math" && n.Data == "math"
}

// formulaOf returns the LaTeX of a math element, between spaces if it is displayed as a block.
func formulaOf(n *html.Node) string {
	formula := mathElement(n, 0).Formula()
	if attr(n, "display") == "block" {
		return " " + formula + " "
	}
	return formula
}

func mathElement(n *html.Node, depth int) latex.Element {
	const deepest = 60
	e := latex.NewElement(n.Data, attr(n, "encoding"), attr(n, "linethickness"))
	for kid := n.FirstChild; kid != nil && depth < deepest; kid = kid.NextSibling {
		switch kid.Type {
		case html.TextNode:
			e.Text += kid.Data
		case html.ElementNode:
			e.Kids = append(e.Kids, mathElement(kid, depth+1))
		}
	}
	return e
}

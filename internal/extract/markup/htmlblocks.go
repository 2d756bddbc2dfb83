package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
)

// addHTML appends the blocks of a fragment of HTML inside Markdown.
func addHTML(out *compose.Builder, fragment string) error {
	nodes, err := html.ParseFragment(strings.NewReader(fragment), &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body})
	if err != nil {
		return out.Add(extract.Paragraph, 0, FlatHTML(fragment))
	}
	w := htmlWalker{out: out}
	for _, n := range nodes {
		w.node(n)
	}
	w.flush()
	return w.err
}

// htmlWalker turns a tree of HTML into blocks. Inline text collects until a block element begins
// or ends. Its first error ends the walk.
type htmlWalker struct {
	out    *compose.Builder
	inline strings.Builder
	kind   extract.Kind // of the block that the inline text will become
	err    error
}

// flush ends the block of the inline text so far.
func (w *htmlWalker) flush() {
	text := collapse(w.inline.String())
	w.inline.Reset()
	if w.kind == extract.ListItem && compose.ListMarker(text+" ") == len(text)+1 {
		return // an item whose text is a list of its own
	}
	for _, part := range strings.Split(text, "\n\n") { // two line breaks separate paragraphs too
		if w.err == nil {
			w.err = w.out.Add(w.kind, 0, part)
		}
	}
}

func (w *htmlWalker) walk(parent *html.Node) {
	for n := parent.FirstChild; n != nil && w.err == nil; n = n.NextSibling {
		w.node(n)
	}
}

func (w *htmlWalker) node(n *html.Node) {
	if n.Type == html.TextNode {
		w.inline.WriteString(n.Data)
		return
	}
	if n.Type != html.ElementNode || skipped[n.DataAtom] || n.DataAtom == atom.Head {
		return
	}
	if n.Namespace == "math" {
		w.inline.WriteString(formulaOf(n))
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.flush()
		w.heading(int(n.Data[1]-'0'), n)
	case atom.Summary: // of a section that is folded
		w.flush()
		w.heading(lowestHeading, n)
	case atom.Pre:
		w.flush()
		if w.err == nil {
			w.err = w.out.Add(extract.Code, 0, strings.TrimLeft(nodeText(n), "\n"))
		}
	case atom.Ul, atom.Ol, atom.Menu:
		w.flush()
		w.list(n)
	case atom.Table:
		w.flush()
		w.table(n)
	case atom.Br:
		w.inline.WriteByte(lineBreak)
	case atom.Sup:
		w.shift(n, compose.Raised)
	case atom.Sub:
		w.shift(n, compose.Lowered)
	case atom.Img:
		if alt := strings.TrimSpace(attr(n, "alt")); alt != "" {
			w.inline.WriteString(" " + alt + " ")
		}
	case atom.Dt:
		w.flush()
		w.walk(n)
		if text := strings.TrimSpace(w.inline.String()); text != "" && !strings.HasSuffix(text, ":") {
			w.inline.WriteByte(':')
		}
	case atom.Dd:
		w.inline.WriteByte(' ')
		w.walk(n)
		w.flush()
	default:
		if inlineElements[n.DataAtom] || n.DataAtom == 0 && n.Namespace == "" && strings.Contains(n.Data, "-") {
			w.walk(n)
			return
		}
		w.flush()
		w.walk(n)
		w.flush()
	}
}

// shift writes the text of a sup or sub element.
func (w *htmlWalker) shift(n *html.Node, to compose.Script) {
	text := nodeText(n)
	if shown := to.Write(text); shown != text {
		w.inline.WriteString(shown)
		return
	}
	w.walk(n)
}

// lineBreak represents a br element until collapse, which merges all other white space.
const lineBreak = '\v'

var inlineElements = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true, atom.Cite: true,
	atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true,
	atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Math: true, atom.Mi: true, atom.Mn: true,
	atom.Mo: true, atom.Q: true, atom.Rb: true, atom.Rp: true, atom.Rt: true, atom.Ruby: true, atom.S: true,
	atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strike: true, atom.Strong: true, atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true,
}

func (w *htmlWalker) heading(level int, n *html.Node) {
	if w.err == nil {
		w.err = w.out.Add(extract.Heading, level, compose.OneLine(strings.TrimSuffix(compose.OneLine(w.textOf(n)), "¶")))
	}
}

// list appends the items of a list. An item that contains blocks also starts with its marker.
func (w *htmlWalker) list(list *html.Node) {
	number := 1
	if start, err := strconv.Atoi(attr(list, "start")); err == nil {
		number = start
	}
	before := w.kind
	for n := list.FirstChild; n != nil && w.err == nil; n = n.NextSibling {
		if n.Type != html.ElementNode {
			continue
		}
		if n.DataAtom != atom.Li {
			w.node(n)
			continue
		}
		marker := "• "
		if list.DataAtom == atom.Ol {
			if value, err := strconv.Atoi(attr(n, "value")); err == nil {
				number = value
			}
			marker = compose.ListNumber(number, attr(list, "type")) + ". "
			number++
		}
		w.kind = extract.ListItem
		w.item(marker, n)
	}
	w.kind = before
}

// item puts the marker before the first text of an item, even if that is inside a paragraph.
func (w *htmlWalker) item(marker string, li *html.Node) {
	first := li.FirstChild
	for first != nil && (first.Type == html.CommentNode || first.Type == html.TextNode && strings.TrimSpace(first.Data) == "") {
		first = first.NextSibling
	}
	if first == nil {
		return
	}
	w.inline.WriteString(marker)
	if first.DataAtom == atom.P || first.DataAtom == atom.Div {
		w.walk(first)
		w.flush()
		first = first.NextSibling
	}
	for n := first; n != nil && w.err == nil; n = n.NextSibling {
		w.node(n)
	}
	w.flush()
}

// textOf returns the text under a node, with the blocks inside it separated.
func (w *htmlWalker) textOf(n *html.Node) string {
	scratch := htmlWalker{out: &compose.Builder{Budget: &compose.Budget{Left: w.out.Budget.Left, Limits: w.out.Budget.Limits}}}
	scratch.walk(n)
	scratch.flush()
	if scratch.err != nil {
		w.err = scratch.err
	}
	return string(scratch.out.Text)
}

// collapse replaces every run of white space by one space. A line break of the source between characters of scripts
// without spaces disappears, and a br element ends a line.
func collapse(s string) string {
	lines := strings.Split(cleanHTML(s), string(lineBreak))
	for i, line := range lines {
		var b strings.Builder
		for len(line) > 0 {
			start := strings.IndexAny(line, " \n\t")
			if start < 0 {
				b.WriteString(line)
				break
			}
			rest := strings.TrimLeft(line[start:], " \n\t")
			space := line[start : len(line)-len(rest)]
			b.WriteString(line[:start])
			last, _ := utf8.DecodeLastRuneInString(b.String())
			first, _ := utf8.DecodeRuneInString(rest)
			if !strings.Contains(space, "\n") || !codepage.Unspaced(last) || !codepage.Unspaced(first) {
				b.WriteByte(' ')
			}
			line = rest
		}
		lines[i] = strings.TrimSpace(b.String())
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// cleanHTML cleans text whose character references have been resolved. It keeps lineBreak.
func cleanHTML(s string) string {
	parts := strings.Split(s, string(lineBreak))
	for i := range parts {
		parts[i] = compose.Clean(parts[i])
	}
	return strings.Join(parts, string(lineBreak))
}

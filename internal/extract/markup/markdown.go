package markup

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("Markdown", extract.Reader{Read: readMarkdown})

// readMarkdown reads CommonMark with tables, strikethrough, task lists and footnotes, and front
// matter in YAML or TOML. Code stays as it is. Links become their text, and images their description.
func readMarkdown(ctx context.Context, f *extract.File) (*extract.Document, error) {
	source, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	doc := &extract.Document{}
	if matter, body, ok := cutFrontMatter(source); ok {
		doc.Meta, err = matter.meta()
		switch {
		case err == nil:
			source = body
		case accessKey.MatchString(matter.text):
			return nil, &extract.Error{Reason: extract.BadMetadata,
				Detail: fmt.Sprintf("its front matter is not valid, so who may see the document is not known: %v", err)}
		default:
			doc.Notes = append(doc.Notes, "the front matter is not valid "+matter.language+" and was read as text")
		}
	}
	if f.Ext == "mdx" {
		source = withoutModules(source)
	}
	w := markdownWalker{source: []byte(source), out: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	tree := markdownParser().Parse(text.NewReader(w.source))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := w.blocks(tree); err != nil {
		return nil, err
	}
	doc.Title = doc.Meta.Title
	doc.Pages = []extract.Page{w.out.Page(0, false)}
	return doc, nil
}

func markdownParser() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote)).Parser()
}

// modules matches the statements of a module between the paragraphs of MDX, up to a blank line, and comment matches
// a comment of JSX.
var (
	modules = lazyregexp.New(`(?m)^(?:import|export)\s(?:[^\n]+\n?)+`)
	comment = lazyregexp.New(`(?s)\{/\*.*?\*/\}`)
	fences  = lazyregexp.New("(?ms)^ {0,3}(?:```.*?^ {0,3}```|~~~.*?^ {0,3}~~~)")
)

// withoutModules removes the program parts of MDX. Blocks of code stay.
func withoutModules(source string) string {
	var b strings.Builder
	at := 0
	for _, code := range append(fences.FindAllStringIndex(source, -1), []int{len(source), len(source)}) {
		b.WriteString(comment.ReplaceAllString(modules.ReplaceAllString(source[at:code[0]], ""), ""))
		b.WriteString(source[code[0]:code[1]])
		at = code[1]
	}
	return b.String()
}

// markdownWalker turns a syntax tree into blocks.
type markdownWalker struct {
	source []byte
	out    compose.Builder
}

func (w *markdownWalker) blocks(parent ast.Node) error {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if err := w.block(n); err != nil {
			return err
		}
	}
	return nil
}

func (w *markdownWalker) block(n ast.Node) error {
	switch n := n.(type) {
	case *ast.Heading:
		return w.out.Add(extract.Heading, n.Level, attributes.ReplaceAllString(compose.OneLine(w.inline(n)), ""))
	case *ast.Paragraph, *ast.TextBlock:
		return w.out.Add(extract.Paragraph, 0, w.inline(n))
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return w.out.Add(extract.Code, 0, string(n.Lines().Value(w.source)))
	case *ast.List:
		return w.list(n)
	case *ast.HTMLBlock:
		raw := string(n.Lines().Value(w.source))
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(w.source))
		}
		return addHTML(&w.out, raw)
	case *tables.Table:
		return w.table(n)
	case *ast.LinkReferenceDefinition:
		return nil
	}
	return w.blocks(n) // block quotes and footnotes
}

// attributes match the attributes that Pandoc, kramdown and others put after a heading: "Introduction {#intro .wide}".
var attributes = lazyregexp.New(`\s*\{[#.:][^{}]*\}$`)

// list appends the items of a list, each with its bullet or number. The items of a nested list follow the item that
// contains it.
func (w *markdownWalker) list(list *ast.List) error {
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if list.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		for n := item.FirstChild(); n != nil; n = n.NextSibling() {
			var err error
			switch n := n.(type) {
			case *ast.Paragraph, *ast.TextBlock:
				if text := strings.TrimSpace(w.inline(n)); text != "" {
					err = w.out.Add(extract.ListItem, 0, marker+text)
					marker = ""
				}
			case *ast.List:
				err = w.list(n)
			default:
				err = w.block(n)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *markdownWalker) table(table *tables.Table) error {
	var rows [][]string
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.inline(cell))
		}
		rows = append(rows, cells)
	}
	return w.out.AddTable(rows, true)
}

// inline returns the text of a block without markup.
func (w *markdownWalker) inline(block ast.Node) string {
	var b strings.Builder
	w.writeInline(&b, block)
	return b.String()
}

func (w *markdownWalker) writeInline(b *strings.Builder, parent ast.Node) {
	var next ast.Node
	for n := parent.FirstChild(); n != nil; n = next {
		next = n.NextSibling()
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(unescapeMarkdown(n.Value(w.source)))
			switch {
			case n.HardLineBreak():
				b.WriteByte('\n')
			case n.SoftLineBreak():
				last, _ := utf8.DecodeLastRuneInString(b.String())
				first := ' '
				if next, ok := n.NextSibling().(*ast.Text); ok {
					first, _ = utf8.DecodeRune(next.Value(w.source))
				}
				b.WriteString(compose.Glue(last, first))
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					b.WriteString(strings.ReplaceAll(string(t.Value(w.source)), "\n", " "))
				}
			}
		case *ast.AutoLink:
			b.Write(n.Label(w.source))
		case *ast.RawHTML:
			switch tag := strings.ToLower(string(n.Segments.Value(w.source))); {
			case strings.HasPrefix(tag, "<br"):
				b.WriteByte('\n')
			case tag == "<sup>", tag == "<sub>":
				to := compose.Raised
				if tag == "<sub>" {
					to = compose.Lowered
				}
				if text, ok := n.NextSibling().(*ast.Text); ok {
					b.WriteString(to.Write(unescapeMarkdown(text.Value(w.source))))
					next = text.NextSibling()
				}
			}
		case *tables.FootnoteLink, *tables.FootnoteBacklink, *tables.TaskCheckBox:
		default:
			w.writeInline(b, n)
		}
	}
}

// unescapeMarkdown resolves backslash escapes and character references (CommonMark 0.31,
// sections 2.4 and 2.5).
func unescapeMarkdown(raw []byte) string {
	if !bytes.ContainsAny(raw, `\&`) {
		return string(raw)
	}
	return compose.Clean(string(util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(raw)))))
}

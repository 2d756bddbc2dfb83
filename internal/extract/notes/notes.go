// Package notes reads the markup languages that people write by hand beside Markdown: reStructuredText,
// AsciiDoc, Org and LaTeX, and the subtitles of films.
package notes

import (
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

// page reads a text and makes one page of the blocks that write adds.
func page(f *extract.File, write func(b *compose.Builder, lines []string) error) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	b := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " ")
	}
	if err := write(&b, lines); err != nil {
		return nil, err
	}
	return &extract.Document{Pages: []extract.Page{b.Page(0, false)}}, nil
}

// paragraph collects lines of running text until flush adds them as one block.
type paragraph struct {
	out  *compose.Builder
	kind extract.Kind
	text strings.Builder
	// inline removes the markup within a line; nil keeps the text.
	inline func(string) string
}

// begin ends the current block and begins one of a kind.
func (p *paragraph) begin(kind extract.Kind, text string) error {
	err := p.flush()
	p.kind = kind
	p.add(text)
	return err
}

// add appends a line.
func (p *paragraph) add(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	if p.text.Len() > 0 {
		last, _ := utf8.DecodeLastRuneInString(p.text.String())
		first, _ := utf8.DecodeRuneInString(line)
		p.text.WriteString(compose.Glue(last, first))
	}
	p.text.WriteString(line)
}

func (p *paragraph) flush() error {
	text, kind := p.text.String(), p.kind
	p.text.Reset()
	p.kind = extract.Paragraph
	if p.inline != nil {
		text = p.inline(text)
	}
	return p.out.Add(kind, 0, compose.OneLine(text))
}

// heading ends the current block and adds a heading.
func (p *paragraph) heading(level int, text string) error {
	if err := p.flush(); err != nil {
		return err
	}
	if p.inline != nil {
		text = p.inline(text)
	}
	return p.out.Add(extract.Heading, min(max(level, 1), 6), compose.OneLine(text))
}

// code ends the current block and adds lines of code, without their common indentation.
func (p *paragraph) code(lines []string) error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.out.Add(extract.Code, 0, strings.Trim(strings.Join(dedented(lines), "\n"), "\n"))
}

// table ends the current block and adds the rows of a table.
func (p *paragraph) table(rows [][]string, hasHeader bool) error {
	if err := p.flush(); err != nil {
		return err
	}
	for _, row := range rows {
		for i := range row {
			if row[i] = strings.TrimSpace(row[i]); p.inline != nil {
				row[i] = p.inline(row[i])
			}
		}
	}
	return p.out.AddTable(rows, hasHeader)
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// dedented returns lines without the indentation that all of them share.
func dedented(lines []string) []string {
	least := -1
	for _, line := range lines {
		if line != "" && (least < 0 || indent(line) < least) {
			least = indent(line)
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(max(least, 0), len(line)):]
	}
	return out
}

// body returns the index after the lines, beginning with line from, that are blank or indented by at least width.
func body(lines []string, from, width int) int {
	end := from
	for i := from; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		if indent(lines[i]) < width {
			break
		}
		end = i + 1
	}
	return end
}

// replacement is one rule of inline markup.
type replacement struct {
	pattern *lazyregexp.Regexp
	with    string
}

// replaced applies the rules to a text, one after the other.
func replaced(text string, rules []replacement) string {
	for _, r := range rules {
		text = r.pattern.ReplaceAllString(text, r.with)
	}
	return text
}

// maxNested is the maximum depth of blocks inside blocks.
const maxNested = 20

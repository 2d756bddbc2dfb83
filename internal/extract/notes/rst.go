package notes

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("reStructuredText", extract.Reader{Read: readRST})

// readRST reads the reStructuredText of docutils and Sphinx: sections, lists, tables, literal blocks, notes and other
// directives. It keeps the text of references that only Sphinx can resolve.
func readRST(ctx context.Context, f *extract.File) (*extract.Document, error) {
	return page(f, func(b *compose.Builder, lines []string) error {
		r := rstReader{ctx: ctx, p: paragraph{out: b, inline: rstInline}}
		return r.blocks(lines, 0)
	})
}

type rstReader struct {
	ctx    context.Context
	p      paragraph
	styles []string // of the underlines, by level
}

var (
	rstDirective = lazyregexp.New(`^\.\. ([\w:+.-]+)::(?: +(.*))?$`)
	rstExplicit  = lazyregexp.New(`^\.\.(?: |$)`)
	rstNote      = lazyregexp.New(`^\.\. \[([^\]]+)\] *(.*)$`)
	rstItem      = lazyregexp.New(`^([-*+•]|\(?(?:\d{1,3}|[a-zA-Z]|#|[ivxlcdm]{1,6})[.)])( +)`)
	rstField     = lazyregexp.New(`^:([^:` + "`" + `][^:]*): *(.*)$`)
	rstGrid      = lazyregexp.New(`^\+(?:[-=]+\+)+$`)
	rstSimple    = lazyregexp.New(`^=+(?: +=+)+$`)
)

// rstLeftOut are directives that add no text of their own.
var rstLeftOut = []string{"toctree", "contents", "include", "image", "raw", "index", "meta", "highlight", "default-role", "role", "sectnum",
	"automodule", "autoclass", "autofunction", "currentmodule", "module", "only", "tabularcolumns", "target-notes"}

// rstCode are directives whose content is code.
var rstCode = []string{"code", "code-block", "sourcecode", "parsed-literal", "doctest", "testcode", "prompt", "productionlist", "graphviz", "mermaid", "highlight-block"}

func (r *rstReader) blocks(lines []string, depth int) error {
	if depth > maxNested {
		return r.p.code(lines)
	}
	for i := 0; i < len(lines); {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		next, err := r.block(lines, i, depth)
		if err != nil {
			return err
		}
		i = max(next, i+1)
	}
	return r.p.flush()
}

// block reads the block that begins at line i, and returns the index of the line after it.
func (r *rstReader) block(lines []string, i, depth int) (int, error) {
	line := lines[i]
	switch {
	case line == "":
		return i + 1, r.p.flush()
	case r.p.text.Len() == 0 && r.title(lines, i) > 0:
		return r.section(lines, i)
	case rstExplicit.MatchString(line):
		return r.explicit(lines, i, depth)
	case strings.HasPrefix(line, "__ "):
		return i + 1, nil
	case rstGrid.MatchString(line):
		return r.grid(lines, i)
	case rstSimple.MatchString(line):
		return r.simple(lines, i)
	case indent(line) > 0 && r.p.text.Len() == 0: // a quotation, or a definition below its term
		end := body(lines, i, 1)
		return end, r.blocks(dedented(lines[i:end]), depth+1)
	}
	if m := rstItem.FindString(line); m != "" && (r.p.text.Len() == 0 || r.p.kind == extract.ListItem) {
		return r.item(lines, i, m, depth)
	}
	if m := rstField.FindStringSubmatch(line); m != nil && r.p.text.Len() == 0 {
		end := body(lines, i+1, 1)
		return end, r.p.begin(extract.Paragraph, m[1]+": "+m[2]+" "+strings.Join(lines[i+1:end], " "))
	}
	r.p.add(strings.TrimSuffix(line, "::") + strings.Repeat(":", strings.Count(line[max(0, len(line)-2):], "::")))
	if strings.HasSuffix(line, "::") {
		return r.literal(lines, i+1)
	}
	return i + 1, nil
}

// literal reads the indented block after a paragraph that ends with two colons.
func (r *rstReader) literal(lines []string, i int) (int, error) {
	if i >= len(lines) || lines[i] != "" {
		return i, nil
	}
	end := body(lines, i, 1)
	return end, r.p.code(lines[i:end])
}

// title returns the number of lines of the section title at line i, or 0 if there is none.
func (r *rstReader) title(lines []string, i int) int {
	if i+2 < len(lines) && isRule(lines[i]) && lines[i+2] == lines[i] && lines[i+1] != "" {
		return 3
	}
	if i+1 < len(lines) && indent(lines[i]) == 0 && isRule(lines[i+1]) && !isRule(lines[i]) &&
		len(lines[i+1]) >= min(utf8.RuneCountInString(lines[i]), 4) {
		return 2
	}
	return 0
}

// isRule reports whether a line is a row of one punctuation character.
func isRule(line string) bool {
	return len(line) >= 2 && strings.ContainsAny(line[:1], "=-~^\"'`#*+:.<>_!$%&") && strings.Trim(line, line[:1]) == ""
}

func (r *rstReader) section(lines []string, i int) (int, error) {
	n := r.title(lines, i)
	style, text := lines[i+1][:1], lines[i]
	if n == 3 {
		style, text = lines[i][:1]+"over", lines[i+1]
	}
	level := slices.Index(r.styles, style)
	if level < 0 {
		r.styles = append(r.styles, style)
		level = len(r.styles) - 1
	}
	return i + n, r.p.heading(level+1, text)
}

// explicit reads a block that begins with two dots: a directive, a footnote, or a comment or target, which have no text.
func (r *rstReader) explicit(lines []string, i, depth int) (int, error) {
	if err := r.p.flush(); err != nil {
		return 0, err
	}
	if lines[i] == ".." && i+1 < len(lines) && lines[i+1] == "" {
		return i + 1, nil // ends the block before
	}
	end := body(lines, i+1, 1)
	if m := rstNote.FindStringSubmatch(lines[i]); m != nil {
		return end, r.p.begin(extract.Paragraph, "["+m[1]+"] "+m[2]+" "+strings.Join(lines[i+1:end], " "))
	}
	m := rstDirective.FindStringSubmatch(lines[i])
	if m == nil {
		return end, nil
	}
	content, options := rstOptions(dedented(lines[i+1 : end]))
	name := m[1]
	switch {
	case options["alt"] != "" || name == "image":
		return end, r.p.begin(extract.Paragraph, options["alt"])
	case slices.Contains(rstLeftOut, name):
		return end, nil
	case name == "math":
		return end, r.p.out.Add(extract.Paragraph, 0, "$$ "+compose.OneLine(m[2]+" "+strings.Join(content, " "))+" $$")
	case slices.Contains(rstCode, name):
		return end, r.p.code(content)
	case name == "csv-table":
		return end, r.csv(m[2], options["header"], content)
	case name == "list-table":
		return end, r.listTable(m[2], options["header-rows"] != "", content)
	case strings.HasPrefix(name, "figure"):
	default:
		if err := r.p.begin(extract.Paragraph, m[2]); err != nil {
			return 0, err
		}
	}
	return end, r.blocks(content, depth+1)
}

// rstOptions separates the options of a directive from its content.
func rstOptions(lines []string) ([]string, map[string]string) {
	options := map[string]string{}
	for i, line := range lines {
		m := rstField.FindStringSubmatch(line)
		if m == nil {
			return lines[i:], options
		}
		options[m[1]] = m[2] + " "
	}
	return nil, options
}

func (r *rstReader) csv(title, header string, lines []string) error {
	if err := r.p.begin(extract.Paragraph, title); err != nil {
		return err
	}
	var rows [][]string
	for _, line := range append([]string{header}, lines...) {
		if strings.TrimSpace(line) != "" {
			cells := strings.Split(line, ",")
			for i := range cells {
				cells[i] = strings.Trim(cells[i], ` "`)
			}
			rows = append(rows, cells)
		}
	}
	return r.p.table(rows, header != "")
}

func (r *rstReader) listTable(title string, hasHeader bool, lines []string) error {
	if err := r.p.begin(extract.Paragraph, title); err != nil {
		return err
	}
	var rows [][]string
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if cell, ok := strings.CutPrefix(text, "* -"); ok {
			rows = append(rows, []string{cell})
		} else if cell, ok := strings.CutPrefix(text, "- "); ok && len(rows) > 0 {
			rows[len(rows)-1] = append(rows[len(rows)-1], cell)
		} else if len(rows) > 0 {
			last := rows[len(rows)-1]
			last[len(last)-1] += " " + text
		}
	}
	return r.p.table(rows, hasHeader)
}

// item reads an item of a list, whose further lines are indented as far as its text.
func (r *rstReader) item(lines []string, i int, marker string, depth int) (int, error) {
	end := body(lines, i+1, len(marker))
	if i+1 < len(lines) && lines[i+1] != "" && indent(lines[i+1]) == 0 && rstItem.FindString(lines[i+1]) == "" {
		r.p.add(lines[i]) // not a list, but a line that happens to begin like one
		return i + 1, nil
	}
	shown := strings.TrimSpace(marker)
	if strings.ContainsAny(shown, "-*+") {
		shown = "•"
	}
	first := i + 1
	for first < end && lines[first] != "" && rstItem.FindString(strings.TrimSpace(lines[first])) == "" && !strings.HasSuffix(lines[first-1], "::") {
		first++
	}
	text := shown + " " + lines[i][len(marker):] + " " + strings.Join(lines[i+1:first], " ")
	if strings.HasSuffix(strings.TrimSpace(text), "::") {
		if err := r.p.begin(extract.ListItem, strings.TrimSuffix(strings.TrimSpace(text), ":")); err != nil {
			return 0, err
		}
		return end, r.p.code(lines[first:end])
	}
	if err := r.p.begin(extract.ListItem, text); err != nil {
		return 0, err
	}
	if err := r.p.flush(); err != nil {
		return 0, err
	}
	return end, r.blocks(dedented(lines[first:end]), depth+1)
}

// grid reads a table that is drawn with +---+ and |.
func (r *rstReader) grid(lines []string, i int) (int, error) {
	var rows [][]string
	var current []string
	header := 0
	for ; i < len(lines) && lines[i] != "" && strings.ContainsAny(lines[i][:1], "+|"); i++ {
		if strings.HasPrefix(lines[i], "+") {
			if current != nil {
				rows = append(rows, current)
				current = nil
			}
			if strings.Contains(lines[i], "=") && header == 0 {
				header = len(rows)
			}
			continue
		}
		cells := strings.Split(strings.Trim(lines[i], "|"), "|")
		for len(current) < len(cells) {
			current = append(current, "")
		}
		for n, cell := range cells {
			current[n] = strings.TrimSpace(current[n] + " " + strings.TrimSpace(cell))
		}
	}
	return i, r.p.table(rows, header == 1)
}

// simple reads a table whose columns are marked by rows of equals signs.
func (r *rstReader) simple(lines []string, i int) (int, error) {
	var starts []int
	for n := range lines[i] {
		if lines[i][n] == '=' && (n == 0 || lines[i][n-1] == ' ') {
			starts = append(starts, n)
		}
	}
	var rows [][]string
	rules, header := 1, 0
	for i++; i < len(lines); i++ {
		if rstSimple.MatchString(lines[i]) {
			if rules++; rules == 2 {
				header = len(rows)
			}
			if i+1 >= len(lines) || lines[i+1] == "" {
				i++
				break
			}
			continue
		}
		if lines[i] == "" || strings.Trim(lines[i], "- ") == "" {
			continue
		}
		rows = append(rows, columns(lines[i], starts))
	}
	return i, r.p.table(rows, header == 1 && rules > 2)
}

// columns cuts a line where columns start.
func columns(line string, starts []int) []string {
	runes := []rune(line)
	cells := make([]string, len(starts))
	for n, start := range starts {
		end := len(runes)
		if n+1 < len(starts) {
			end = min(end, starts[n+1])
		}
		if start < end {
			cells[n] = strings.TrimSpace(string(runes[start:end]))
		}
	}
	return cells
}

var rstRules = []replacement{
	{lazyregexp.New("(?::[\\w:+.-]+:)?`~?([^`<>]+?)\\s*<[^`<>]+>`_{0,2}"), "$1"},
	{lazyregexp.New("(?::[\\w:+.-]+:)?`[~!]?([^`]+)`(?::[\\w:+.-]+:)?_{0,2}"), "$1"},
	{lazyregexp.New(`\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`), "$1"},
	{lazyregexp.New(`(^|[\s("'\[{<-])\*([^*\s](?:[^*]*[^*\s])?)\*`), "$1$2"},
	{lazyregexp.New(`\[(#?\w+|#|\*)\]_`), "[$1]"},
	{lazyregexp.New(`\b(\w+)__?(\s|[.,;:!?)]|$)`), "$1$2"},
	{lazyregexp.New(`\\(\S)`), "$1"},
}

// rstLiteral is mathematics or code within a text, which stays as it was written.
var rstLiteral = lazyregexp.New("(:math:`|``)([^`]+)(?:``|`)")

func rstInline(text string) string {
	var b strings.Builder
	at := 0
	for _, found := range rstLiteral.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(replaced(text[at:found[0]], rstRules))
		literal := text[found[4]:found[5]]
		if text[found[2]] == ':' {
			literal = "$" + literal + "$"
		}
		b.WriteString(literal)
		at = found[1]
	}
	return b.String() + replaced(text[at:], rstRules)
}

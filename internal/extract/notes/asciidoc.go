package notes

import (
	"context"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("AsciiDoc", extract.Reader{Read: readASCIIDoc})

// readASCIIDoc reads AsciiDoc: sections, lists, tables, listings and admonitions. Attributes that the
// document sets are filled in; included files are left out.
func readASCIIDoc(ctx context.Context, f *extract.File) (*extract.Document, error) {
	return page(f, func(b *compose.Builder, lines []string) error {
		r := adocReader{attributes: map[string]string{}}
		r.p = paragraph{out: b, inline: r.inline}
		for i := 0; i < len(lines); {
			if err := ctx.Err(); err != nil {
				return err
			}
			next, err := r.block(lines, i)
			if err != nil {
				return err
			}
			i = max(next, i+1)
		}
		return r.p.flush()
	})
}

type adocReader struct {
	p          paragraph
	attributes map[string]string
	options    string      // of the next block: the text in brackets
	numbers    map[int]int // of the last item by the depth of its list
}

var (
	adocTitle     = lazyregexp.New(`^(={1,6}|#{1,6}) +(\S.*?)(?: =+)?$`)
	adocAttribute = lazyregexp.New(`^:(!?[\w-]+!?):(?: +(.*))?$`)
	adocOptions   = lazyregexp.New(`^\[[^\]]*\]$|^\[\[[\w:. -]+\]\]$`)
	adocItem      = lazyregexp.New(`^ *(\*{1,5}|-|\.{1,5}|\d{1,3}\.|[a-zA-Z]\.) +(?:\[[ x*]\] +)?(\S.*)$`)
	adocTerm      = lazyregexp.New(`^ *(\S.*?)(?::{2,4}|;;)(?: +(.*))?$`)
	adocMacro     = lazyregexp.New(`^(\w+)::([^\[]*)\[(.*)\]$`)
	adocFormula   = lazyregexp.New(`^\[(?:stem|latexmath|asciimath)`)
	adocCallout   = lazyregexp.New(`^<(?:\d+|\.)> +(.*)$`)
	adocCell      = lazyregexp.New(`(?:^|\s)(?:\d*(?:\.\d+)?[+*])?(?:[<^>]?(?:\.[<^>])?)?[adehlmsv]?\|`)
)

// block reads the block that begins at line i, and returns the index of the line after it.
func (r *adocReader) block(lines []string, i int) (int, error) {
	line := lines[i]
	switch fence := strings.TrimSpace(line); {
	case line == "" || line == "+" || strings.Trim(line, "'") == "" || fence == "<<<":
		return i + 1, r.p.flush()
	case strings.HasPrefix(line, "////"):
		return closing(lines, i) + 1, r.p.flush()
	case isFence(line, '+') && adocFormula.MatchString(r.options):
		end := closing(lines, i)
		r.options = ""
		if err := r.p.flush(); err != nil {
			return 0, err
		}
		return end + 1, r.p.out.Add(extract.Paragraph, 0, "$$ "+compose.OneLine(strings.Join(lines[i+1:min(end, len(lines))], " "))+" $$")
	case isFence(line, '-') || isFence(line, '.') || isFence(line, '+') || strings.HasPrefix(line, "```"):
		end := closing(lines, i)
		return end + 1, r.p.code(lines[i+1 : min(end, len(lines))])
	case isFence(line, '=') || isFence(line, '*') || isFence(line, '_') || line == "--":
		return i + 1, r.p.flush() // the content is text
	case strings.HasPrefix(line, "|===") || strings.HasPrefix(line, ",===") || strings.HasPrefix(line, "!==="):
		end := closing(lines, i)
		return end + 1, r.table(lines[i+1:min(end, len(lines))], line[0])
	case strings.HasPrefix(line, "//"):
		return i + 1, nil
	case adocOptions.MatchString(line):
		r.options = line
		return i + 1, r.p.flush()
	case line[0] == '.' && len(line) > 1 && line[1] != '.' && line[1] != ' ':
		if err := r.p.begin(extract.Paragraph, line[1:]); err != nil {
			return 0, err
		}
		return i + 1, r.p.flush()
	case line[0] == ' ' && r.p.text.Len() == 0 && adocItem.FindString(line) == "":
		end := i
		for end < len(lines) && lines[end] != "" {
			end++
		}
		return end, r.p.code(lines[i:end])
	}
	return i + 1, r.line(line)
}

// line reads a line that is a block of its own or belongs to a paragraph.
func (r *adocReader) line(line string) error {
	if m := adocTitle.FindStringSubmatch(line); m != nil {
		return r.p.heading(len(m[1]), m[2])
	}
	if m := adocAttribute.FindStringSubmatch(line); m != nil {
		r.attributes[m[1]] = m[2]
		return r.p.flush()
	}
	if m := adocMacro.FindStringSubmatch(line); m != nil {
		text := ""
		if m[1] == "image" {
			text, _, _ = strings.Cut(m[3], ",")
			text = strings.Trim(strings.TrimPrefix(text, "alt="), `"`)
		}
		return r.p.begin(extract.Paragraph, text)
	}
	if m := adocCallout.FindStringSubmatch(line); m != nil {
		return r.p.begin(extract.ListItem, "• "+m[1])
	}
	if m := adocItem.FindStringSubmatch(line); m != nil {
		return r.p.begin(extract.ListItem, r.marker(m[1])+" "+m[2])
	}
	if m := adocTerm.FindStringSubmatch(line); m != nil && r.p.text.Len() == 0 {
		return r.p.begin(extract.ListItem, m[1]+": "+m[2])
	}
	r.p.add(strings.TrimSuffix(line, " +"))
	return nil
}

// marker returns the text before an item: its number if the list has numbers.
func (r *adocReader) marker(marker string) string {
	blocks := r.p.out.Blocks
	goesOn := r.p.text.Len() > 0 && r.p.kind == extract.ListItem || r.p.text.Len() == 0 && len(blocks) > 0 && blocks[len(blocks)-1].Kind == extract.ListItem
	if !goesOn || r.numbers == nil {
		r.numbers = map[int]int{}
	}
	switch {
	case strings.Trim(marker, "*-") == "":
		return "•"
	case marker[0] != '.':
		return marker // written by hand
	}
	r.numbers[len(marker)]++
	delete(r.numbers, len(marker)+1)
	return strconv.Itoa(r.numbers[len(marker)]) + "."
}

// isFence reports whether a line repeats a character at least four times and has nothing else.
func isFence(line string, c byte) bool {
	return len(line) >= 4 && strings.Trim(line, string(c)) == ""
}

// closing returns the index of the line that ends the block at line i: the next one like it.
func closing(lines []string, i int) int {
	fence := lines[i]
	if strings.HasPrefix(fence, "```") {
		fence = "```"
	}
	for end := i + 1; end < len(lines); end++ {
		if lines[end] == fence {
			return end
		}
	}
	return len(lines)
}

// table reads the lines of a table. Its first row is the header if the options say so or a blank line follows it.
func (r *adocReader) table(lines []string, separator byte) error {
	var rows [][]string
	var cells []string
	width := adocColumns(r.options)
	header := strings.Contains(r.options, "header")
	r.options = ""
	for i, line := range lines {
		switch {
		case separator == ',':
			if line != "" {
				rows = append(rows, strings.Split(line, ","))
			}
			continue
		case line == "" && len(rows)+len(cells) > 0 && (i == 1 || len(rows) == 0 && len(cells) == width):
			header = true
			fallthrough
		case line == "":
			continue
		}
		if separator == '!' { // a table inside another
			line = strings.ReplaceAll(line, "!", "|")
		}
		parts := adocCell.Split(line, -1)
		if first := strings.TrimSpace(parts[0]); first != "" && len(cells) > 0 {
			cells[len(cells)-1] += " " + first
		}
		cells = append(cells, parts[1:]...)
		if width == 0 {
			width = len(cells)
		}
		for width > 0 && len(cells) > width {
			rows, cells = append(rows, cells[:width:width]), cells[width:]
		}
	}
	for width > 0 && len(cells) > 0 {
		n := min(width, len(cells))
		rows, cells = append(rows, cells[:n:n]), cells[n:]
	}
	return r.p.table(rows, header)
}

var adocCols = lazyregexp.New(`cols="?([^"\]]+)"?`)

// adocColumns returns the number of columns in the options of a table, or 0 if they do not give it.
func adocColumns(options string) int {
	m := adocCols.FindStringSubmatch(options)
	if m == nil {
		return 0
	}
	if times, _, ok := strings.Cut(m[1], "*"); ok && len(times) == 1 {
		return int(times[0] - '0')
	}
	return strings.Count(m[1], ",") + 1
}

var adocRules = []replacement{
	{lazyregexp.New(`<<[^,<>]+,([^<>]+)>>`), "$1"},
	{lazyregexp.New(`<<([^<>]+)>>`), "$1"},
	{lazyregexp.New(`(?:stem|latexmath):\[((?:\\\]|[^\]])*)\]`), "$$$1$$"},
	{lazyregexp.New(`footnote:\w*\[([^\]]*)\]`), " ($1)"},
	{lazyregexp.New(`\+\+(\S+?)\+\+`), "$1"},
	{lazyregexp.New(`\b(?:link|xref|mailto|kbd|btn|menu|pass|indexterm2?):{1,2}[^\s\[\]]*\[([^\]]*?)(?:,[^\]]*)?\^?\]`), "$1"},
	{lazyregexp.New(`\bhttps?://[^\s\[\]]+\[([^\]]+?)(?:,[^\]]*)?\^?\]`), "$1"},
	{lazyregexp.New(`\bimage:[^\s\[\]]+\[([^\],]*)[^\]]*\]`), "$1"},
	{lazyregexp.New("(?:\\[[^\\]]*\\])?(?:\\*\\*|__|``|##)([^*_`#]+)(?:\\*\\*|__|``|##)"), "$1"},
	{lazyregexp.New("(^|[\\s(\"'\\[{-])(?:\\[[^\\]]*\\])?[*_`#+]([^\\s*_`#+](?:[^*`#+]*?[^\\s])?)[*_`#+]($|[\\s.,;:!?)\"'}\\]-])"), "$1$2$3"},
}

var adocReference = lazyregexp.New(`\{([\w-]+)\}`)

// inline removes markup, and fills in attributes.
func (r *adocReader) inline(text string) string {
	text = adocReference.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := r.attributes[found[1:len(found)-1]]; ok && len(value) < 200 {
			return value
		}
		return found
	})
	return replaced(text, adocRules)
}

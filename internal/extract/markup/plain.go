package markup

import (
	"context"
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("plain text", extract.Reader{Read: readPlain})

// readPlain reads text without markup. Blank lines separate paragraphs, lines that were wrapped at a fixed width are
// joined, and columns that are aligned by spaces become a table.
func readPlain(ctx context.Context, f *extract.File) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	b := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	doc := func() *extract.Document { return &extract.Document{Pages: []extract.Page{b.Page(0, false)}} }
	if isTabular(text) {
		if err := tabular.AddCSV(ctx, &b, tabular.CSVReader(text, '\t')); err != nil {
			return nil, err
		}
		return doc(), nil
	}
	if err := AddPlain(ctx, &b, text); err != nil {
		return nil, err
	}
	return doc(), nil
}

// AddPlain appends the paragraphs of a text.
func AddPlain(ctx context.Context, b *compose.Builder, text string) error {
	lines := strings.Split(text, "\n")
	width := wrapWidth(lines)
	for from, end := 0, 0; from < len(lines); {
		if strings.TrimSpace(lines[from]) == "" {
			from++
			continue
		}
		for end = max(end, from+1); end < len(lines) && strings.TrimSpace(lines[end]) != ""; { // of the paragraph
			end++
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		to := end
		table, start, after := alignedTable(lines[from:end])
		if table != nil {
			to = from + start // the lines above the table
		}
		if to > from {
			if err := plainParagraph(b, lines[from:to], width, to < len(lines)); err != nil {
				return err
			}
		}
		if table != nil {
			if err := b.AddTable(table, true); err != nil {
				return err
			}
			to = from + after
		}
		from = to
	}
	return nil
}

// isTabular recognises a table in a text file: the first lines, at least three, have the same number of tabs, at least
// two.
func isTabular(text string) bool {
	const looked = 20
	n, tabs := 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if n == 0 {
			tabs = strings.Count(line, "\t")
		}
		if tabs < 2 || strings.Count(line, "\t") != tabs {
			return false
		}
		if n++; n == looked {
			break
		}
	}
	return n >= 3
}

// plainParagraph appends the lines between two blank lines: a heading, the items of a list, or one paragraph.
func plainParagraph(b *compose.Builder, lines []string, width int, hasMore bool) error {
	if hasMore && len(lines) == 1 && isPlainHeading(lines[0]) {
		return b.Add(extract.Heading, 1, lines[0])
	}
	if len(lines) >= 2 && isUnderline(lines[1]) && utf8.RuneCountInString(strings.TrimSpace(lines[0])) <= 100 {
		if err := b.Add(extract.Heading, underlineLevel(lines[1]), lines[0]); err != nil {
			return err
		}
		if lines = lines[2:]; len(lines) == 0 {
			return nil
		}
	}
	var para strings.Builder
	kind := extract.Paragraph
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		if compose.ListMarker(strings.TrimLeft(line, " \t")) > 0 {
			if err := b.Add(kind, 0, para.String()); err != nil {
				return err
			}
			para.Reset()
			kind = extract.ListItem
		}
		if para.Len() > 0 {
			para.WriteString(lineJoint(lines[i-1], line, width))
		}
		para.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.Add(kind, 0, para.String())
}

// lineJoint returns the text between two lines of a paragraph. The lines are joined if the first one is as long as
// wrapped lines are; otherwise the line break stays.
func lineJoint(before, line string, width int) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(line, " \t"))
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, " \t"))
	word, _, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
	if width > 0 && utf8.RuneCountInString(before)+1+utf8.RuneCountInString(word) > width {
		return compose.Glue(last, first)
	}
	return "\n"
}

// wrapWidth returns the column at which the lines of a text were wrapped, or 0 if they were not. It is the length of the
// longest line, if that has 40 to 100 characters, and a third of the lines before another line of their paragraph are at
// most 12 characters shorter.
func wrapWidth(lines []string) int {
	longest, followed, full := 0, 0, 0
	for _, line := range lines {
		longest = max(longest, utf8.RuneCountInString(strings.TrimRight(line, " \t")))
	}
	if longest < 40 || longest > 100 {
		return 0
	}
	for i, line := range lines[:len(lines)-1] {
		if strings.TrimSpace(line) == "" || strings.TrimSpace(lines[i+1]) == "" {
			continue
		}
		followed++
		if utf8.RuneCountInString(line) >= longest-12 {
			full++
		}
	}
	if full*3 < followed {
		return 0
	}
	return longest
}

// isPlainHeading reports whether a line is short and in capitals, or has one of the usual forms of numbered headings.
func isPlainHeading(line string) bool {
	line = strings.TrimSpace(line)
	return utf8.RuneCountInString(line) <= 80 && (compose.IsCapitals(line) || numberedHeading.MatchString(line))
}

var numberedHeading = lazyregexp.New(`^(?:(?:Chapter|CHAPTER|Section|SECTION|Part|PART|Appendix|APPENDIX) [\dA-Z]+\b.{0,60}|\d+(?:\.\d+)+\.? \p{Lu}[^.!?]{0,70})$`)

func isUnderline(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == "")
}

func underlineLevel(line string) int {
	if strings.Contains(line, "=") {
		return 1
	}
	return 2
}

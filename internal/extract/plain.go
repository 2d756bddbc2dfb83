package extract

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var _ = reads("plain text", reader{read: readPlain})

// readPlain reads text without markup: blank lines part paragraphs, and lines that were wrapped
// at a fixed width are joined.
func readPlain(ctx context.Context, f *file) (*Document, error) {
	data, err := f.all(f.limits.TextBytes)
	if err != nil {
		return nil, err
	}
	text, err := decodeText(data, "")
	if err != nil {
		return nil, err
	}
	b := builder{budget: newBudget(f.limits)}
	doc := func() *Document { return &Document{Pages: []Page{b.page(0, false)}} }
	if isTabular(text) {
		if err := addCSV(ctx, &b, csvReader(text, '\t')); err != nil {
			return nil, err
		}
		return doc(), nil
	}
	if err := addPlain(ctx, &b, text); err != nil {
		return nil, err
	}
	return doc(), nil
}

// addPlain appends the paragraphs of a text.
func addPlain(ctx context.Context, b *builder, text string) error {
	lines := strings.Split(text, "\n")
	width := wrapWidth(lines)
	for from := 0; from < len(lines); {
		if strings.TrimSpace(lines[from]) == "" {
			from++
			continue
		}
		to := from + 1
		for to < len(lines) && strings.TrimSpace(lines[to]) != "" {
			to++
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := plainParagraph(b, lines[from:to], width, to < len(lines)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// isTabular recognises a table under the name of a text: its first lines, three or more, have
// the same number of tabs, at least two.
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

// plainParagraph appends what stands between two blank lines: a heading, the items of a list, or
// one paragraph.
func plainParagraph(b *builder, lines []string, width int, hasMore bool) error {
	if hasMore && len(lines) == 1 && isPlainHeading(lines[0]) {
		return b.add(Heading, 1, lines[0])
	}
	if len(lines) >= 2 && isUnderline(lines[1]) && utf8.RuneCountInString(strings.TrimSpace(lines[0])) <= 100 {
		if err := b.add(Heading, underlineLevel(lines[1]), lines[0]); err != nil {
			return err
		}
		if lines = lines[2:]; len(lines) == 0 {
			return nil
		}
	}
	var para strings.Builder
	kind := Paragraph
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		if listMarker(strings.TrimLeft(line, " \t")) > 0 {
			if err := b.add(kind, 0, para.String()); err != nil {
				return err
			}
			para.Reset()
			kind = ListItem
		}
		if para.Len() > 0 {
			para.WriteString(lineJoint(lines[i-1], line, width))
		}
		para.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.add(kind, 0, para.String())
}

// lineJoint is what comes between two lines of a paragraph: the wrap is undone where the first
// line reaches as far as wrapped lines do, else the line stays a line.
func lineJoint(before, line string, width int) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(line, " \t"))
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, " \t"))
	word, _, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
	if width > 0 && utf8.RuneCountInString(before)+1+utf8.RuneCountInString(word) > width {
		return glue(last, first)
	}
	return "\n"
}

// wrapWidth is the column at which the lines of a text were wrapped, 0 when they were not: the
// longest line, if it has 40 to 100 characters, and a third of the lines that have a successor
// in their paragraph come within 12 characters of it.
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

var markerPattern = regexp.MustCompile(`^(?:[•‣◦▪●○■□–*+-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]+`)

// listMarker is the length of the bullet or number that starts a list item, 0 for other lines.
// A letter or number in parentheses or with a full stop counts, a bare one does not.
func listMarker(line string) int {
	return len(markerPattern.FindString(line[:min(len(line), 12)]))
}

// isPlainHeading holds for a short line of capitals and for the usual forms of numbered headings.
func isPlainHeading(line string) bool {
	line = strings.TrimSpace(line)
	return utf8.RuneCountInString(line) <= 80 && (isCapitals(line) || numberedHeading.MatchString(line))
}

var numberedHeading = regexp.MustCompile(`^(?:(?:Chapter|CHAPTER|Section|SECTION|Part|PART|Appendix|APPENDIX) [\dA-Z]+\b.{0,60}|\d+(?:\.\d+)+\.? \p{Lu}[^.!?]{0,70})$`)

// isCapitals holds for text with at least four letters, all of them capitals of a script that
// has small letters too.
func isCapitals(s string) bool {
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			if !unicode.IsUpper(r) {
				return false
			}
			letters++
		}
	}
	return letters >= 4
}

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

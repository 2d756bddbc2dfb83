package rtf

import (
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
)

// rtfText turns the text of an RTF file into blocks. Its first error ends the reading.
type rtfText struct {
	out    *compose.Builder
	err    error
	styles map[int]int // heading levels by the style's number

	now       strings.Builder // the paragraph that is being read
	marker    string          // its marker, as the program has written it
	paragraph rtfParagraph

	cells     []string // of the row that is being read
	cell      string   // paragraphs of the cell that are complete
	rows      [][]string
	hasHeader bool
	held      int64    // bytes of text that are not in out yet
	before    []string // the paragraphs that the notes being read have interrupted
	notes     []string // footnotes and comments, which come last
}

// rtfParagraph are the properties of paragraphs, which hold until they are reset.
type rtfParagraph struct {
	style   int
	level   int
	inTable bool
}

// maxRTFStyles is the maximum number of styles that are remembered.
const maxRTFStyles = 10_000

// defineStyle notes the heading level of a style.
func (t *rtfText) defineStyle(number, level int, name string) {
	name = strings.ToLower(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), ";")))
	if m := compose.HeadingName.FindStringSubmatch(name); m != nil {
		level = int(m[1][0] - '0')
	} else if name == "title" {
		level = 1
	}
	if level > 0 && len(t.styles) < maxRTFStyles {
		t.styles[number] = level
	}
}

func (t *rtfText) write(s string) {
	if t.held += int64(len(s)); t.held > t.out.Budget.Left {
		t.err = t.out.Budget.Exceeded()
		return
	}
	t.now.WriteString(s)
}

// mark adds to the marker of a list's item.
func (t *rtfText) mark(s string) {
	if len(t.marker) < 100 {
		t.marker += s
	}
}

// take returns the paragraph that has ended.
func (t *rtfText) take() string {
	text := strings.TrimSpace(compose.SpacesOnly.Replace(compose.Clean(t.now.String())))
	t.now.Reset()
	return text
}

func (t *rtfText) endParagraph() {
	if len(t.before) > 0 {
		t.write("\n")
		return
	}
	text := t.take()
	marker := t.takeMarker()
	if t.paragraph.inTable {
		if text != "" {
			t.cell = strings.TrimSpace(t.cell + " " + marker + text)
		}
		return
	}
	t.endTable()
	if text == "" || t.err != nil {
		return
	}
	level := t.paragraph.level
	if level == 0 {
		level = t.styles[t.paragraph.style]
	}
	switch {
	case level > 0:
		t.err = t.out.Add(extract.Heading, level, compose.OneLine(marker+text))
	case marker != "" || compose.ListMarker(text) > 0:
		t.err = t.out.Add(extract.ListItem, 0, marker+text)
	default:
		t.err = t.out.Add(extract.Paragraph, 0, text)
	}
}

// takeMarker returns the bullet or number of the paragraph with a space after it, or "" for none.
func (t *rtfText) takeMarker() string {
	marker := compose.OneLine(compose.Clean(t.marker))
	t.marker = ""
	switch {
	case marker == "":
		return ""
	case !strings.ContainsAny(marker, "0123456789") && len([]rune(marker)) == 1 && compose.ListMarker(marker+" ") == 0:
		return "• " // a sign in an unknown font
	}
	return marker + " "
}

// endCell ends a cell of a row, or of a row within a cell.
func (t *rtfText) endCell(nested bool) {
	t.cell = strings.TrimSpace(t.cell + " " + t.takeMarker() + t.take())
	if nested {
		return
	}
	t.cells = append(t.cells, t.cell)
	t.cell = ""
}

func (t *rtfText) markHeader() { t.hasHeader = t.hasHeader || len(t.rows) == 0 }

func (t *rtfText) endRow() {
	t.out.Budget.Left -= int64(len(t.cells)) // a million empty rows
	if t.out.Budget.Left < 0 {
		t.err = t.out.Budget.Exceeded()
		return
	}
	if len(t.cells) > 0 {
		t.rows = append(t.rows, t.cells)
	}
	t.cells = nil
}

// endTable appends the table, which ends with the first paragraph outside of it. A table of one column is a frame around
// paragraphs.
func (t *rtfText) endTable() {
	rows, header := t.rows, t.hasHeader
	t.rows, t.hasHeader, t.held = nil, false, 0
	if len(rows) == 0 || t.err != nil {
		return
	}
	columns := 0
	for _, cells := range rows {
		columns = max(columns, len(cells))
	}
	if columns < 2 {
		for _, cells := range rows {
			if t.err == nil {
				t.err = t.out.Add(extract.Paragraph, 0, cells[0])
			}
		}
		return
	}
	t.err = t.out.AddTable(rows, header || columns > 2 && len(rows[0]) == columns && tabular.IsHeader(rows[0]))
}

// startAside interrupts a paragraph for a footnote or comment in it.
func (t *rtfText) startAside() {
	t.before = append(t.before, t.now.String())
	t.now.Reset()
}

// endAside ends a footnote or comment, and continues the paragraph that contains it.
func (t *rtfText) endAside(to rtfDestination) {
	n := len(t.before)
	if n == 0 {
		return
	}
	text := t.take()
	t.now.WriteString(t.before[n-1])
	t.before = t.before[:n-1]
	if text == "" {
		return
	}
	if to == toComment {
		text = "Comment: " + text
	}
	t.notes = append(t.notes, text)
}

// finish ends the open paragraph and table at the end of the file.
func (t *rtfText) finish() error {
	t.paragraph.inTable = false
	for len(t.before) > 0 {
		t.endAside(toNote)
	}
	if len(t.cells) > 0 || t.cell != "" {
		t.endCell(false)
		t.endRow()
	}
	t.endParagraph()
	t.endTable()
	for _, note := range t.notes {
		if t.err == nil {
			t.err = t.out.Add(extract.Paragraph, 0, note)
		}
	}
	return t.err
}

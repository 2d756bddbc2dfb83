package pdf

import (
	"bytes"
	"strings"

	"parley/internal/extract"
)

// nameTaggedColumns finds the headers of tables whose tags mark rows, but not which rows name the columns.
func nameTaggedColumns(blocks []pdfBlock) {
	isRow := func(b *pdfBlock) bool {
		return b.kind == extract.TableRow && len(b.row.Text) == 0 && b.lines[0].element.kind == extract.TableRow
	}
	for i := 0; i < len(blocks); i++ {
		from := i
		for i < len(blocks) && isRow(&blocks[i]) {
			i++
		}
		if from > 0 && blocks[from-1].kind == extract.TableHeader {
			continue
		}
		for k := range taggedHead(blocks[from:i]) {
			blocks[from+k].kind = extract.TableHeader
		}
	}
}

// taggedHead returns the number of first rows that name the columns: they have words or years side by side, and most of
// the rows below have figures.
func taggedHead(rows []pdfBlock) int {
	const most = 4
	head, figures := 0, 0
	for i := range rows {
		cells, values, years := rows[i].countCells()
		switch {
		case values > years:
			figures++
		case figures == 0 && (years > 0 || cells > 2):
			head = i + 1
		}
	}
	if head > most || figures < 2 || figures*2 < len(rows)-head {
		return 0
	}
	return head
}

// countCells counts the cells of a tagged row, the figures among them, and the years among these.
func (b *pdfBlock) countCells() (cells, values, years int) {
	for i := range b.lines {
		line := &b.lines[i]
		if i == 0 || line.element.cell != b.lines[i-1].element.cell {
			cells++
		}
		if !isFigure(line.Text) || i == 0 && len(b.lines) > 1 && !isYear(line.Text) {
			continue
		}
		values++
		if isYear(line.Text) {
			years++
		}
	}
	return cells, values, years
}

// isYear reports whether a text is a number of four digits that may be a year.
func isYear(text []byte) bool {
	t := string(text)
	return len(t) == 4 && t >= "1900" && t <= "2099" && strings.Trim(t, "0123456789") == ""
}

// betweenCells returns the text between two cells of a tagged row. A currency, a bracket or a percent sign in a separate
// cell belongs to the figure beside it.
func betweenCells(before, after []byte) string {
	switch {
	case isOpening(string(before)):
		return " "
	case len(after) > 0 && len(bytes.Trim(after, ")%]")) == 0:
		return ""
	}
	return " | "
}

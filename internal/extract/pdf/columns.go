package pdf

import (
	"cmp"
	"slices"
)

// inRows moves figures that were drawn column by column into the rows with the same baselines. Some programs draw all
// labels of a table, then all figures of the first column, and so on, and the text of the page has that order.
func inRows(lines []pdfLine) []pdfLine {
	out := make([]pdfLine, 0, len(lines))
	for from := 0; from < len(lines); {
		first := fallingEnd(lines, from)
		to := first
		for to < len(lines) {
			end := columnEnd(lines[from:first], lines, to)
			if end == to {
				break
			}
			to = end
		}
		part := lines[from:to]
		if to > first {
			part = slices.Clone(part)
			sortLines(part)
		}
		out = append(out, part...)
		from = to
	}
	return out
}

// fallingEnd returns the end of the run of lines, beginning with line from, in which no line is higher than the one before.
func fallingEnd(lines []pdfLine, from int) int {
	const most = 300
	to := from + 1
	for to < len(lines) && to-from < most && lines[to].base < lines[to-1].base+.3*lines[to].size && !lines[to].rtl {
		to++
	}
	return to
}

// columnEnd returns the end of a column that begins at a line: figures on the baselines of the first column's
// lines and to their right, perhaps with a short name above them. If there is no such column, it returns at.
func columnEnd(first, lines []pdfLine, at int) int {
	const maxName = 30 // bytes
	to, figures, others, i := at, 0, 0, 0
	for ; to < len(lines) && to-at < len(first)+3 && (to == at || lines[to].base < lines[to-1].base-.3*lines[to].size); to++ {
		line := &lines[to]
		for i < len(first) && first[i].base > line.base+.3*line.size {
			i++
		}
		beside := i < len(first) && abs(first[i].base-line.base) <= .3*line.size
		if i == len(first) || line.rtl || beside && line.left < first[i].right+.3*line.size {
			break
		}
		if figure := isFigure(line.Text); figure && beside {
			figures++
		} else if figures > 0 || len(line.Text) > maxName {
			break
		} else {
			others++
		}
	}
	if figures < 2 || others > 3 {
		return at
	}
	return to
}

// sortLines sorts lines by their places: from above to below, and from left to right on one baseline.
func sortLines(lines []pdfLine) {
	slices.SortStableFunc(lines, func(a, b pdfLine) int { return cmp.Compare(b.base, a.base) })
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[from].base-lines[to].base < .3*lines[from].size {
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b pdfLine) int { return cmp.Compare(a.left, b.left) })
		from = to
	}
}

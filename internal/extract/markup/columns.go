package markup

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
	"parley/internal/lazyregexp"
)

const (
	maxTitles = 3   // lines before the table in its paragraph
	maxHeads  = 3   // lines of names in a box
	minGap    = 2   // spaces between two columns
	maxWidth  = 400 // characters of a line
)

// alignedTable finds a table among the lines of a paragraph whose columns are aligned by spaces: names of the columns, perhaps a
// line of dashes, and two rows or more. It returns the rows, the names first, and which lines they take; no rows if there is
// no table. Without dashes, one column must have numbers below its name, since prose and lists of options are aligned too.
func alignedTable(lines []string) (rows [][]string, from, to int) {
	for from = range min(len(lines), maxTitles+1) {
		if from > 0 && isRule(lines[from-1]) {
			continue // the names stand above it
		}
		if rows, to = tableAt(lines[from:]); rows != nil {
			return rows, from, from + to
		}
	}
	return nil, 0, 0
}

// tableAt returns the rows of a table that begins at the first line, and how many lines it takes.
func tableAt(lines []string) (rows [][]string, taken int) {
	heads := 1 // lines of names
	if border.MatchString(lines[0]) {
		taken, heads = 1, slices.IndexFunc(lines[1:], isRule)
	}
	if heads < 1 || heads > maxHeads || len(lines) < taken+heads+2 || isRule(lines[taken]) {
		return nil, 0
	}
	ruled := isRule(lines[taken+heads])
	head := cells(lines[taken])
	used := occupy(nil, head)
	columns := len(spans(used))
	if columns < 2 || columns != len(gap.Split(strings.TrimSpace(string(head)), -1)) {
		return nil, 0
	}
	grid := [][]rune{head}
	for taken++; taken < len(lines); taken++ {
		if isRule(lines[taken]) {
			continue
		}
		line := cells(lines[taken])
		next := occupy(used, line)
		if len(spans(next)) != columns {
			break
		}
		used, grid = next, append(grid, line)
	}
	for i, line := range grid {
		row := make([]string, columns)
		for c, s := range spans(used) {
			if s[0] < len(line) {
				row[c] = compose.OneLine(strings.ReplaceAll(string(line[s[0]:min(s[1], len(line))]), string(second), ""))
			}
		}
		if i > 0 && i < heads || i > heads && row[0] == "" && (columns == 2 || tabular.Filled(row) < columns-1) { // cells that were wrapped
			for c, s := range row {
				last := &rows[len(rows)-1][c]
				*last = strings.TrimSpace(*last + " " + s)
			}
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) < 3 || !tabular.IsHeader(rows[0]) || !areNames(rows[0], ruled) || !ruled && !hasNumbers(rows) {
		return nil, 0
	}
	return rows, taken
}

var (
	gap    = lazyregexp.New(` {2,}`)
	border = lazyregexp.New(`^\s*\+(?:[-=]+\+){2,}\s*$`) // above the names
)

// isRule reports whether a line is drawn: dashes, or the border of a table.
func isRule(line string) bool {
	return strings.Trim(line, "-=+| \t") == "" && !strings.Contains(line, "++") && (strings.Contains(line, "---") || strings.Contains(line, "==="))
}

// second stands for the second place that a wide character takes.
const second = '\uFFFF'

// cells returns the places of a line: tabs are spaces, and wide characters of East Asia take two. Bars between columns are spaces.
func cells(line string) []rune {
	var places []rune
	for _, r := range line {
		switch kind := width.LookupRune(r).Kind(); {
		case len(places) >= maxWidth:
			return places
		case r == '\t':
			for places = append(places, ' '); len(places)%8 != 0; {
				places = append(places, ' ')
			}
		case r == '|' || r == '│' || unicode.IsSpace(r):
			places = append(places, ' ')
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			places = append(places, r, second)
		default:
			places = append(places, r)
		}
	}
	return places
}

// occupy returns which places are used by the lines so far and this one.
func occupy(used []bool, line []rune) []bool {
	all := make([]bool, max(len(used), len(line)))
	copy(all, used)
	for i, r := range line {
		all[i] = all[i] || r != ' '
	}
	return all
}

// spans returns the places of the columns: runs of used places with gaps between them.
func spans(used []bool) (all [][2]int) {
	end := -minGap
	for i, u := range used {
		switch {
		case !u:
			continue
		case i-end >= minGap:
			all = append(all, [2]int{i, i + 1})
		default:
			all[len(all)-1][1] = i + 1
		}
		end = i + 1
	}
	return all
}

// hasNumbers reports whether one column has numbers or amounts below a name, and the first column has no labels.
func hasNumbers(rows [][]string) bool {
	for _, label := range column(rows, 0) {
		if strings.HasSuffix(label, ":") {
			return false
		}
	}
	for c := range rows[0] {
		numbers := column(rows[1:], c)
		if tabular.Filled(numbers) > 1 && !slices.ContainsFunc(numbers, func(s string) bool { return s != "" && !aNumber.MatchString(s) }) {
			return true
		}
	}
	return false
}

// areNames reports whether cells name columns: they begin with letters, and without dashes below them have no digits. Years and
// quarters are names.
func areNames(cells []string, ruled bool) bool {
	for _, s := range cells {
		if !period.MatchString(s) && !aName.MatchString(s) || !ruled && !period.MatchString(s) && strings.ContainsFunc(s, unicode.IsDigit) {
			return false
		}
	}
	return true
}

func column(rows [][]string, c int) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row[c]
	}
	return all
}

var (
	aNumber = lazyregexp.New(`^[-+(~<>≤≥±]?(?:[$€£¥]|[A-Z]{3} )? ?\d[\d.,:/’' -]*(?:[%€°]|\p{L}{1,4})?[\p{L}²³/]{0,3}\)?$`)
	aName   = lazyregexp.New(`^[\p{L}#№%(*"'_]`)
	period  = lazyregexp.New(`^(?:19|20)\d\d(?:[-/]\d\d)?$|^[QHT][1-4]\b`)
)

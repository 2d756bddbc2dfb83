package markup

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"parley/internal/extract/compose"
	"parley/internal/extract/tabular"
	"parley/internal/lazyregexp"
)

const (
	maxTitles = 3       // lines before the table in its paragraph
	maxHeads  = 3       // lines of names in a box
	minGap    = 2       // spaces between two columns
	maxWidth  = 400     // places of a line
	maxCells  = 1 << 20 // of a table
	maxCell   = 4 << 10 // bytes of a cell to which no more lines are joined
)

// alignedTable finds a table with columns aligned by spaces among the lines of a paragraph: names of the columns, perhaps a line
// of dashes, and two rows or more. It returns the rows, names first, and the range of lines that they take; no rows if there is
// no table. Without dashes, one column must have numbers below its name, since prose and lists of options may be aligned too.
func alignedTable(lines []string) (rows [][]string, from, to int) {
	for from = range min(len(lines), maxTitles+1) {
		if from > 0 && isRule(lines[from-1]) && (from == 1 || len(names(lines[from-2])) > 1) {
			continue // the names stand above the rule
		}
		if rows, to = tableAt(lines[from:]); rows != nil {
			return rows, from, from + to
		}
	}
	return nil, 0, 0
}

// names returns the texts of a line that are separated by gaps.
func names(line string) []string {
	places, _ := cells(line)
	return gap.Split(strings.TrimSpace(string(places)), -1)
}

// tableAt returns the rows of a table that begins at the first line, and how many lines it takes.
func tableAt(lines []string) (rows [][]string, taken int) {
	first, heads := 0, 1 // the first line of names, and their number of lines
	if border.MatchString(lines[0]) {
		first, heads = 1, slices.IndexFunc(lines[1:], isRule)
	}
	if heads < 1 || heads > maxHeads || len(lines) < first+heads+2 {
		return nil, 0
	}
	ruled := isRule(lines[first+heads])
	if head := names(lines[first]); len(head) < 2 || !areNames(head, ruled) || !tabular.IsHeader(head) {
		return nil, 0
	}
	columns, end := extent(lines[first:])
	if columns == nil || len(columns)*end > maxCells {
		return nil, 0
	}
	var at []int   // the line of each row
	below := false // the line above is a row of data
	for i, line := range lines[first : first+end] {
		if isRule(line) {
			below = false
			continue
		}
		row := cut(line, columns)
		if i > 0 && i < heads || below && ruled && continues(row, rows[len(rows)-1]) {
			join(rows[len(rows)-1], row)
			continue
		}
		rows, at, below = append(rows, row), append(at, i), i > heads
	}
	for len(rows) > 1 && tabular.Filled(rows[len(rows)-1][1:]) == 0 { // a line below the table: "(2 rows)"
		rows, end = rows[:len(rows)-1], at[len(rows)-1]
	}
	if len(rows) < 3 || !tabular.IsHeader(rows[0]) || !ruled && !hasNumbers(rows) {
		return nil, 0
	}
	return rows, first + end
}

// extent returns the places of the columns of a table that begins with its names, or nil if it is not one, and its number of lines.
func extent(lines []string) (columns [][2]int, end int) {
	var used []bool
	for ; end < len(lines); end++ {
		if end > 0 && isRule(lines[end]) {
			continue
		}
		line, whole := cells(lines[end])
		next := occupy(used, line)
		all := spans(next)
		if !whole || end > 0 && len(all) != len(columns) {
			break
		}
		if end == 0 && len(all) != len(names(lines[0])) {
			return nil, 0
		}
		used, columns = next, all
	}
	return columns, end
}

// cut returns the cells of a line.
func cut(line string, columns [][2]int) []string {
	places, _ := cells(line)
	row := make([]string, len(columns))
	for c, s := range columns {
		if s[0] < len(places) {
			row[c] = compose.OneLine(strings.ReplaceAll(string(places[s[0]:min(s[1], len(places))]), string(second), ""))
		}
	}
	return row
}

// continues reports whether a row continues wrapped cells of the row above. A row of sums does not, and very long cells are not continued.
func continues(row, above []string) bool {
	return row[0] == "" && (len(row) == 2 || tabular.Filled(row) < len(row)-1) && !slices.ContainsFunc(row, aNumber.MatchString) &&
		!slices.ContainsFunc(above, func(s string) bool { return len(s) > maxCell })
}

// join appends the cells of a row to those of another one.
func join(row, more []string) {
	for c, s := range more {
		if s != "" {
			row[c] = strings.TrimSpace(row[c] + " " + s)
		}
	}
}

var (
	gap    = lazyregexp.New(` {2,}`)
	border = lazyregexp.New(`^\s*\+(?:[-=]+\+){2,}\s*$`) // above the names
)

// isRule reports whether a line has only dashes, or is the border of a table.
func isRule(line string) bool {
	return strings.Trim(line, "-=+| \t") == "" && !strings.Contains(line, "++") && (strings.Contains(line, "---") || strings.Contains(line, "==="))
}

// second fills the second place that a wide character takes.
const second = '\uFFFF'

// cells returns the places of a line. Tabs and bars between columns are spaces, and wide East Asian characters take two places. It
// returns false if the line has more than maxWidth places.
func cells(line string) (places []rune, whole bool) {
	line = strings.TrimRight(line, " \t")
	space := true // before the character
	for i, r := range line {
		_, size := utf8.DecodeRuneInString(line[i:]) // 1 for invalid UTF-8
		next := line[i+size:]
		kind := width.LookupRune(r).Kind()
		bar := (r == '|' || r == '│') && (space || next == "" || next[0] == ' ' || next[0] == '\t')
		space = bar || unicode.IsSpace(r)
		switch {
		case len(places) >= maxWidth:
			return places, false
		case r == '\t':
			for places = append(places, ' '); len(places)%8 != 0; {
				places = append(places, ' ')
			}
		case space:
			places = append(places, ' ')
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			places = append(places, r, second)
		default:
			places = append(places, r)
		}
	}
	return places, true
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

// hasNumbers reports whether one column has numbers or amounts below its name. A table of two columns needs three numbers of the
// same form: "Order 4711" and "Total 120.00" are values with their labels.
func hasNumbers(rows [][]string) bool {
	for c := range rows[0] {
		numbers, form := column(rows[1:], c), ""
		all, same := true, true
		for _, s := range numbers {
			if s == "" {
				continue
			}
			now := digits.ReplaceAllString(s, "9")
			all, same = all && aNumber.MatchString(s), same && (form == "" || form == now)
			form = now
		}
		labels := slices.ContainsFunc(column(rows, 0), func(s string) bool { return strings.HasSuffix(s, ":") })
		if n := tabular.Filled(numbers); all && n > 1 && !labels && (len(rows[0]) > 2 || same && n > 2) {
			return true
		}
	}
	return false
}

// areNames reports whether cells name columns. A name begins with a letter. It has no digits unless a line of dashes is below it, or
// it is a year or a quarter.
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
	digits  = lazyregexp.New(`\d+`)
	aName   = lazyregexp.New(`^[\p{L}#№%(*"'_]`)
	period  = lazyregexp.New(`^(?:19|20)\d\d(?:[-/]\d\d)?$|^[QHT][1-4]\b`)
)

package builtin

import (
	"slices"
	"strconv"
	"strings"

	"parley/internal/llm"
)

// table is a table whose rows are all in the evidence.
type table struct {
	columns  []string
	rows     []row
	passages []int  // that hold it, in its order
	about    string // the text above it, with the names of its columns
}

// row is one row of a table.
type row struct {
	passage    int
	start, end int      // in the text of the passage
	cells      []string // by column, "" for an empty one
}

// part is the part of a table in one passage.
type part struct {
	passage      int
	header       string
	above        string // the text before the header
	rows         []row
	first, final bool // the header begins the passage; the last row ends it
}

// wholeTables returns the tables that are complete in the evidence, in the order of their best passages.
func wholeTables(ev *llm.Evidence) []table {
	parts := make(map[string]map[int]part) // by document and position
	for i := range ev.Passages {
		p := &ev.Passages[i]
		if p.Parts == 0 {
			continue
		}
		if t, ok := tablePart(p, i); ok {
			document := documentAt(p)
			if parts[document] == nil {
				parts[document] = make(map[int]part)
			}
			parts[document][p.Part] = t
		}
	}
	var tables []table
	used := make(map[int]bool)
	for i := range ev.Passages {
		p := &ev.Passages[i]
		found := parts[documentAt(p)]
		if _, ok := found[p.Part]; !ok || used[i] {
			continue
		}
		t, whole := joinParts(ev, found, p.Part)
		for _, at := range t.passages {
			used[at] = true
		}
		if whole {
			tables = append(tables, t)
		}
	}
	return tables
}

// joinParts joins the parts of the table that continues across the passage at. whole says whether the passages have its first
// and its last row.
func joinParts(ev *llm.Evidence, parts map[int]part, at int) (t table, whole bool) {
	continues := func(i int) bool { // whether the part at i continues the table of the one before
		p, ok := parts[i]
		before, was := parts[i-1]
		return ok && was && p.first && before.final && p.header == before.header
	}
	first, last := at, at
	for continues(first) {
		first--
	}
	for continues(last + 1) {
		last++
	}
	t.columns = strings.Split(parts[at].header, " | ")
	for i := first; i <= last; i++ {
		t.rows = append(t.rows, parts[i].rows...)
		t.passages = append(t.passages, parts[i].passage)
	}
	p := &ev.Passages[parts[first].passage]
	t.about = documentAt(p) + "\n" + p.Title + "\n" + strings.Join(p.Headings, "\n") + "\n" + parts[first].above + "\n" + strings.Join(t.columns, "\n")
	begins := first == 0 || !parts[first].first
	ends := !parts[last].final || last == p.Parts-1
	return t, begins && ends
}

// tablePart returns the part of a table that a passage holds, if it holds one.
func tablePart(p *llm.Passage, passage int) (t part, ok bool) {
	t.passage = passage
	for start := 0; start < len(p.Text); {
		line, _, _ := strings.Cut(p.Text[start:], "\n")
		end := start + len(line)
		switch {
		case t.header == "" && hasCells(line):
			t.header, t.first, t.above = line, start == 0, p.Text[:start]
		case t.header != "" && hasCells(line):
			return t, false // more than one
		case t.header != "" && t.isRow(line):
			if !t.final && len(t.rows) > 0 {
				return t, false
			}
			t.rows = append(t.rows, row{passage: passage, start: start, end: end, cells: t.cells(line)})
			t.final = true
		case strings.TrimSpace(line) != "":
			t.final = false
		}
		start = end + 1
	}
	return t, len(t.rows) > 0
}

// isRow reports whether a line is a row below the header: it begins with the name of one of the first columns.
func (t *part) isRow(line string) bool {
	return slices.ContainsFunc(strings.Split(t.header, " | "), func(c string) bool { return strings.HasPrefix(line, c+": ") }) && isRow(line)
}

// cells returns the cells of a row by column.
func (t *part) cells(line string) []string {
	columns := strings.Split(t.header, " | ")
	cells := make([]string, len(columns))
	at := -1
	for _, s := range strings.Split(line, "; ") {
		next := slices.IndexFunc(columns[at+1:], func(c string) bool { return strings.HasPrefix(s, c+": ") })
		switch {
		case next >= 0:
			at += 1 + next
			cells[at] = strings.TrimSpace(s[len(columns[at])+2:])
		case at >= 0:
			cells[at] += "; " + s
		}
	}
	return cells
}

// inTable reports whether a text is a row below a header in a passage.
func inTable(p *llm.Passage, s string) bool {
	name, _, _ := strings.Cut(s, ": ")
	return isRow(s) && !strings.Contains(s, "\n") && strings.Contains("\n"+p.Text, "\n"+name+" | ")
}

// numbers returns the numbers of a column, row by row; false if a cell is not a number or has another unit.
func (t *table) numbers(column int) ([]float64, bool) {
	unit, comma := "", t.decimalComma(column)
	values := make([]float64, len(t.rows))
	for i, r := range t.rows {
		v, u, ok := number(r.cells[column], comma)
		if !ok || i > 0 && u != unit {
			return nil, false
		}
		values[i], unit = v, u
	}
	return values, len(values) > 0
}

// decimalComma reports whether a comma in a column's numbers stands before decimals: "0,10", not "1,500".
func (t *table) decimalComma(column int) bool {
	return slices.ContainsFunc(t.rows, func(r row) bool {
		digits := strings.Trim(r.cells[column], currencies)
		at := strings.LastIndexByte(digits, ',')
		return at > 0 && len(digits)-at-1 != 3 && !strings.Contains(digits[at:], ".")
	})
}

// currencies are the characters that may be beside a number in a cell.
const currencies = " \u00a0$€£¥₩元円%"

// number reads a cell that holds one number, perhaps with a unit, and nothing else.
func number(cell string, comma bool) (v float64, unit string, ok bool) {
	digits := strings.Trim(cell, currencies)
	unit = strings.ReplaceAll(cell, digits, "")
	if comma {
		digits = strings.ReplaceAll(strings.ReplaceAll(digits, ".", ""), ",", ".")
	} else {
		digits = strings.ReplaceAll(digits, ",", "")
	}
	digits = strings.NewReplacer("\u00a0", "", "\u202f", "", "'", "", "−", "-").Replace(digits)
	v, err := strconv.ParseFloat(digits, 64)
	return v, strings.TrimSpace(unit), err == nil && strings.Trim(digits, "+-.0123456789") == ""
}

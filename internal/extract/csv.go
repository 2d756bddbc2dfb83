package extract

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

var _ = reads("CSV", reader{read: readCSV})

// readCSV reads delimited values: the delimiter is found by trying, a first row of names becomes
// the table's header, and every row reads on its own (see rowText).
func readCSV(ctx context.Context, f *file) (*Document, error) {
	data, err := f.all(f.limits.TextBytes)
	if err != nil {
		return nil, err
	}
	text, err := decodeText(data, "")
	if err != nil {
		return nil, err
	}
	b := builder{budget: newBudget(f.limits)}
	if err := addCSV(ctx, &b, csvReader(text, delimiter(text))); err != nil {
		return nil, err
	}
	return &Document{Pages: []Page{b.page(0, false)}}, nil
}

// addCSV appends the rows. The first row of several cells may be the header; lines above it are
// titles.
func addCSV(ctx context.Context, b *builder, reader *csv.Reader) error {
	var header []string
	inTable := false
	for row := 1; ; row++ {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged("row %d of the table cannot be read", row)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		kind, line := TableRow, rowText(header, cells)
		if !inTable && filled(cells) > 1 {
			inTable = true
			if isHeader(cells) {
				for _, cell := range cells {
					header = append(header, oneLine(cell))
				}
				kind = TableHeader
			}
		}
		if err := b.add(kind, 0, line); err != nil {
			return err
		}
	}
}

func csvReader(text string, delimiter rune) *csv.Reader {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = delimiter
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	r.TrimLeadingSpace = delimiter != '\t'
	return r
}

// delimiter returns the one of , ; tab and | that gives the first rows the most columns in the
// most regular way, and the comma for a single column.
func delimiter(text string) rune {
	const sampled = 50
	best, bestScore := ',', 0.0
	for _, d := range ",;\t|" {
		r := csvReader(text, d)
		rows, widths := 0, map[int]int{}
		for ; rows < sampled; rows++ {
			cells, err := r.Read()
			if err != nil {
				break
			}
			widths[len(cells)]++
		}
		for width, n := range widths {
			regular := float64(n) / float64(rows)
			if score := regular * regular * float64(min(width-1, 8)); score > bestScore {
				best, bestScore = d, score
			}
		}
	}
	return best
}

// isHeader reports whether a row names columns: at least two cells and most of them filled, none
// a number unless it is one of several years in order, none a long text, few the same.
func isHeader(cells []string) bool {
	names := map[string]bool{}
	var years []int
	for _, cell := range cells {
		cell = oneLine(cell)
		if len(cell) > 100 {
			return false
		}
		if _, err := strconv.ParseFloat(strings.Trim(cell, "$€£¥% "), 64); err == nil {
			year, err := strconv.Atoi(cell)
			if err != nil || year < 1900 || year > 2100 {
				return false
			}
			years = append(years, year)
		}
		names[cell] = true
	}
	n := filled(cells)
	if len(years) > 0 && (len(years) == 1 || len(years) == n || !inOrder(years)) {
		return false
	}
	return n >= 2 && n*2 > len(cells) && len(names)*2 > n
}

// inOrder reports whether numbers rise or fall all along.
func inOrder(numbers []int) bool {
	rise := func(a, b int) int { return a - b }
	fall := func(a, b int) int { return b - a }
	distinct := len(slices.Compact(slices.Sorted(slices.Values(numbers)))) == len(numbers)
	return distinct && (slices.IsSortedFunc(numbers, rise) || slices.IsSortedFunc(numbers, fall))
}

func filled(cells []string) int {
	n := 0
	for _, cell := range cells {
		if strings.TrimSpace(cell) != "" {
			n++
		}
	}
	return n
}

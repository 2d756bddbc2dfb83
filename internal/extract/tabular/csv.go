package tabular

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

var _ = extract.Register("CSV", extract.Reader{Read: readCSV})

// readCSV reads delimited values. It finds the delimiter by trying. If the first row has names, it is the header of the
// table.
func readCSV(ctx context.Context, f *extract.File) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	b := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	if err := AddCSV(ctx, &b, CSVReader(text, delimiter(text))); err != nil {
		return nil, err
	}
	return &extract.Document{Pages: []extract.Page{b.Page(0, false)}}, nil
}

// AddCSV appends the rows. The first row of several cells may be the header; lines above it are
// titles.
func AddCSV(ctx context.Context, b *compose.Builder, reader *csv.Reader) error {
	var header []string
	inTable := false
	for row := 1; ; row++ {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return extract.Damagedf("row %d of the table cannot be read", row)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		kind, line := extract.TableRow, compose.RowText(header, cells)
		if !inTable && Filled(cells) > 1 {
			inTable = true
			if IsHeader(cells) {
				for _, cell := range cells {
					header = append(header, compose.OneLine(cell))
				}
				kind = extract.TableHeader
			}
		}
		if err := b.Add(kind, 0, line); err != nil {
			return err
		}
	}
}

// CSVReader returns a lenient reader of delimited values.
func CSVReader(text string, delimiter rune) *csv.Reader {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = delimiter
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	r.TrimLeadingSpace = delimiter != '\t'
	return r
}

// delimiter returns which of , ; tab and | splits the first rows into the most columns most regularly;
// the comma if none splits them.
func delimiter(text string) rune {
	const sampled = 50
	best, bestScore := ',', 0.0
	for _, d := range ",;\t|" {
		r := CSVReader(text, d)
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

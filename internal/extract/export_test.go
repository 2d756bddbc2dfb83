package extract

import (
	"context"
	"testing"

	"parley/internal/format"
)

// AddFormat adds a format for the time of a test, as its row and its file would. A file of it is one
// paragraph.
func AddFormat(t *testing.T, row format.Format) {
	saved := format.Table
	t.Cleanup(func() {
		format.Table = saved
		delete(readers, row.Name)
	})
	format.Table = append([]format.Format{row}, saved...)
	reads(row.Name, reader{read: func(_ context.Context, f *file) (*Document, error) {
		data, err := f.all(f.limits.TextBytes)
		if err != nil {
			return nil, err
		}
		b := builder{budget: newBudget(f.limits)}
		if err := b.add(Paragraph, 0, string(data)); err != nil {
			return nil, err
		}
		return &Document{Pages: []Page{b.page(0, false)}}, nil
	}})
}

// FuzzSeeds are the names and contents with which FuzzFile begins.
var FuzzSeeds = fuzzSeeds

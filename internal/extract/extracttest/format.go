package extracttest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/format"
)

// AddFormat adds a format for the duration of a test. Each of its files is read as one paragraph.
func AddFormat(t *testing.T, row format.Format) {
	saved := format.Table
	t.Cleanup(func() {
		format.Table = saved
		extract.Unregister(row.Name)
	})
	format.Table = append([]format.Format{row}, saved...)
	extract.Register(row.Name, extract.Reader{Read: func(_ context.Context, f *extract.File) (*extract.Document, error) {
		data, err := f.All(f.Limits.TextBytes)
		if err != nil {
			return nil, err
		}
		text := strings.TrimSpace(string(data))
		return &extract.Document{Pages: []extract.Page{{Text: text, Blocks: []extract.Block{{Kind: extract.Paragraph, End: len(text)}}}}}, nil
	}})
}

// FuzzSeeds returns names and contents: every extension of every format, and every signature.
func FuzzSeeds() (seeds [][2]string) {
	const text = "# A\n\nB: c\n- d\n\n<p>e</p>\n"
	for _, f := range format.Table {
		for _, ext := range slices.Concat(f.Extensions, f.Rare) {
			for _, signature := range append([]string{""}, f.Signatures...) {
				seeds = append(seeds, [2]string{"a." + ext, signature + text})
			}
		}
	}
	return seeds
}

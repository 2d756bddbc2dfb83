// Package parquet reads Apache Parquet: tables that are stored column by column. It is written from the format's own description
// (parquet.thrift, Encodings.md). It reads one page of each column at a time, and writes the table row by row.
package parquet

import (
	"context"
	"encoding/binary"
	"io"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

var _ = extract.Register("Parquet", extract.Reader{Read: read})

// mostBytes is the maximum size of the footer of a file, of a value of fixed size, and of the window of a compressed page.
const mostBytes = 64 << 20

func broken() error { return extract.Damagedf("the file is cut off or broken") }

// table is a file that is being read.
type table struct {
	file   io.ReaderAt
	size   int64
	limits extract.Limits
	b      compose.Builder
	tree   tree
	names  []string
	cells  int64 // of the pages that were read
	held   int64 // bytes of the pages and dictionaries in memory
}

func read(ctx context.Context, f *extract.File) (*extract.Document, error) {
	t := table{file: f.Content, size: f.Size, limits: f.Limits, b: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	footer, err := t.footer()
	if err != nil {
		return nil, err
	}
	for id, kind, ok := footer.field(0); ok; id, kind, ok = footer.field(id) {
		footer.nodes = 1_000_000
		switch {
		case id == 2 && kind == thriftList:
			if err := t.schema(footer.value(kind, false).in); err != nil {
				return nil, err
			}
		case id == 4 && kind == thriftList:
			of, n := footer.list()
			for ; n > 0 && !footer.broken; n-- {
				footer.nodes = 1_000_000
				group := footer.value(of, true)
				if footer.broken {
					break
				}
				if err := t.group(ctx, group); err != nil {
					return nil, err
				}
			}
		default:
			footer.value(kind, false)
		}
	}
	if footer.broken {
		return nil, broken()
	}
	return &extract.Document{Pages: []extract.Page{t.b.Page(0, false)}}, nil
}

// footer returns the footer of the file, which describes its structure.
func (t *table) footer() (*thrift, error) {
	var end [8]byte
	if _, err := t.file.ReadAt(end[:], t.size-int64(len(end))); err != nil {
		return nil, broken()
	}
	size := int64(binary.LittleEndian.Uint32(end[:]))
	switch {
	case string(end[4:]) == "PARE":
		return nil, encrypted()
	case string(end[4:]) != "PAR1" || size > t.size-int64(len(end)):
		return nil, broken()
	case size > mostBytes:
		return nil, extract.TooLargef("the list of its columns has more than %s", extract.Megabytes(mostBytes))
	}
	data := make([]byte, size)
	if _, err := t.file.ReadAt(data, t.size-int64(len(end))-size); err != nil {
		return nil, broken()
	}
	return &thrift{data: data}, nil
}

func encrypted() error {
	return &extract.Error{Reason: extract.Encrypted, Detail: "the file is encrypted with keys that are kept elsewhere"}
}

// schema reads the columns, and writes their names.
func (t *table) schema(elements []node) error {
	const most = 10_000
	if len(elements) > most {
		return extract.TooLargef("the table has more than %d columns", most)
	}
	if len(elements) == 0 {
		return broken()
	}
	t.tree = tree{elements: elements[1:], left: t.limits.TextBytes}
	if err := t.tree.group(elements[0].get(5).n, leaf{}, false, 0); err != nil {
		return err
	}
	for _, l := range t.tree.leaves {
		t.names = append(t.names, compose.OneLine(compose.Clean(strings.ToValidUTF8(l.path, "\uFFFD"))))
	}
	return t.b.Add(extract.TableHeader, 0, compose.RowText(nil, t.names))
}

// group writes the rows of a group of rows.
func (t *table) group(ctx context.Context, group node) error {
	t.held = 0
	chunks := group.get(1).in
	if len(chunks) != len(t.tree.leaves) || len(chunks) == 0 {
		return broken()
	}
	columns := make([]*column, len(chunks))
	for i, chunk := range chunks {
		about := chunk.get(3)
		switch {
		case chunk.has(8) || chunk.has(9):
			return encrypted()
		case len(chunk.get(1).b) > 0:
			return &extract.Error{Reason: extract.Unsupported, Detail: "its columns lie in other files"}
		}
		at := about.get(9).n
		if first := about.get(11).n; first > 0 && first < at {
			at = first
		}
		columns[i] = &column{leaf: t.tree.leaves[i], t: t, at: at, left: about.get(5).n, codec: about.get(4).n}
	}
	cells := make([]string, len(columns))
	for n := group.get(3).n; n > 0; n-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := int64(0)
		for i, c := range columns {
			var err error
			if cells[i], err = c.row(); err != nil {
				return err
			}
			if row += int64(len(cells[i])); row > t.limits.TextBytes {
				return t.limits.TextExceeded()
			}
		}
		if err := t.b.Add(extract.TableRow, 0, compose.RowText(t.names, cells)); err != nil {
			return err
		}
	}
	return nil
}

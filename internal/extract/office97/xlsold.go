package office97

import (
	"context"
	"encoding/binary"
	"time"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/extract/numfmt"
	"parley/internal/extract/tabular"
)

// The records of workbooks of Excel 2 to 4 that have other numbers in Excel 5, without their upper byte, which is the
// version.
const (
	oldInteger     = 0x02
	oldNumber      = 0x03
	oldLabel       = 0x04
	oldBoolErr     = 0x05
	oldFormula     = 0x06
	oldString      = 0x07
	oldBOF         = 0x09
	oldFormat      = 0x1e
	oldXF          = 0x43
	oldSheetHeader = 0x8f
	oldMask        = 0xff
)

// The kinds of sheets, in oldBOF, that have no cells for people.
const (
	oldChart = 0x20
	oldMacro = 0x40
)

// isOldWorkbook reports whether a file begins with the first record of an Excel 2, 3 or 4 workbook.
func isOldWorkbook(head []byte) bool {
	if len(head) < 4 || head[0] != 9 {
		return false
	}
	version, size := head[1], binary.LittleEndian.Uint16(head[2:])
	return (version == 0 || version == 2 || version == 4) && size >= 4 && size <= 8
}

// oldXLSReader reads a workbook of Excel 2 to 4. It is not a compound file but only a list of records. They are like those of
// Excel 5, but some have older forms.
type oldXLSReader struct {
	xlsReader
	out     compose.Builder
	walker  *xlsSheetWalker
	first   bool // the version is Excel 2
	depth   int
	passing int // the depth of a chart or a macro; 0 for none
}

// readOldXLS reads each sheet, row by row, with numbers as the cells show them.
func readOldXLS(ctx context.Context, f *extract.File) (*extract.Document, error) {
	data, err := f.All(f.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	x := oldXLSReader{first: f.Head[1] == 0, out: compose.Builder{Budget: compose.NewBudget(f.Limits)},
		xlsReader: xlsReader{ctx: ctx, data: data, page: "windows-1252", epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}}
	x.begin("")
	for at := 0; at < len(data); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		kind, body, next := x.record(at)
		if err := x.take(kind, body); err != nil {
			return nil, err
		}
		at = next
	}
	if err := x.walker.flush(); err != nil {
		return nil, err
	}
	return &extract.Document{Pages: []extract.Page{x.out.Page(0, false)}}, nil
}

// begin starts a sheet, which has its own formats.
func (x *oldXLSReader) begin(name string) {
	x.formats, x.styles = map[int]numfmt.Format{}, nil
	x.walker = &xlsSheetWalker{x: &x.xlsReader, grid: tabular.Grid{Out: &x.out, Name: name}, left: x.out.Budget.Left}
}

// take reads one record.
func (x *oldXLSReader) take(kind int, body []byte) error {
	switch {
	case kind&oldMask == oldBOF:
		x.depth++
		if len(body) >= 4 && x.passing == 0 && (body[2] == oldChart || body[2] == oldMacro) {
			x.passing = x.depth
		}
	case kind == recEOF:
		if x.depth--; x.passing > x.depth {
			x.passing = 0
		}
	case x.passing > 0:
	case kind == recFilePass:
		return &extract.Error{Reason: extract.Encrypted, Detail: "the workbook has a password of Excel 2 to 4: save it without one"}
	case kind == oldSheetHeader && len(body) > 5:
		if err := x.walker.flush(); err != nil {
			return err
		}
		x.begin(compose.Clean(codepage.Decode(body[5:], x.page)))
	case kind == recDate1904, kind == recCodePage:
		x.global(kind, body)
	default:
		return x.walker.record(x.modern(kind, body))
	}
	return nil
}

// modern converts a record of a cell to its form in Excel 5. It keeps formats, which are numbered in their order.
func (x *oldXLSReader) modern(kind int, body []byte) (int, []byte) {
	switch kind & oldMask {
	case oldFormat:
		if kind > oldMask {
			body = body[min(2, len(body)):]
		}
		const most = 256 // styles name them in one byte
		if len(body) > 0 && len(x.formats) < most {
			x.formats[len(x.formats)] = numfmt.Parse(codepage.Decode(body[1:], x.page))
		}
		return 0, nil
	case oldXF:
		if at := 1; len(body) > 2 && !x.first {
			x.styles = append(x.styles, int(body[at]))
		}
		return 0, nil
	case oldFormula:
		kind = recFormula
	}
	if !x.first {
		return kind, body
	}
	return x.modernFirst(kind, body)
}

// modernFirst is modern for Excel 2, in which cells have three bytes of properties and texts have a length of one byte.
func (x *oldXLSReader) modernFirst(kind int, body []byte) (int, []byte) {
	const attributes, formatBits = 3, 0x3f
	if kind == oldString && len(body) > 0 {
		return recString, append([]byte{body[0], 0}, body[1:]...)
	}
	if len(body) < 4+attributes || kind > oldFormula {
		return 0, nil
	}
	format := body[5] & formatBits
	for len(x.styles) <= int(format) {
		x.styles = append(x.styles, len(x.styles))
	}
	value := body[4+attributes:]
	cell := append(body[:4:4], format, 0)
	switch {
	case kind == oldInteger && len(value) >= 2:
		return recRK, binary.LittleEndian.AppendUint32(cell, uint32(binary.LittleEndian.Uint16(value))<<2|2)
	case kind == oldLabel && len(value) > 0:
		return recLabel, append(append(cell, value[0], 0), value[1:]...)
	}
	return map[int]int{oldNumber: recNumber, oldBoolErr: recBoolErr, oldFormula: recFormula}[kind], append(cell, value...)
}

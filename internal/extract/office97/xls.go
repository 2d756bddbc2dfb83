// Package office97 reads the files of Word, Excel and PowerPoint from before 2007: streams of binary
// records in compound files.
package office97

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"time"

	"parley/internal/extract"
	"parley/internal/extract/cfb"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/extract/numfmt"
	"parley/internal/extract/tabular"
)

var _ = extract.Register("Excel 97–2003", extract.Reader{Read: readXLS})

// The records of a workbook that are read (MS-XLS 2.3).
const (
	recFormula    = 0x06
	recEOF        = 0x0a
	recDate1904   = 0x22
	recFilePass   = 0x2f
	recContinue   = 0x3c
	recCodePage   = 0x42
	recBoundSheet = 0x85
	recMulRK      = 0xbd
	recRString    = 0xd6
	recXF         = 0xe0
	recSST        = 0xfc
	recLabelSST   = 0xfd
	recNumber     = 0x203
	recLabel      = 0x204
	recBoolErr    = 0x205
	recString     = 0x207
	recRK         = 0x27e
	recFormat     = 0x41e
	recBOF        = 0x809
)

// xlsReader reads a workbook of Excel 5 to 2003.
type xlsReader struct {
	ctx     context.Context
	data    []byte
	unicode bool   // Excel 97 and later; earlier texts are in a code page
	page    string // the code page of texts
	epoch   time.Time
	formats map[int]numfmt.Format
	styles  []int // the format of each style
	strings []string
	sheets  []xlsSheet
	left    int64 // bytes of text that the strings may have
}

type xlsSheet struct {
	name string
	at   int
}

// readXLS reads each sheet under its name, row by row, with numbers as the cells show them.
func readXLS(ctx context.Context, f *extract.File) (*extract.Document, error) {
	if isOldWorkbook(f.Head) {
		return readOldXLS(ctx, f)
	}
	data, err := stream(f, "Workbook", "Book")
	if err != nil {
		return nil, err
	}
	x := xlsReader{ctx: ctx, data: data, page: "windows-1252", formats: map[int]numfmt.Format{}, left: f.Limits.TextBytes,
		epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	if err := x.globals(f.Limits, f.Passwords); err != nil {
		return nil, err
	}
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	for _, sheet := range x.sheets {
		if err := x.sheet(&out, sheet); err != nil {
			return nil, err
		}
	}
	return &extract.Document{Pages: []extract.Page{out.Page(0, false)}}, nil
}

// stream returns the content of the first stream of these names, which may be in a storage: storage/stream.
func stream(f *extract.File, names ...string) ([]byte, error) {
	c, err := cfb.Open(f.Content, f.Size)
	if err != nil {
		return nil, extract.Damagedf("the file is cut off or broken")
	}
	for _, name := range names {
		e := c.Root()
		for part := range strings.SplitSeq(name, "/") {
			if e != nil {
				e = e.Named(part)
			}
		}
		if e != nil {
			if data := e.Bytes(f.Limits.FileBytes); len(data) > 0 {
				return data, nil
			}
		}
	}
	return nil, extract.Damagedf("the file is cut off or broken: its text is missing")
}

// record returns the record at a position and the position after it; body is nil at the end of the data.
func (x *xlsReader) record(at int) (kind int, body []byte, next int) {
	if at < 0 || at+4 > len(x.data) {
		return recEOF, nil, len(x.data)
	}
	kind = int(binary.LittleEndian.Uint16(x.data[at:]))
	end := min(at+4+int(binary.LittleEndian.Uint16(x.data[at+2:])), len(x.data))
	return kind, x.data[at+4 : end], end
}

// globals reads the records that all sheets share.
func (x *xlsReader) globals(limits extract.Limits, passwords []string) error {
	kind, body, at := x.record(0)
	if kind != recBOF || len(body) < 2 {
		return extract.Damagedf("the workbook is older than Excel 5, or broken")
	}
	x.unicode = binary.LittleEndian.Uint16(body) >= 0x600
	for at < len(x.data) {
		kind, body, next := x.record(at)
		switch kind {
		case recEOF:
			return nil
		case recFilePass:
			if err := x.decrypt(body, next, passwords); err != nil {
				return err
			}
		case recSST:
			var err error
			if next, err = x.sharedStrings(body, next, limits); err != nil {
				return err
			}
		default:
			x.global(kind, body)
		}
		at = next
	}
	return nil
}

// global reads a record that all sheets share.
func (x *xlsReader) global(kind int, body []byte) {
	if len(body) < 2 {
		return
	}
	value := int(binary.LittleEndian.Uint16(body))
	switch kind {
	case recDate1904:
		if value == 1 {
			x.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	case recCodePage:
		x.page = codePageName(value)
	case recFormat:
		text := body[2:]
		if x.unicode {
			x.formats[value] = numfmt.Parse(newText(text).sized(2))
		} else if len(text) > 0 {
			x.formats[value] = numfmt.Parse(codepage.Decode(text[1:], x.page))
		}
	case recXF:
		if len(body) >= 4 {
			x.styles = append(x.styles, int(binary.LittleEndian.Uint16(body[2:])))
		}
	case recBoundSheet:
		if len(body) < 8 || body[5] != 0 { // charts and macros have no cells
			return
		}
		name := codepage.Decode(body[7:], x.page)
		if x.unicode {
			name = newText(body[6:]).sized(1)
		}
		x.sheets = append(x.sheets, xlsSheet{compose.Clean(name), int(int32(binary.LittleEndian.Uint32(body)))})
	}
}

// codePageName returns the charset of a code page as Excel numbers them.
func codePageName(page int) string {
	switch page {
	case 32768:
		return "macintosh"
	case 1200, 32769:
		return "windows-1252"
	}
	return codepage.Windows(page)
}

// sharedStrings reads the table of strings, which continues in the next records.
func (x *xlsReader) sharedStrings(body []byte, next int, limits extract.Limits) (int, error) {
	if len(body) < 8 {
		return next, nil
	}
	t := newText(body[8:])
	for {
		kind, more, after := x.record(next)
		if kind != recContinue {
			break
		}
		t.segments, next = append(t.segments, more), after
	}
	for !t.isAtEnd() {
		if err := x.ctx.Err(); err != nil {
			return 0, err
		}
		s := t.sized(2)
		if x.left -= int64(len(s)); x.left < 0 {
			return 0, limits.TextExceeded()
		}
		x.strings = append(x.strings, s)
	}
	return next, nil
}

// sheet reads the cells of a sheet.
func (x *xlsReader) sheet(out *compose.Builder, s xlsSheet) error {
	w := xlsSheetWalker{x: x, grid: tabular.Grid{Out: out, Name: s.name}, left: out.Budget.Left}
	kind, _, at := x.record(s.at)
	if kind != recBOF {
		return nil
	}
	for depth := 1; depth > 0 && at < len(x.data); {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		kind, body, next := x.record(at)
		switch {
		case kind == recBOF: // a chart in the sheet
			depth++
		case kind == recEOF:
			depth--
		case depth == 1:
			if err := w.record(kind, body); err != nil {
				return err
			}
		}
		at = next
	}
	return w.flush()
}

// xlsSheetWalker collects the cells of a row.
type xlsSheetWalker struct {
	x       *xlsReader
	grid    tabular.Grid
	row     int
	number  int // of the last row that was written
	cells   []tabular.GridCell
	pending int // column of a formula whose text follows
	left    int64
}

// record reads one record of a sheet.
func (w *xlsSheetWalker) record(kind int, body []byte) error {
	if kind == recString {
		if w.x.unicode {
			return w.put(w.row, w.pending, newText(body).sized(2))
		}
		return w.put(w.row, w.pending, w.x.bytes(body))
	}
	if len(body) < 6 {
		return nil
	}
	row, column := int(binary.LittleEndian.Uint16(body)), int(binary.LittleEndian.Uint16(body[2:]))
	style, value := int(binary.LittleEndian.Uint16(body[4:])), body[6:]
	switch {
	case kind == recMulRK:
		for rest := body[4:]; len(rest) >= 8; rest = rest[6:] { // the number of the last column follows
			v := rk(binary.LittleEndian.Uint32(rest[2:]))
			if err := w.put(row, column, w.x.shown(v, int(binary.LittleEndian.Uint16(rest)))); err != nil {
				return err
			}
			column++
		}
	case kind == recLabelSST && len(value) >= 4:
		if i := binary.LittleEndian.Uint32(value); int64(i) < int64(len(w.x.strings)) {
			return w.put(row, column, w.x.strings[i])
		}
	case kind == recLabel || kind == recRString:
		if w.x.unicode {
			return w.put(row, column, newText(value).sized(2))
		}
		return w.put(row, column, w.x.bytes(value))
	case kind == recRK && len(value) >= 4:
		return w.put(row, column, w.x.shown(rk(binary.LittleEndian.Uint32(value)), style))
	case kind == recNumber && len(value) >= 8:
		return w.put(row, column, w.x.shown(math.Float64frombits(binary.LittleEndian.Uint64(value)), style))
	case kind == recBoolErr && len(value) >= 2:
		return w.put(row, column, boolOrError(value[0], value[1] != 0))
	case kind == recFormula && len(value) >= 8:
		return w.formula(row, column, style, value)
	}
	return nil
}

// formula reads the result of a formula: a number, or another value, which the last two bytes mark.
func (w *xlsSheetWalker) formula(row, column, style int, value []byte) error {
	if value[6] != 0xff || value[7] != 0xff {
		return w.put(row, column, w.x.shown(math.Float64frombits(binary.LittleEndian.Uint64(value)), style))
	}
	switch value[0] {
	case 0: // the text is the next record
		w.pending = column
		return w.put(row, column, "")
	case 1, 2:
		return w.put(row, column, boolOrError(value[2], value[0] == 2))
	}
	return nil
}

func boolOrError(value byte, isError bool) string {
	switch {
	case isError:
		return map[byte]string{0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}[value]
	case value != 0:
		return "TRUE"
	}
	return "FALSE"
}

// put keeps a cell. The file has the cells of a row one after the other.
func (w *xlsSheetWalker) put(row, column int, text string) error {
	if row != w.row {
		if err := w.flush(); err != nil {
			return err
		}
		w.row, w.left = row, w.grid.Out.Budget.Left
	}
	if text = strings.TrimSpace(compose.Clean(text)); text == "" {
		return nil
	}
	if w.left -= int64(len(text)); w.left < 0 { // cells can share one long string
		return w.grid.Out.Budget.Exceeded()
	}
	w.cells = append(w.cells, tabular.GridCell{Column: column, Text: text})
	return nil
}

func (w *xlsSheetWalker) flush() error {
	w.number = max(w.number+1, w.row+1)
	err := w.grid.Row(w.number, w.cells)
	w.cells = w.cells[:0]
	return err
}

// rk unpacks a number of 30 bits (MS-XLS 2.5.217).
func rk(packed uint32) float64 {
	v := float64(int32(packed) >> 2)
	if packed&2 == 0 {
		v = math.Float64frombits(uint64(packed&^3) << 32)
	}
	if packed&1 != 0 {
		v /= 100
	}
	return v
}

// shown returns a number as a cell of a style shows it.
func (x *xlsReader) shown(v float64, style int) string {
	format := numfmt.General
	if style < len(x.styles) {
		id := x.styles[style]
		if own, ok := x.formats[id]; ok {
			format = own
		} else if code := numfmt.Builtin[id]; code != "" {
			format = numfmt.Parse(code)
		}
	}
	return format.Text(v, x.epoch)
}

// bytes decodes a text in the code page that follows its length in two bytes.
func (x *xlsReader) bytes(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	n := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
	return codepage.Decode(b[2:2+n], x.page)
}

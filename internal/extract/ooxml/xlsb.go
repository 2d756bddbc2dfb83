package ooxml

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/extract/numfmt"
	"parley/internal/extract/tabular"
	"parley/internal/extract/zipxml"
	"parley/internal/interrupt"
)

var _ = extract.Register("Excel binary", extract.Reader{Read: readXLSB})

// readXLSB reads a binary workbook (MS-XLSB): an archive like that of a usual workbook, but with records instead of XML.
func readXLSB(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := zipxml.Open(f)
	if err != nil {
		return nil, err
	}
	b := binaryReader{xlsxReader: xlsxReader{
		archive: archive, main: mainPart(archive, "xl/workbook.bin"), out: compose.Builder{Budget: compose.NewBudget(f.Limits)},
		limit: f.Limits.TextBytes, epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC),
	}}
	if b.related, err = relations(archive, b.main); err != nil {
		return nil, err
	}
	sheets, err := b.workbook(ctx)
	if err != nil {
		return nil, err
	}
	if len(sheets) == 0 {
		return nil, extract.Damagedf("the archive holds no workbook")
	}
	if err := b.readStrings(ctx); err != nil {
		return nil, err
	}
	if err := b.readStyles(ctx); err != nil {
		return nil, err
	}
	doc := &extract.Document{}
	describe(doc, archive)
	for _, s := range sheets {
		broken, err := b.sheet(ctx, s)
		if err != nil {
			return nil, err
		}
		if broken {
			doc.Notes = append(doc.Notes, "the sheet "+s.name+" is damaged, and was read up to the damage")
		}
	}
	doc.Pages = []extract.Page{b.out.Page(0, false)}
	return doc, nil
}

// binaryReader reads the records of a binary workbook.
type binaryReader struct{ xlsxReader }

// The records that matter (section 2.5.98 and others).
const (
	brtRow          = 0
	brtNumber       = 2 // packed
	brtError        = 3
	brtBool         = 4
	brtReal         = 5
	brtText         = 6
	brtShared       = 7
	brtFormulaText  = 8
	brtFormulaReal  = 9
	brtFormulaBool  = 10
	brtFormulaError = 11
	brtSharedItem   = 19
	brtFormat       = 44
	brtStyle        = 47
	brtRichText     = 62
	brtWorkbook     = 153
	brtSheet        = 156
	brtCellStyles   = 617
	brtStylesEnd    = 618
)

// maxRecord is the maximum size of a record: a cell has at most 32,767 characters.
const maxRecord = 1 << 18

// eachRecord calls visit with each record of a part, and reports whether the part ends early.
func (b *binaryReader) eachRecord(ctx context.Context, name string, visit func(kind int, data record) error) (broken bool, err error) {
	part, err := zipxml.OpenPart(b.archive, name)
	if err != nil || part == nil {
		return false, err
	}
	defer part.Close()
	in := bufio.NewReader(interrupt.Reader(ctx, part))
	buffer := make([]byte, maxRecord)
	for {
		kind, err := sevenBits(in, 2)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		size := 0
		if err == nil {
			size, err = sevenBits(in, 4)
		}
		kept := buffer[:min(size, maxRecord)]
		if err == nil {
			_, err = io.ReadFull(in, kept)
		}
		if err == nil {
			_, err = in.Discard(size - len(kept))
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), zipxml.IsSyntaxError(err):
			return true, nil
		case err != nil:
			return false, err
		}
		if err := visit(kind, kept); err != nil {
			return false, err
		}
	}
}

// sevenBits reads a number of up to most bytes, the lowest first. The highest bit of a byte says whether another byte follows.
func sevenBits(in io.ByteReader, most int) (n int, err error) {
	for i := range most {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		n |= int(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			break
		}
	}
	return n, nil
}

// record is the content of a record. Reading after its end returns zeros.
type record []byte

func (r record) uint32(at int) uint32 {
	if at+4 > len(r) {
		return 0
	}
	return binary.LittleEndian.Uint32(r[at:])
}

func (r record) uint16(at int) uint16 {
	if at+2 > len(r) {
		return 0
	}
	return binary.LittleEndian.Uint16(r[at:])
}

func (r record) float(at int) float64 {
	if at+8 > len(r) {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(r[at:]))
}

// packed returns a number of 30 bits (section 2.5.122).
func (r record) packed(at int) float64 {
	raw := r.uint32(at)
	v := math.Float64frombits(uint64(raw&^3) << 32)
	if raw&2 != 0 {
		v = float64(int32(raw) >> 2)
	}
	if raw&1 != 0 {
		v /= 100
	}
	return v
}

// string returns a text, and the place of its end.
func (r record) string(at int) (text string, end int) {
	n := int64(r.uint32(at))
	if at+4 > len(r) || n > int64(len(r)-at-4)/2 { // n may also mean that there is no text
		return "", at + 4
	}
	end = at + 4 + 2*int(n)
	return codepage.UTF16(r[at+4 : end]), end
}

func (b *binaryReader) workbook(ctx context.Context) ([]xlsxSheet, error) {
	var sheets []xlsxSheet
	_, err := b.eachRecord(ctx, b.main, func(kind int, data record) error {
		switch kind {
		case brtWorkbook:
			if data.uint32(0)&1 != 0 {
				b.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
		case brtSheet:
			id, end := data.string(8)
			name, _ := data.string(end)
			for _, r := range b.related {
				if r.id == id {
					sheets = append(sheets, xlsxSheet{compose.Clean(name), r.target})
				}
			}
		}
		return nil
	})
	if len(sheets) == 0 { // the workbook is damaged or its relations are
		for i, part := range numberedParts(b.archive, "xl/worksheets/sheet", ".bin") {
			sheets = append(sheets, xlsxSheet{"Sheet" + strconv.Itoa(i+1), part})
		}
	}
	return sheets, err
}

func (b *binaryReader) readStrings(ctx context.Context) error {
	total := int64(0)
	_, err := b.eachRecord(ctx, b.part("sharedStrings", "xl/sharedStrings.bin"), func(kind int, data record) error {
		if kind != brtSharedItem {
			return nil
		}
		text, _ := data.string(1)
		if total += int64(len(text)) + 1; total > b.limit {
			return extract.TooLargef("the workbook has more than %s of text", extract.Megabytes(b.limit))
		}
		b.strings = append(b.strings, text)
		return nil
	})
	return err
}

func (b *binaryReader) readStyles(ctx context.Context) error {
	custom := map[uint16]numfmt.Format{}
	inCells := false
	_, err := b.eachRecord(ctx, b.part("styles", "xl/styles.bin"), func(kind int, data record) error {
		switch kind {
		case brtFormat:
			code, _ := data.string(2)
			custom[data.uint16(0)] = numfmt.Parse(code)
		case brtCellStyles, brtStylesEnd:
			inCells = kind == brtCellStyles
		case brtStyle:
			if !inCells {
				return nil
			}
			id := data.uint16(2)
			f, known := custom[id]
			if !known {
				f = numfmt.Parse(numfmt.Builtin[int(id)])
			}
			b.formats = append(b.formats, f)
		}
		return nil
	})
	return err
}

// sheet appends one sheet, and reports whether its part ends early.
func (b *binaryReader) sheet(ctx context.Context, s xlsxSheet) (broken bool, err error) {
	g := tabular.Grid{Out: &b.out, Name: s.name}
	var cells []tabular.GridCell
	number, left := 0, int64(0)
	broken, err = b.eachRecord(ctx, s.part, func(kind int, data record) error {
		if kind == brtRow {
			err := g.Row(number, cells)
			number, cells, left = max(number+1, int(data.uint32(0))+1), cells[:0], b.out.Budget.Left
			return err
		}
		text := b.shown(kind, data)
		if column := data.uint32(0); text != "" && column < tabular.MaxColumns {
			if left -= int64(len(text)); left < 0 {
				return b.out.Budget.Exceeded()
			}
			cells = append(cells, tabular.GridCell{Column: int(column), Text: text})
		}
		return nil
	})
	if err == nil {
		err = g.Row(number, cells)
	}
	if err != nil {
		return broken, err
	}
	related, err := attached(b.archive, s.part)
	for _, r := range related {
		if r.kind == "drawing" && err == nil {
			err = b.drawing(ctx, &g, r.target)
		}
	}
	return broken, err
}

// shown returns the text that a cell shows, or "" for a record that is not a cell. A cell begins with its column and its style.
func (b *binaryReader) shown(kind int, data record) string {
	const value = 8
	var v float64
	switch kind {
	case brtNumber:
		v = data.packed(value)
	case brtReal, brtFormulaReal:
		v = data.float(value)
	case brtBool, brtFormulaBool:
		if len(data) > value && data[value] != 0 {
			return "TRUE"
		}
		return "FALSE"
	case brtError, brtFormulaError:
		if len(data) > value {
			return cellErrors[data[value]]
		}
		return ""
	case brtText, brtFormulaText:
		text, _ := data.string(value)
		return compose.Clean(text)
	case brtRichText:
		text, _ := data.string(value + 1)
		return compose.Clean(text)
	case brtShared:
		if i := data.uint32(value); int64(i) < int64(len(b.strings)) {
			return compose.Clean(b.strings[i])
		}
		return ""
	default:
		return ""
	}
	format := numfmt.General
	if style := int(data.uint32(4) & 0xffffff); style < len(b.formats) {
		format = b.formats[style]
	}
	return compose.Clean(format.Text(v, b.epoch))
}

// cellErrors are the errors of formulas by number (section 2.5.97.2).
var cellErrors = map[byte]string{0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}

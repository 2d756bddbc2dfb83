package ooxml

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func xlsb(t testing.TB, sheet string) []byte {
	rels := extracttest.RelsStart + extracttest.Rel("rId1", "worksheet", "worksheets/sheet1.bin") + extracttest.Rel("rId2", "sharedStrings", "sharedStrings.bin") +
		extracttest.Rel("rId3", "styles", "styles.bin") + extracttest.RelsEnd
	item := func(s string) string { return extracttest.XLSBRecord(brtSharedItem, "\x00"+extracttest.XLSBString(s)) }
	return extracttest.MakeZIP(t, "[Content_Types].xml", "<Types/>", "xl/workbook.bin", extracttest.XLSBBook("Prices"), "xl/_rels/workbook.bin.rels", rels,
		"xl/sharedStrings.bin", item("Plan")+item("Price")+item("From")+item("Größe 𝔊"),
		"xl/styles.bin", extracttest.XLSBRecord(brtFormat, "\xa4\x00"+extracttest.XLSBString(`"$"#,##0.00`))+
			extracttest.XLSBRecord(brtStyle, "\x00\x00\x0e\x00")+ // of named styles
			extracttest.XLSBRecord(brtCellStyles, "")+extracttest.XLSBRecord(brtStyle, "\x00\x00\x00\x00")+extracttest.XLSBRecord(brtStyle, "\x00\x00\xa4\x00")+
			extracttest.XLSBRecord(brtStyle, "\x00\x00\x0e\x00")+extracttest.XLSBRecord(brtStylesEnd, ""),
		"xl/worksheets/sheet1.bin", sheet)
}

func realBytes(v float64) string {
	return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
}

func TestXLSB_ReadsCellsAsTheyAreShown(t *testing.T) {
	cell := extracttest.XLSBCell
	packed := func(v int32) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(v))) }
	sheet := extracttest.XLSBRow(0) + cell(brtShared, 0, 0, packed(0)) + cell(brtShared, 1, 0, packed(1)) + cell(brtShared, 2, 0, packed(2)) +
		extracttest.XLSBRow(1) + cell(brtShared, 0, 0, packed(3)) + cell(brtNumber, 1, 1, packed(123450<<2|3)) + cell(brtReal, 2, 2, realBytes(45356)) +
		extracttest.XLSBRow(2) + cell(brtText, 0, 0, extracttest.XLSBString("Silver")) + cell(brtFormulaReal, 1, 0, realBytes(-7.5)+"\x00\x00") + cell(brtFormulaText, 2, 0, extracttest.XLSBString("soon")) +
		extracttest.XLSBRow(3) + cell(brtRichText, 0, 0, "\x01"+extracttest.XLSBString("Lead")) + cell(brtFormulaError, 1, 0, "\x2a") + cell(brtBool, 2, 0, "\x01") +
		extracttest.XLSBRow(4) + cell(brtShared, 0, 0, packed(99)) + cell(brtText, 1, 0, "\xff\xff\xff\x7f")
	want := "H1 Prices\nTH Plan | Price | From\nTR Plan: Größe 𝔊; Price: $1,234.50; From: 2024-03-05\nTR Plan: Silver; Price: -7.5; From: soon\nTR Plan: Lead; Price: #N/A; From: TRUE\n"
	data := xlsb(t, sheet)
	for _, name := range []string{"a.xlsb", "a.xlsx", "a.zip"} {
		doc := extracttest.Read(t, name, data)
		if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" || doc.Format != "Excel binary" {
			t.Errorf("%s is read as %s: %s", name, doc.Format, diff)
		}
	}
	if cut := extracttest.Read(t, "a.xlsb", xlsb(t, sheet[:len(sheet)-3])); len(cut.Notes) != 1 {
		t.Errorf("a sheet that breaks off has the notes %q", cut.Notes)
	}
	extracttest.WantReason(t, "a.xlsb", []byte("hello"), extract.Limits{}, extract.Damaged)
}

func FuzzXLSB(f *testing.F) {
	f.Add(extracttest.XLSBRow(0) + extracttest.XLSBCell(brtShared, 0, 0, "\x00\x00\x00\x00") + extracttest.XLSBCell(brtReal, 1, 1, realBytes(1)))
	f.Fuzz(func(t *testing.T, sheet string) { extracttest.CheckAnyInput(t, "a.xlsb", xlsb(t, sheet)) })
}
